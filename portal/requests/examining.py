"""One asking, saved or not, looked at as things stand now: the answer, in words, and what to do.

What pages show and what the API answers comes from here, so that both say the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse

from portal.common.errors import Missing
from portal.requests import feasibility, kinds, local_times, selectors, sentences
from portal.requests.answers import Answer, GivenBack, QuotaAnswer, SlaAnswer, Way
from portal.requests.kinds import about
from portal.requests.models import Request, RequestKind
from portal.requests.quota_figures import FIGURES
from portal.requests.sentences import Said
from portal.reservations.models import Source
from portal.slas import selectors as slas
from portal.slas import targets

LOOKED_BACK = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something to ask for instead, in words, and the address of the form filled in with it."""

    way: Way
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Examined:
    """What can be said of an asking now."""

    answer: Answer | QuotaAnswer | GivenBack | SlaAnswer
    said: Said
    alternatives: tuple[Alternative, ...]


def examine(row: Request, now: datetime, *, with_price: bool) -> Examined | None:
    """Look at a request, saved or not; None while too little is filled in to say anything.

    Raises `Missing` for a pool there is not.
    """
    kind = kinds.of(row)
    if kind.missing(row, now) or kind.faults(row, now):
        return None
    return _LOOKS[RequestKind(row.kind)](row, now, with_price)


def examine_late(row: Request, now: datetime, *, with_price: bool) -> Examined | None:
    """The same of one already submitted, whose start may have passed: what is left of it."""
    timed = row.kind in selectors.TAKING
    if timed and (row.ends_at is None or row.ends_at <= now):
        return None
    return _LOOKS[RequestKind(row.kind)](row, now, with_price)


def _reservation(row: Request, now: datetime, with_price: bool) -> Examined:
    if row.gpus is None or row.starts_at is None or row.ends_at is None:
        raise Missing
    answer = feasibility.check(
        team_id=row.team_id, pool_id=row.pool_id, gpus=row.gpus,
        gpus_per_node=row.gpus_per_node, source=row.source, starts_at=row.starts_at,
        ends_at=row.ends_at, now=now, without=row.pk,
    )  # fmt: skip
    said = sentences.of_reservation(answer, now, with_price=with_price)
    if row.kind == RequestKind.EXTENSION:
        return Examined(answer, said, ())
    ways = tuple(
        Alternative(
            way, sentences.way(way, now, with_price=with_price), form_address(answer, way, row.zone)
        )
        for way in answer.ways
    )
    return Examined(answer, said, ways)


def _quota(row: Request, now: datetime, _with_price: bool) -> Examined:
    answer = feasibility.check_quota(
        team_id=row.team_id, pool_id=row.pool_id,
        figures={name: getattr(row, name) for name in FIGURES}, from_at=row.starts_at, now=now,
        without=row.pk,
    )  # fmt: skip
    return Examined(answer, sentences.of_quota(answer, now), ())


def _give_back(row: Request, now: datetime, _with_price: bool) -> Examined | None:
    held = about.reservation_of(row)
    if held is None or held.ends_at <= now:
        return None
    begins = max(row.ends_at or now, now, held.starts_at)
    answer = GivenBack(held.pk, held.gpus, begins, held.ends_at)
    return Examined(answer, sentences.of_give_back(answer, now), ())


def _sla(row: Request, now: datetime, _with_price: bool) -> Examined | None:
    if row.tier is None:
        return None
    had = targets.get_targets(now=now).of(row.team_id, row.pool_id, now)
    found = SlaAnswer(
        tier=row.tier.name, seconds=row.tier.target_wait_seconds,
        goal_permille=row.tier.goal_permille, had=had.tier if had else None,
        had_seconds=had.target_wait_seconds if had else None,
        would=slas.count_within(
            team_id=row.team_id, pool_id=row.pool_id, seconds=row.tier.target_wait_seconds,
            from_at=now - LOOKED_BACK, now=now,
        ),
    )  # fmt: skip
    return Examined(found, sentences.of_sla(found), ())


_LOOKS: dict[RequestKind, Callable[[Request, datetime, bool], Examined | None]] = {
    RequestKind.RESERVATION: _reservation,
    RequestKind.EXTENSION: _reservation,
    RequestKind.GIVE_BACK: _give_back,
    RequestKind.QUOTA: _quota,
    RequestKind.SLA: _sla,
}


def form_address(answer: Answer, way: Way, zone: str) -> str:
    """The Reserve page with an alternative filled in, on the day it begins."""
    starts_at = local_times.typed(way.starts_at, zone)
    values: dict[str, object] = {
        "pool": way.pool_id, "day": starts_at[:10], "team": answer.team_id, "gpus": way.gpus,
        "gpus_per_node": answer.gpus_per_node or "", "source": Source(answer.source).value,
        "starts_at": starts_at, "ends_at": local_times.typed(way.ends_at, zone), "zone": zone,
    }  # fmt: skip
    return f"{reverse('requests:reserve')}?{urlencode(values)}"
