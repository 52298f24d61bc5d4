"""Fairness over time: shares, loans, waits and who waits longest, as the page shows them."""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging
from portal.common.api_shapes import page
from portal.dashboards import fairness, periods, schemas
from portal.dashboards.periods import LONGEST, Window
from portal.dashboards.selectors import common, history, waits
from portal.dashboards.selectors.history import Amounts
from portal.dashboards.selectors.waits import By, WaitsRow
from portal.inventory import parameters
from portal.inventory import selectors as inventory
from portal.scheduling import selectors as scheduling
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.workloads.models import Workload

WEEK = timedelta(days=7)
MOST = 100


class FairnessListView(APIView):
    """Each team on average over a time: its shares, its waits, and the sentence that explains them."""

    @ops.operation(page(schemas.FAIRNESS), query=(ops.POOL, ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """`from` and `to` bound the time, by default the last week; filter by `pool`."""
        window, pool_id = _window(request), parameters.whole(request, "pool")
        past = history.get_history(window, pool_id=pool_id)
        waited = _grouped(By.TEAM, window, pool_id)
        rows = fairness.rows(past, history.list_pairs(past), waited, common.team_marks())
        return _paged(
            request, self,
            [
                {
                    "team": {"id": row.team.id, "name": row.team.name}, **_amounts(row.mean),
                    "waits": _waits(row.waits) if row.waits else None, "sentence": row.sentence,
                }
                for row in rows
            ],
        )  # fmt: skip


class FairnessHistoryView(APIView):
    """Shares step by step: what ticks wrote. A step without a tick is null, not zero."""

    @ops.operation(page(schemas.FAIRNESS_STEP), query=(ops.TEAM, ops.POOL, ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """`from`, `to` and `pool` as above; `team` for one team alone."""
        window = _window(request)
        past = history.get_history(window, pool_id=parameters.whole(request, "pool"))
        team_id, names = parameters.whole(request, "team"), teams.team_names()
        return _paged(
            request, self,
            [
                {
                    "at": at, "jain": sample.jain if sample else None,
                    "teams": None if sample is None else [
                        {"team": {"id": pk, "name": names.get(pk, "")}, **_amounts(amounts)}
                        for pk, amounts in sorted(sample.teams.items())
                        if team_id in (None, pk)
                    ],
                }
                for at, sample in zip(window.places, past.samples, strict=True)
            ],
        )  # fmt: skip


class FairnessPairsView(APIView):
    """Who borrowed of whose guarantee, on average; `lender` null is what nobody was promised."""

    @ops.operation(page(schemas.FAIRNESS_PAIR), query=(ops.POOL, ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """`from`, `to` and `pool` as above."""
        past = history.get_history(_window(request), pool_id=parameters.whole(request, "pool"))
        names = teams.team_names()
        return _paged(
            request, self,
            [
                {
                    "borrower": {"id": pair.borrower_id, "name": names.get(pair.borrower_id, "")},
                    "lender": None if pair.lender_id is None
                    else {"id": pair.lender_id, "name": names.get(pair.lender_id, "")},
                    "gpu_milli": round(pair.milli),
                }
                for pair in history.list_pairs(past)
            ],
        )  # fmt: skip


class FairnessWaitsView(APIView):
    """Quantiles of waits with those that still wait counted (Kaplan and Meier)."""

    @ops.operation(
        page(schemas.FAIRNESS_WAITS),
        query=(ops.word("by", By.values, "What waits are grouped by."), ops.POOL, ops.FROM, ops.TO),
    )
    def get(self, request: Request) -> Response:
        """`by` one of team, pool, size, kind; `from`, `to` and `pool` as above."""
        by = By(parameters.one_of(request, "by", By.values) or By.TEAM)
        rows = _grouped(by, _window(request), parameters.whole(request, "pool"))
        return _paged(
            request, self, [{"key": r.key, "label": r.label, **_waits(r)} for r in rows]
        )  # fmt: skip


class FairnessStarvingView(APIView):
    """Jobs that wait now, the longest for their target first; names where the asker may see them."""

    @ops.operation(page(schemas.STARVING), query=(ops.POOL,))
    def get(self, request: Request) -> Response:
        """Filter by `pool`; the first hundred."""
        now = clock.now()
        nothing_else = periods.cut(now - timedelta(hours=1), now, settings.DEFAULT_ZONE)
        waiting = waits.list_jobs(nothing_else, pool_id=parameters.whole(request, "pool"))
        found = waits.rank_waiting(waiting, now=now, tree=teams.get_tree(now=now))[:MOST]
        jobs = Workload.objects.filter(pk__in=[row.workload_id for row in found])
        rows = scheduling.queue_rows(
            jobs.select_related("team", "pool", "user", "standing"), access_of(request._request),
            now=now, likely=False,
        )  # fmt: skip
        told = {row.id: row for row in rows}
        return _paged(
            request, self,
            [
                {
                    "id": row.workload_id, "name": told[row.workload_id].name or None,
                    "team": {"id": told[row.workload_id].team_id,
                             "name": told[row.workload_id].team_name},
                    "waited_seconds": row.waited_seconds, "target_seconds": row.target_seconds,
                    "reason": told[row.workload_id].sentence.text,
                }
                for row in found
                if row.workload_id in told
            ],
        )  # fmt: skip


def _grouped(by: By, window: Window, pool_id: int | None) -> list[WaitsRow]:
    names = waits.Names(teams.team_names(), inventory.pool_names())
    jobs = waits.list_jobs(window, pool_id=pool_id)
    return waits.group_waits(by, jobs, window, now=clock.now(), names=names)


def _window(request: Request) -> Window:
    now = clock.now()
    from_at = parameters.instant(request, "from") or now - WEEK
    period = parameters.window(request, now=from_at, default=now - from_at, longest=LONGEST)
    return periods.cut(period.from_at, period.to_at, settings.DEFAULT_ZONE)


def _amounts(amounts: Amounts) -> dict[str, float]:
    """Milli-GPU, and the dominant share as a part of one."""
    return {
        "guaranteed": round(amounts.guaranteed), "reserved": round(amounts.reserved),
        "fair_share": round(amounts.fair), "allocated": round(amounts.held),
        "borrowed": round(amounts.borrowed), "lent": round(amounts.lent),
        "dominant_share": round(amounts.dominant, 4),
    }  # fmt: skip


def _waits(row: WaitsRow) -> dict[str, object]:
    """`reached` false: it is more than so many seconds."""
    return {
        "jobs": row.jobs, "still_waiting": row.still,
        "quantiles": [
            {"percent": q.percent, "seconds": q.seconds, "reached": q.reached}
            for q in row.quantiles
        ],
    }  # fmt: skip


def _paged(request: Request, view: APIView, rows: Iterable[dict[str, object]]) -> Response:
    paging = Paging()
    page = paging.paginate_queryset(list(rows), request, view=view)
    return paging.get_paginated_response(page or [])
