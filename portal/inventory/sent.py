"""What bodies of the API are made of, read the same way in every room above."""

from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from portal.common import zones
from portal.common.api_shapes import INSTANT
from portal.teams.middleware import LARGEST_ID


class Strict(serializers.Serializer[Any]):
    """What it does not name cannot be set."""

    def to_internal_value(self, data: Any) -> Any:
        """Read the body, or say what is wrong with it."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            say = _("This cannot be set.")
            raise serializers.ValidationError({name: [say] for name in unknown})
        return super().to_internal_value(data)


@extend_schema_field(INSTANT)
class Instant(serializers.CharField):
    """A time with its offset."""

    def to_internal_value(self, data: Any) -> datetime:  # type: ignore[override]  # text on the way in, an instant after
        """The instant; a time without an offset is none."""
        try:
            found = parse_datetime(super().to_internal_value(data))
        except ValueError:
            found = None
        if found is None or found.tzinfo is None or found.year not in zones.YEARS:
            raise serializers.ValidationError(
                _("Give a time with its offset, such as 2026-11-02T09:00:00+09:00.")
            )
        return found


def an_id(*, optional: bool = False, least: int = 1) -> serializers.IntegerField:
    """The id of a row, as databases take them."""
    if optional:
        return serializers.IntegerField(
            min_value=least, max_value=LARGEST_ID, default=None, allow_null=True
        )
    return serializers.IntegerField(min_value=least, max_value=LARGEST_ID)


def read(of: type[Strict], data: Any) -> dict[str, Any]:
    """What was sent, each with its type; a fault is a 400 that names the key."""
    body = of(data=data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
