"""Reads of everything a reckoning needs: what nodes were there, who held what, what was reserved.

The ledger is read as runs: rows of one pod that follow one another unchanged are put together by
the database, so a month of five-minute rows comes over as a few thousand. Only pods with gaps or
corrections are read row by row.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Max, Min, QuerySet, Sum

from portal.common.clock import whole_seconds
from portal.finance.reckoning import STEADY, Hold, NodePiece, Reckoning, UseKey, UseRow, reckon
from portal.inventory import selectors as inventory
from portal.inventory.calendar import Condition
from portal.reservations import selectors as reservations
from portal.reservations.models import Reservation, Source
from portal.usage.models import GRID_SECONDS, LedgerEntry

GRID = timedelta(seconds=GRID_SECONDS)
_PODS_BY_NAME = 500
_RUN = ("pool_id", "node_id", "team_id", "charged_to", "reservation_id", "gpu_milli", "pod_uid")


@dataclass(frozen=True, slots=True)
class Measured:
    """A pool's reckoning, and whose each reservation named in it is."""

    reckoning: Reckoning
    holders: dict[int, int]


def measure(*, pool_ids: Sequence[int], from_at: datetime, to_at: datetime) -> dict[int, Measured]:
    """Reckon these pools over a half-open period, in four queries and one a pool for its nodes."""
    use = _read_use(pool_ids, from_at, to_at)
    holds = _read_holds(pool_ids, from_at, to_at)
    starts, ends = whole_seconds(from_at), whole_seconds(to_at)
    measured: dict[int, Measured] = {}
    for pool_id in pool_ids:
        nodes = read_nodes(pool_id=pool_id, from_at=from_at, to_at=to_at)
        steady = _steady(nodes, starts, ends)
        measured[pool_id] = Measured(
            reckoning=reckon(
                starts=starts,
                ends=ends,
                nodes=nodes,
                use=[r._replace(place=STEADY) if r.place in steady else r for r in use[pool_id]],
                holds=holds[pool_id],
            ),
            holders={h.reservation_id: h.team_id for h in holds[pool_id]},
        )
    return measured


def read_nodes(*, pool_id: int, from_at: datetime, to_at: datetime) -> list[NodePiece]:
    """The pool's nodes over time, cut by condition, in whole seconds."""
    return [
        NodePiece(
            node_id=piece.node_id,
            milli=piece.gpus * 1000,
            condition=piece.condition,
            starts=whole_seconds(piece.from_at),
            ends=whole_seconds(piece.to_at),
        )
        for piece in inventory.capacity_pieces(pool_id=pool_id, from_at=from_at, to_at=to_at)
    ]


def capacity(*, pool_id: int, from_at: datetime, to_at: datetime) -> int:
    """Capacity times time of a pool in milli-GPU-seconds, from the nodes alone."""
    nodes = read_nodes(pool_id=pool_id, from_at=from_at, to_at=to_at)
    return sum(piece.milli * (piece.ends - piece.starts) for piece in nodes)


def ledger_of(
    pool_ids: Collection[int], from_at: datetime, to_at: datetime
) -> QuerySet[LedgerEntry]:
    """Ledger rows of these pools that touch the period; rows are at most one grid cell long."""
    return LedgerEntry.objects.order_by().filter(
        pool_id__in=list(pool_ids), from_at__gt=from_at - GRID, from_at__lt=to_at, to_at__gt=from_at
    )


def _steady(nodes: Sequence[NodePiece], starts: int, ends: int) -> frozenset[int]:
    """Nodes that were ready all through the period."""
    return frozenset(
        piece.node_id
        for piece in nodes
        if piece.condition is Condition.READY and (piece.starts, piece.ends) == (starts, ends)
    )


def _read_use(
    pool_ids: Sequence[int], from_at: datetime, to_at: datetime
) -> dict[int, list[UseRow]]:
    rows = ledger_of(pool_ids, from_at, to_at)
    runs = rows.values_list(*_RUN).annotate(
        first=Min("from_at"), last=Max("to_at"), least=Min("sign"), seconds=Sum("seconds")
    )
    found: list[_Run] = []
    broken: set[str] = set()
    for *run, first, last, sign, seconds in runs:
        row = _Run._make((*run, first, last, sign))
        found.append(row)
        if sign != 1 or last - first != timedelta(seconds=seconds):
            broken.add(row.pod_uid)
    found = [row for row in found if row.pod_uid not in broken]
    use: dict[int, list[UseRow]] = defaultdict(list)
    for row in [*found, *_rows_of(rows, broken)]:
        use[row.pool_id].append(row.as_use())
    return use


def _rows_of(rows: QuerySet[LedgerEntry], pods: set[str]) -> list["_Run"]:
    """The rows of these pods as they stand; of very many, by reading all."""
    if not pods:
        return []
    if len(pods) <= _PODS_BY_NAME:
        rows = rows.filter(pod_uid__in=sorted(pods))
    every = (
        _Run._make(row) for row in rows.values_list(*_RUN, "from_at", "to_at", "sign").iterator()
    )
    return [row for row in every if row.pod_uid in pods]


class _Run(NamedTuple):
    """One row of the ledger, or several that follow one another unchanged."""

    pool_id: int
    node_id: int
    team_id: int | None
    charged_to: str
    reservation_id: int | None
    gpu_milli: int
    pod_uid: str
    from_at: datetime
    to_at: datetime
    sign: int

    def as_use(self) -> UseRow:
        return UseRow(
            place=self.node_id,
            key=UseKey(self.team_id, self.charged_to, self.reservation_id),
            milli=self.sign * self.gpu_milli,
            starts=whole_seconds(self.from_at),
            ends=whole_seconds(self.to_at),
        )


def _read_holds(
    pool_ids: Sequence[int], from_at: datetime, to_at: datetime
) -> dict[int, list[Hold]]:
    """Reservations from the pool that were open in the period."""
    rows = Reservation.objects.filter(
        pool_id__in=list(pool_ids), source=Source.POOL, state__in=reservations.TOOK_PLACE,
        starts_at__lt=to_at, ends_at__gt=from_at,
    )  # fmt: skip
    holds: dict[int, list[Hold]] = defaultdict(list)
    for row in rows:
        hold = Hold(
            reservation_id=row.pk,
            team_id=row.team_id,
            milli=row.gpus * 1000,
            starts=whole_seconds(row.starts_at),
            ends=whole_seconds(row.ends_at),
        )
        holds[row.pool_id].append(hold)
    return holds
