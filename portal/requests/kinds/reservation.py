"""GPUs of a pool, held for a team from one instant to another."""

import zoneinfo
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.requests import pricing
from portal.requests.board import Ask
from portal.requests.kinds.contract import MOST_APPROVALS, Faults, beyond_pool, whole_between
from portal.requests.models import Request
from portal.reservations import rules as booking
from portal.reservations import services as reservations
from portal.reservations.models import Source
from portal.reservations.rules import Broken

LONGEST = timedelta(days=366)
SLACK = timedelta(minutes=5)
"""A form takes a while to fill in: this much of a start may have passed."""


class ReservationAsked:
    """A reservation."""

    columns = frozenset({"gpus", "gpus_per_node", "source", "starts_at", "ends_at", "zone"})
    in_part = True

    def fill(self, row: Request, now: datetime) -> None:
        """All of it is asked for."""

    def approvals(self, row: Request) -> tuple[int, int]:
        """Nobody within the team's own guarantee, else whoever the rules want."""
        return 0, 0 if row.source == Source.GUARANTEE else MOST_APPROVALS

    def faults(self, row: Request, now: datetime) -> Faults:
        """Numbers, shape, source, zone, times, and the pool's rules."""
        found = whole_between(row, ("gpus", "gpus_per_node"), 1, _("Ask for at least one GPU."))
        found |= {**_shape_faults(row), **_place_faults(row), **_time_faults(row, now)}
        return found or _rule_faults(row, now)

    def missing(self, row: Request, now: datetime) -> Faults:
        """GPUs, a start and an end."""
        wanted = {
            "gpus": _("Say how many GPUs."),
            "starts_at": _("Say when it begins."),
            "ends_at": _("Say when it ends."),
        }
        return {name: say for name, say in wanted.items() if getattr(row, name) is None}

    def beyond(self, row: Request, now: datetime) -> Faults:
        """More GPUs than the pool has at any time of it."""
        if row.starts_at is None or row.ends_at is None or row.ends_at <= row.starts_at:
            return {}
        return beyond_pool(row, row.gpus, row.starts_at, row.ends_at)

    def lapses_at(self, row: Request) -> datetime | None:
        """At its end: until then what is left of it can still be granted."""
        return row.ends_at

    def price(self, row: Request, now: datetime) -> tuple[int, str] | None:
        """As the rate card has it for the whole time asked."""
        gpus, starts_at, ends_at = filled(row)
        ask = Ask(gpus, row.gpus_per_node, row.source, starts_at, ends_at)
        found = pricing.estimate(row.pool_id, ask)
        return None if found is None else (found.micro, found.currency)

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """All, or a part of at least one GPU that keeps the shape."""
        asked, _starts_at, _ends_at = filled(row)
        granted = asked if granted_gpus is None else granted_gpus
        if not 1 <= granted <= asked:
            say = _("Grant at least 1 GPU and at most the %(asked)s that were asked for.")
            raise _cannot_grant(say % {"asked": asked})
        if row.gpus_per_node and granted % row.gpus_per_node:
            say = _("They asked for %(shape)s GPUs on each node: grant a multiple of %(shape)s.")
            raise _cannot_grant(say % {"shape": row.gpus_per_node})
        return granted

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Hold it; one whose start has passed begins now."""
        _gpus, starts_at, ends_at = filled(row)
        held = reservations.hold(
            team_id=row.team_id, pool_id=row.pool_id, gpus=granted_gpus,
            gpus_per_node=row.gpus_per_node, source=Source(row.source),
            starts_at=max(starts_at, now), ends_at=ends_at, zone=row.zone,
            purpose=row.reason[:200], request_id=row.pk, actor_id=actor_id, now=now,
        )  # fmt: skip
        return {"reservation_id": held.pk}


def filled(row: Request) -> tuple[int, datetime, datetime]:
    """GPUs, start and end of what has been filled in; raises `Invalid` when it has not."""
    if row.gpus is None or row.starts_at is None or row.ends_at is None:
        raise Invalid(_("How many GPUs, from when or until when is not filled in yet."))
    return row.gpus, row.starts_at, row.ends_at


def _cannot_grant(say: str) -> Invalid:
    return Invalid(say, code="cannot_grant", fields={"granted_gpus": say})


def broken(rules: Iterable[Broken]) -> Faults:
    """Broken rules beside the inputs at fault."""
    found: Faults = {}
    for rule in rules:
        found[rule.field] = f"{found.get(rule.field, '')} {rule.say}".strip()
    return found


def _rule_faults(row: Request, now: datetime) -> Faults:
    if row.starts_at is None or row.ends_at is None:
        return {}
    return broken(
        booking.list_broken(
            team_id=row.team_id, pool_id=row.pool_id, starts_at=max(row.starts_at, now),
            ends_at=row.ends_at, now=now,
        )
    )  # fmt: skip


def _shape_faults(row: Request) -> Faults:
    if row.gpus is None or row.gpus_per_node is None or row.gpus_per_node < 1:
        return {}
    if row.gpus % row.gpus_per_node:
        return {
            "gpus_per_node": _("%(gpus)s GPUs cannot be split into equal parts of %(shape)s.")
            % {"gpus": row.gpus, "shape": row.gpus_per_node}
        }
    return {}


def _place_faults(row: Request) -> Faults:
    found: Faults = {}
    if row.source not in Source.values:
        found["source"] = _("Take them from the pool or from the team's own guarantee.")
    if row.zone not in zoneinfo.available_timezones():
        found["zone"] = _("There is no time zone of this name.")
    return found


def _time_faults(row: Request, now: datetime) -> Faults:
    found: Faults = {}
    start, end = row.starts_at, row.ends_at
    for name, instant in (("starts_at", start), ("ends_at", end)):
        if instant is not None and (instant.second or instant.microsecond):
            found[name] = _("Times are whole minutes.")
    if start is not None and start < now - SLACK:
        found["starts_at"] = _("It begins in the past.")
    if end is not None and end <= now:
        found["ends_at"] = _("It ends in the past.")
    if start is not None and end is not None and end <= start:
        found["ends_at"] = _("It ends before it begins.")
    elif start is not None and end is not None and end - start > LONGEST:
        found["ends_at"] = _("It is longer than %(days)s days.") % {"days": LONGEST.days}
    return found
