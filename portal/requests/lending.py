"""Whose borrowed GPUs would have to come back, as the newest tick left things."""

from collections.abc import Iterable

from django.db.models import Count, F, Sum

from portal.inventory.selectors import PoolRow
from portal.requests.answers import Displaced, Forecast
from portal.requests.board import Ask
from portal.reservations.models import Source
from portal.scheduling import selectors as scheduling
from portal.scheduling.models import Standing
from portal.scheduling.selectors import ShareRow
from portal.workloads.models import WorkloadState

MILLI = 1000


def displaced(team_id: int, pool: PoolRow, ask: Ask) -> tuple[Displaced, ...]:
    """Teams that would give back borrowed GPUs if it began now, those who borrow most first.

    GPUs nobody uses are taken first, then what the team uses already and would be counted to
    this: what it borrows, and for a part of its own guarantee what it runs within that.
    """
    shares = scheduling.shares_now(pool_id=pool.id)
    mine = next((share for share in shares if share.team_id == team_id), None)
    have = max(0, pool.ready * MILLI - sum(share.allocated for share in shares))
    if mine:
        have += mine.allocated if ask.source == Source.GUARANTEE else mine.borrowed
    others = sorted(
        (s for s in shares if s.team_id != team_id and s.borrowed),
        key=lambda s: (-s.borrowed, s.team_id),
    )
    return tuple(_take_back(ask.gpus * MILLI - have, others)) if shares else ()


def planned(team_id: int, pool: PoolRow, ask: Ask) -> Forecast:
    """Other teams' jobs that are to start while it lasts, and may have to wait for longer."""
    plans = Standing.objects.filter(
        planned_start__gte=ask.starts_at, planned_start__lt=ask.ends_at,
        workload__pool_id=pool.id, workload__state=WorkloadState.WAITING,
    ).exclude(workload__team_id=team_id)  # fmt: skip
    asked = Sum(F("workload__tasks") * F("workload__gpu_milli"))
    found = plans.aggregate(jobs=Count("id"), milli=asked)
    return Forecast(found["jobs"], -(-(found["milli"] or 0) // MILLI))


def _take_back(missing: int, borrowers: Iterable[ShareRow]) -> Iterable[Displaced]:
    for share in borrowers:
        if missing <= 0:
            return
        taken = min(missing, share.borrowed)
        missing -= taken
        yield Displaced(share.team_id, -(-taken // MILLI))
