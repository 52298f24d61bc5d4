"""The queue, workloads, ticks, shares and the policy under /api/v1. Times are UTC, GPUs milli."""

from datetime import datetime, timedelta

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, PreconditionFailed, check_if_match, etag, once
from portal.common.api_shapes import FREE, page
from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.inventory import parameters
from portal.scheduling import answers, schemas, selectors, services
from portal.scheduling.models import TickState
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import OVERSEE
from portal.workloads.models import Kind, WorkloadState

WEEK = timedelta(days=7)
MONTH = timedelta(days=28)
LONGEST = timedelta(days=92)
MOST_NOTE = 1000


class PastItsTime(Refusal):
    """There was such a thing; it is no longer kept."""

    status = 410
    code = "gone"


class WorkloadListView(APIView):
    """Jobs: every open one, by name in the asker's branches; ended ones of those branches."""

    @ops.operation(
        page(schemas.WORKLOAD),
        query=(
            ops.row("team", "Only of this team and those below it."),
            ops.POOL,
            ops.text("state", "One or several states with commas between; else the open ones."),
            ops.word("kind", Kind.values, "Only of this class."),
            ops.text("q", "Part of a name."),
            ops.text("sort", "A column, with a minus the other way round; else the position."),
        ),
    )
    def get(self, request: Request) -> Response:
        """Filter by `team` (with all below it), `pool`, `state`, `kind`, `q`; order by `sort`."""
        now = clock.now()
        access = access_of(request._request)
        jobs = selectors.list_queue(
            access,
            team_ids=_branch(parameters.whole(request, "team")),
            pool_id=parameters.whole(request, "pool"),
            states=_states(request),
            kind=parameters.one_of(request, "kind", Kind.values) or "",
            q=request.query_params.get("q", ""),
            sort=request.query_params.get("sort") or "position",
        )
        paging = Paging()
        page = paging.paginate_queryset(jobs, request, view=self)
        zone = timezone.get_current_timezone()
        rows = selectors.queue_rows(page or [], access, zone=zone, now=now)
        return paging.get_paginated_response([answers.workload(row, now) for row in rows])


class WorkloadDetailView(APIView):
    """One job with its stages, where it stands and how it was decided upon."""

    @ops.operation(schemas.WORKLOAD_IN_FULL)
    def get(self, request: Request, workload_id: int) -> Response:
        """As it stands now."""
        now = clock.now()
        found = selectors.get_workload(
            access_of(request._request), workload_id=workload_id,
            zone=timezone.get_current_timezone(), now=now,
        )  # fmt: skip
        if found is None:
            raise Missing
        return Response(answers.workload_in_full(found, now))


class WorkloadDecisionsView(APIView):
    """What ticks decided of one job, newest first; one row whenever something changed."""

    @ops.operation(page(schemas.DECISION))
    def get(self, request: Request, workload_id: int) -> Response:
        """All of them, in pages."""
        rows = selectors.list_decisions(
            access_of(request._request), workload_id=workload_id,
            zone=timezone.get_current_timezone(), now=clock.now(),
        )  # fmt: skip
        return _paged(request, self, [answers.decision(row) for row in rows])


class TickListView(APIView):
    """Cycles of all clusters, newest first."""

    @ops.operation(
        page(schemas.TICK),
        query=(ops.CLUSTER, ops.word("state", TickState.values, "Only in this state.")),
    )
    def get(self, request: Request) -> Response:
        """Filter by `cluster` and `state`."""
        ticks = selectors.list_ticks(
            cluster_id=parameters.whole(request, "cluster"),
            state=parameters.one_of(request, "state", TickState.values) or "",
        )
        paging = Paging()
        page = paging.paginate_queryset(ticks, request, view=self)
        full = _oversees(request)
        found = [answers.tick(selectors.tick_row(tick), in_full=full) for tick in page or []]
        return paging.get_paginated_response(found)


class TickDetailView(APIView):
    """One cycle."""

    @ops.operation(schemas.TICK)
    def get(self, request: Request, tick_id: int) -> Response:
        """Its figures."""
        row = selectors.get_tick(tick_id=tick_id)
        if row is None:
            raise Missing
        return Response(answers.tick(row, in_full=_oversees(request)))


class TickSnapshotView(APIView):
    """What the engine saw: the file with which a decision is replayed."""

    @ops.operation(FREE, fails=(410,))
    def get(self, request: Request, tick_id: int) -> HttpResponse:
        """A JSON file that `python -m scheduler_core plan` takes unchanged."""
        text = selectors.get_snapshot(tick_id=tick_id)
        if text is None:
            if selectors.get_tick(tick_id=tick_id) is None:
                raise Missing
            raise PastItsTime(_("The snapshot of this tick is no longer kept."))
        name = f"evenshare-snapshot-{tick_id}.json"
        return HttpResponse(
            text, content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )  # fmt: skip


