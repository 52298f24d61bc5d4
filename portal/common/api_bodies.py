"""What bodies of the API are made of in every room."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers


class Strict(serializers.Serializer[Any]):
    """What it does not name cannot be set: a slip of the pen is no default."""

    def to_internal_value(self, data: Any) -> Any:
        """Read the body, or say what is wrong with it."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            say = _("This cannot be set.")
            raise serializers.ValidationError({name: [say] for name in unknown})
        return super().to_internal_value(data)


def read(of: type[Strict], data: Any) -> dict[str, Any]:
    """What was sent, each with its type; a fault is a 400 that names the key."""
    body = of(data=data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def an_id(**said: Any) -> serializers.IntegerField:
    """The id of a row, as databases take them."""
    return serializers.IntegerField(min_value=1, max_value=2**63 - 1, **said)
