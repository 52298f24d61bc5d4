"""What several doors of the room need."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common.api import Paging
from portal.finance import selectors
from portal.teams.models import User


class CsvRenderer(BaseRenderer):
    """Lets a client ask for CSV by its Accept header; the view answers with the stream itself."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """Only faults come here."""
        return JSONRenderer().render(data)


class AnyRenderer(CsvRenderer):
    """Lets a client ask for a file whatever it accepts."""

    media_type = "*/*"
    format = "file"


class Strict(serializers.Serializer[object]):
    """Refuses what it does not know, so that a slip of the pen is no default."""

    def to_internal_value(self, data: Any) -> Any:
        """The known fields."""
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            say = _("This cannot be set.")
            raise serializers.ValidationError({name: [say] for name in unknown})
        return super().to_internal_value(data)


def shown(answer: Any) -> Any:
    """An answer as it may be shown: without amounts where the organisation shows none."""
    return answer if selectors.shows_money() else _without_money(answer)


def _without_money(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_money(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    return {
        key: None if key.endswith("_micro") else _without_money(value)
        for key, value in answer.items()
    }


def page(
    view: APIView,
    request: Request,
    rows: Any,
    present: Callable[[Any], dict[str, object]],
) -> Response:
    """One page of a list."""
    paging = Paging()
    rows_of_page: list[Any] | None = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response(shown([present(row) for row in rows_of_page or []]))


def has_offset(text: object) -> bool:
    """Whether a time was given with its zone."""
    value = str(text)
    return value.endswith("Z") or "+" in value[10:] or "-" in value[10:]


def who(request: Request) -> int | None:
    """Who asks."""
    return request.user.pk if isinstance(request.user, User) else None
