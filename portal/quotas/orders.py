"""A change of several teams' figures as a program sends it, the same to look at and to save."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rest_framework import serializers

from portal.common.errors import Missing
from portal.inventory import sent
from portal.quotas.services import MOST, Wanted
from portal.teams import selectors as teams
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


class QuotaChange(sent.Strict):
    """A team's figures; those left out are not set."""

    team = sent.an_id()
    guaranteed = serializers.IntegerField(min_value=0, max_value=MOST)
    limit = _figure(0)
    borrowing_limit = _figure(0)
    lending_limit = _figure(0)
    weight = _figure(1)
    per_user_limit = _figure(1)
    seen = sent.an_id(optional=True, least=0)


class QuotaChangeBody(sent.Strict):
    """Several teams' figures in a pool, all or none."""

    pool = sent.an_id()
    valid_from = sent.Instant(default=None, allow_null=True)
    changes = QuotaChange(many=True, allow_empty=False)


def read(body: Any, *, access: Access, now: datetime) -> Order:
    """Read a body; a team out of reach is as one that is not there. Raises `Missing`."""
    found = sent.read(QuotaChangeBody, body)
    wanted: list[Wanted] = []
    known = teams.team_names()
    for change in found["changes"]:
        team_id = change.pop("team")
        if team_id not in known or not access.holds(DECIDE, team_id=team_id):
            raise Missing
        wanted.append(Wanted(team_id=team_id, seen_id=change.pop("seen"), **change))
    return Order(found["pool"], found["valid_from"] or now, now, wanted)
