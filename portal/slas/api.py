"""Tiers, promises, how often they were kept, and what was late, at /api/v1."""

from datetime import datetime, timedelta
from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, check_if_match, etag, once
from portal.common.api_shapes import DONE, page
from portal.common.errors import Missing
from portal.inventory import parameters, sent
from portal.slas import bodies, schemas, selectors, services, targets
from portal.slas.models import Breach, BreachKind, Tier
from portal.slas.selectors import Kept
from portal.slas.targets import SlaRow
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import DECIDE, WORK

MONTH = timedelta(days=30)
LONGEST = timedelta(days=92)


class TierListView(APIView):
    """Tiers that can be given."""

    @ops.operation(page(schemas.TIER))
    def get(self, request: Request) -> Response:
        """The strictest first."""
        return _paged(request, self, [_tier(row) for row in selectors.list_tiers()])


class TierCreateView(APIView):
    """A new tier."""

    @ops.operation(schemas.TIER, body=bodies.TierBody, status=201)
    def post(self, request: Request) -> Response:
        """`name`, `target_wait_seconds`, and `goal_permille` and `answer_seconds` if they differ."""

        def act() -> Response:
            body = sent.read(bodies.TierBody, request.data)
            tier = services.create_tier(**body, actor_id=_who(request), now=clock.now())
            return Response(_tier(tier), status=CREATED)

        return once(request, act)


class TierRetireView(APIView):
    """A tier nobody is given any more."""

    @ops.operation(DONE)
    def post(self, request: Request, tier_id: int) -> Response:
        """No body."""

        def act() -> Response:
            services.retire_tier(tier_id=tier_id, actor_id=_who(request), now=clock.now())
            return Response({"id": tier_id})

        return once(request, act)


class SlaListView(APIView):
    """Promises that hold or are to hold; a POST gives a team another."""

    @ops.operation(page(schemas.SLA), query=(ops.TEAM,))
    def get(self, request: Request) -> Response:
        """Filter by `team`."""
        team_id = parameters.whole(request, "team")
        rows = selectors.list_slas(at=clock.now(), team_ids=None if team_id is None else [team_id])
        names = teams.team_names()
        return _paged(request, self, [_sla(row, names) for row in rows])

    @ops.operation(schemas.SLA_SET, body=bodies.SlaBody, status=201)
    def post(self, request: Request) -> Response:
        """`team`, `pool` (null: all), `tier` (null: none), `valid_from` and `valid_to`."""

        def act() -> Response:
            now, body = clock.now(), sent.read(bodies.SlaBody, request.data)
            if not access_of(request._request).holds(DECIDE, team_id=body["team"]):
                raise Missing
            row = services.set_sla(
                team_id=body["team"], pool_id=body["pool"], tier_id=body["tier"],
                valid_from=body["valid_from"] or now, valid_to=body["valid_to"],
                actor_id=_who(request), now=now,
            )  # fmt: skip
            shown = _sla(targets.row_of(row), teams.team_names()) if row else None
            return Response({"sla": shown}, status=CREATED)

        return once(request, act)


class AttainmentListView(APIView):
    """How often each promise was kept; jobs that still wait beyond it count as late."""

    @ops.operation(page(schemas.ATTAINMENT), query=(ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """Of jobs submitted from `from` until now, by default in 30 days."""
        now = clock.now()
        window = parameters.window(request, now=now - MONTH, default=MONTH, longest=LONGEST)
        kept = selectors.list_kept(from_at=window.from_at, now=min(now, window.to_at))
        names = teams.team_names()
        rows = [
            {**_sla(row, names), **_kept(kept.get(row.id, selectors.NOTHING))}
            for row in selectors.list_slas()
        ]
        return _paged(request, self, rows)


class BreachListView(APIView):
    """What came too late, newest first."""

    @ops.operation(
        page(schemas.BREACH),
        query=(
            ops.TEAM,
            ops.word("kind", BreachKind.values, "Only of this kind."),
            ops.word("acknowledged", ["yes", "no"], "Whether somebody has seen it."),
            ops.word("late", ["yes", "no"], "Whether it is late still."),
        ),
    )
    def get(self, request: Request) -> Response:
        """Filter by `team`, `kind`, `acknowledged` (yes, no) and `late` (yes, no)."""
        words = {"yes": True, "no": False, None: None}
        rows = selectors.query_breaches(
            team_ids=access_of(request._request).teams(WORK),
            kind=parameters.one_of(request, "kind", BreachKind.values),
            team_id=parameters.whole(request, "team"),
            acknowledged=words[parameters.one_of(request, "acknowledged", ["yes", "no"])],
            late=words[parameters.one_of(request, "late", ["yes", "no"])],
        )
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_breach(row) for row in page or []])


class AcknowledgeView(APIView):
    """Somebody has seen what was late, and says why."""

    @ops.operation(schemas.BREACH, body=bodies.AcknowledgeBody, edits=True)
    def post(self, request: Request, breach_id: int) -> Response:
        """`note`, and `owner` where somebody else looks after it."""

        def act() -> Response:
            body = sent.read(bodies.AcknowledgeBody, request.data)
            seen = selectors.get_breach(breach_id=breach_id)
            check_if_match(request, seen.version)
            row = services.acknowledge(
                breach_id=breach_id, note=body["note"], owner_id=body["owner"],
                actor_id=_who(request), now=clock.now(), version=seen.version,
            )  # fmt: skip
            return Response(
                _breach(selectors.get_breach(breach_id=row.pk)),
                headers={"ETag": etag(row.version)},
            )

        return once(request, act)


def _paged(request: Request, view: APIView, rows: list[dict[str, Any]]) -> Response:
    paging = Paging()
    page = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response(page or [])


def _tier(row: Tier) -> dict[str, Any]:
    return {
        "id": row.pk, "name": row.name, "target_wait_seconds": row.target_wait_seconds,
        "goal_permille": row.goal_permille, "answer_seconds": row.answer_seconds,
    }  # fmt: skip


def _sla(row: SlaRow, names: dict[int, str]) -> dict[str, Any]:
    return {
        "id": row.id, "team": {"id": row.team_id, "name": names.get(row.team_id, "")},
        "pool": row.pool_id, "tier": {"id": row.tier_id, "name": row.tier},
        "target_wait_seconds": row.target_wait_seconds, "goal_permille": row.goal_permille,
        "answer_seconds": row.answer_seconds, "valid_from": _text(row.valid_from),
        "valid_to": _text(row.valid_to), "request": row.request_id,
    }  # fmt: skip


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "met": kept.met, "missed": kept.missed, "still_late": kept.still_late,
        "undecided": kept.undecided, "permille": kept.permille,
    }  # fmt: skip


def _breach(row: Breach) -> dict[str, Any]:
    return {
        "id": row.pk, "kind": row.kind, "team": {"id": row.team_id, "name": row.team.name},
        "sla": row.sla_id, "tier": row.sla.tier.name, "workload": row.workload_id,
        "request": row.request_id, "due_at": _text(row.due_at), "ended_at": _text(row.ended_at),
        "owner": row.owner_id, "acknowledged_at": _text(row.acknowledged_at),
        "acknowledged_by": row.acknowledged_by_id, "note": row.note, "version": row.version,
    }  # fmt: skip


def _text(at: datetime | None) -> str | None:
    """Spelled the same in a first answer and in one remembered for its Idempotency-Key."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def _who(request: Request) -> int:
    return cast(int, request.user.pk)
