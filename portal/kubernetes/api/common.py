"""What every door of the room reads and answers alike."""

from collections.abc import Iterable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import clock
from portal.common.api import Paging
from portal.kubernetes import selectors
from portal.kubernetes.diff import Write
from portal.kubernetes.models import SyncRun
from portal.kubernetes.selectors import ClusterRow
from portal.kubernetes.selectors.clusters import Beat
from portal.teams.models import User

Answer = dict[str, object]


def page(view: APIView, request: Request, rows: Any, shown: Any) -> Response:
    """One page of rows, each as `shown` has it."""
    paging = Paging()
    found: list[Any] | None = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response([shown(row) for row in found or []])


def known(cluster_id: int) -> ClusterRow:
    """The cluster of an address. Raises `Missing`."""
    return selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())


def now_of(cluster_id: int) -> Response:
    """The cluster as it stands after a move."""
    return Response(cluster(known(cluster_id)))


def text(request: Request, name: str) -> str:
    """A text of the address, as far as a column can be compared with it."""
    return request.query_params.get(name, "").replace("\x00", "")[:200]


def body(request: Request) -> dict[str, Any]:
    """The body, where it is an object."""
    return request.data if isinstance(request.data, dict) else {}


def who(request: Request) -> int | None:
    """The id of whoever asks."""
    return request.user.pk if isinstance(request.user, User) else None


def _beat(found: Beat) -> Answer:
    return {"at": found.at, "real_at": found.real_at, "stale": found.stale}


def cluster(row: ClusterRow) -> Answer:
    """One cluster and how fresh what is known of it is."""
    missing = row.policies_missing
    return {
        "id": row.id, "name": row.name, "kind": row.kind, "mode": row.mode,
        "read": _beat(row.read), "tick": _beat(row.tick), "sync": _beat(row.sync),
        "paused_at": row.paused_at, "pause_reason": row.pause_reason or None,
        "drift": row.drift, "quotas_not_in_force": row.late, "quotas_without_effect": row.idle,
        "policies_missing": None if missing is None else list(missing),
        "ray_mismatches": row.ray_wrong, "stops": row.stops, "stops_that_stand_still": row.stuck, "last_error": row.last_error or None,
    }  # fmt: skip


def run(row: SyncRun) -> Answer:
    """One sync."""
    undone = getattr(row, "undone_by", None)
    return {
        "id": row.pk, "cluster": row.cluster_id, "tick": row.tick_id, "at": row.at,
        "state": row.state, "intended": row.intended, "writes": row.writes,
        "took_ms": row.took_ms, "message": row.message or None, "undoes": row.undoes_id,
        "undone_by": undone.pk if undone else None,
    }  # fmt: skip


def changes(writes: Iterable[Write]) -> list[Answer]:
    """Each field of some writes."""
    return [
        {
            "kind": write.kind, "namespace": write.namespace, "name": write.name,
            "field": change.field, "from": change.was, "to": change.now,
        }
        for write in writes
        for change in write.changes
    ]  # fmt: skip