class ShareListView(APIView):
    """What each team has in each pool as of the newest tick."""

    @ops.operation(page(schemas.SHARE), query=(ops.TEAM, ops.POOL, ops.CLUSTER))
    def get(self, request: Request) -> Response:
        """Filter by `team`, `pool` and `cluster`."""
        rows = selectors.shares_now(
            team_id=parameters.whole(request, "team"),
            pool_id=parameters.whole(request, "pool"),
            cluster_id=parameters.whole(request, "cluster"),
        )
        return _paged(request, self, [answers.share(row) for row in rows])


class LoanListView(APIView):
    """Who uses what of whose guarantee now."""

    @ops.operation(page(schemas.LOAN), query=(ops.TEAM, ops.POOL))
    def get(self, request: Request) -> Response:
        """Filter by `pool`, and by `team` on either side."""
        team_id = parameters.whole(request, "team")
        rows = selectors.list_loans(pool_id=parameters.whole(request, "pool"))
        found = [r for r in rows if team_id in (None, r.lender_id, r.borrower_id)]
        return _paged(request, self, [answers.loan(row) for row in found])


class WaitListView(APIView):
    """How long each team's jobs wait, those that still wait included."""

    @ops.operation(page(schemas.WAIT), query=(ops.POOL, ops.FROM))
    def get(self, request: Request) -> Response:
        """Of what was submitted from `from` to now, a week by default; filter by `pool`."""
        now = clock.now()
        since = _since(request, now, WEEK)
        rows = selectors.list_waits(since=since, now=now, pool_id=parameters.whole(request, "pool"))
        return _paged(request, self, [answers.wait(row) for row in rows])


class ForecastListView(APIView):
    """How good the forecasts were, by team and pool: the first of each wait is judged."""

    @ops.operation(page(schemas.SCORE), query=(ops.TEAM, ops.POOL, ops.FROM))
    def get(self, request: Request) -> Response:
        """Of those made from `from` to now, four weeks by default; filter by `team` and `pool`."""
        now = clock.now()
        rows = selectors.list_scores(
            since=_since(request, now, MONTH), now=now,
            team_id=parameters.whole(request, "team"), pool_id=parameters.whole(request, "pool"),
        )  # fmt: skip
        return _paged(request, self, [answers.score(row) for row in rows])


class PolicyView(APIView):
    """The rules a cluster's ticks follow. Its ETag is the id of the row they stand in."""

    @ops.operation(schemas.POLICY, tagged=True)
    def get(self, request: Request, cluster_id: int) -> Response:
        """What counts now."""
        return self._answer(cluster_id)

    @ops.operation(
        schemas.POLICY, body=schemas.POLICY_BODY, edits=True,
        query=(ops.text("note", "Why, for those who read the history."),),
    )  # fmt: skip
    def put(self, request: Request, cluster_id: int) -> Response:
        """Take the whole `policy` object of the engine's contract, from the next tick on."""

        def act() -> Response:
            now = clock.now()
            before = selectors.get_policy(cluster_id=cluster_id, now=now)
            if before is None:
                raise Missing
            check_if_match(request, before.id)
            if not isinstance(request.data, dict) or not request.data:
                raise Invalid(_("Send the policy as one JSON object."))
            try:
                services.set_policy(
                    cluster_id=cluster_id, rules=request.data, actor_id=request.user.pk, now=now,
                    seen_policy_id=before.id, note=request.query_params.get("note", "")[:MOST_NOTE],
                )  # fmt: skip
            except Conflict as conflict:
                if "If-Match" in request.headers and conflict.code == "changed_meanwhile":
                    raise PreconditionFailed(conflict.message) from conflict
                raise
            return self._answer(cluster_id)

        return once(request, act)

    def _answer(self, cluster_id: int) -> Response:
        row = selectors.get_policy(cluster_id=cluster_id, now=clock.now())
        if row is None:
            raise Missing
        return Response(answers.policy(row), headers={"ETag": etag(row.id)})


def _paged(request: Request, view: APIView, rows: list[dict[str, object]]) -> Response:
    paging = Paging()
    page = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response(page or [])


def _since(request: Request, now: datetime, usual: timedelta) -> datetime:
    since = parameters.instant(request, "from") or now - usual
    if now - since > LONGEST:
        days = {"days": LONGEST.days}
        raise Invalid(
            _("The address has faults."),
            fields={"from": _("It is more than %(days)d days ago.") % days},
        )
    return since


def _branch(team_id: int | None) -> frozenset[int] | None:
    """A team and all below it."""
    return None if team_id is None else teams.get_tree(now=clock.now()).branch(team_id)


def _states(request: Request) -> list[str]:
    """One or several states with commas between; the open ones when none is named."""
    words = [word for word in request.query_params.get("state", "").split(",") if word]
    unknown = [word for word in words if word not in WorkloadState.values]
    if unknown:
        known = {"words": ", ".join(WorkloadState.values)}
        raise Invalid(
            _("The address has faults."), fields={"state": _("Give one of: %(words)s.") % known}
        )
    return words


def _oversees(request: Request) -> bool:
    return access_of(request._request).holds(OVERSEE)
