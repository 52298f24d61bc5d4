"""A change of several teams' figures as a program sends it, the same to look at and to save."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from rest_framework import serializers

from portal.common import zones
from portal.common.errors import Missing
from portal.quotas.services import MOST, Wanted
from portal.teams.middleware import LARGEST_ID
from portal.teams.permissions import DECIDE
from portal.teams.selectors import Access


@dataclass(frozen=True, slots=True)
class Order:
    """A body of the API, read."""

    pool_id: int
    valid_from: datetime
    now: datetime
    wanted: list[Wanted]


def _figure(least: int) -> serializers.IntegerField:
    """A figure that may be left out."""
    return serializers.IntegerField(min_value=least, max_value=MOST, default=None, allow_null=True)


def _id(*, optional: bool = False) -> serializers.IntegerField:
    """An id; none, or 0 where there was none yet, where it may be left out."""
    if optional:
        return serializers.IntegerField(
            min_value=0, max_value=LARGEST_ID, default=None, allow_null=True
        )
    return serializers.IntegerField(min_value=1, max_value=LARGEST_ID)


class _Strict(serializers.Serializer[Any]):
    """What it does not name cannot be set."""

    def to_internal_value(self, data: Any) -> Any:
        """Read the body, or say what is wrong with it."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            say = _("This cannot be set.")
            raise serializers.ValidationError({name: [say] for name in unknown})
        return super().to_internal_value(data)


class _Change(_Strict):
    team = _id()
    guaranteed = serializers.IntegerField(min_value=0, max_value=MOST)
    limit = _figure(0)
    borrowing_limit = _figure(0)
    lending_limit = _figure(0)
    weight = _figure(1)
    per_user_limit = _figure(1)
    seen = _id(optional=True)


class _Instant(serializers.CharField):
    """A time with its offset."""

    def to_internal_value(self, data: Any) -> datetime:  # type: ignore[override]
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


class _Body(_Strict):
    pool = _id()
    valid_from = _Instant(default=None, allow_null=True)
    changes = _Change(many=True, allow_empty=False)


def read(body: Any, *, access: Access, now: datetime) -> Order:
    """Read a body; a team out of reach is as one that is not there. Raises `Missing`."""
    given = _Body(data=body)
    given.is_valid(raise_exception=True)
    found = given.validated_data
    wanted: list[Wanted] = []
    for change in found["changes"]:
        team_id = change.pop("team")
        if not access.holds(DECIDE, team_id=team_id):
            raise Missing
        wanted.append(Wanted(team_id=team_id, seen_id=change.pop("seen"), **change))
    return Order(found["pool"], found["valid_from"] or now, now, wanted)
