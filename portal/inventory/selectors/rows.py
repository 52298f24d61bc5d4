"""From rows to the spans and holds the calendar reckons with."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from portal.common.pages import once_a_page
from portal.inventory import calendar
from portal.inventory.calendar import FOREVER, Condition, Hold, Period, Piece, Span
from portal.inventory.models import (
    Commitment,
    CommitmentKind,
    MaintenanceWindow,
    Node,
    NodeOutage,
)

PLANNED = frozenset({Condition.MAINTENANCE})
"""Bookings do without nodes in maintenance; a node that is down is expected back."""


@dataclass(frozen=True, slots=True)
class CommitmentRow:
    """A promise: who holds how many GPUs, from when to when (None: without end)."""

    kind: CommitmentKind
    source_id: int
    pool_id: int
    team_id: int
    gpus: int
    gpus_per_node: int | None
    adds: bool
    starts_at: datetime
    ends_at: datetime | None

    @property
    def hold(self) -> Hold:
        """As the arithmetic sees it."""
        return Hold(
            from_at=self.starts_at,
            to_at=self.ends_at or FOREVER,
            gpus=self.gpus,
            per_node=self.gpus_per_node,
            adds=self.adds,
        )


@dataclass(frozen=True, slots=True)
class NodeLife:
    """A node over a window: when it is known, in maintenance and down."""

    id: int
    name: str
    pool_id: int
    gpus: int
    known: Period
    maintenance: tuple[Period, ...]
    outages: tuple[Period, ...]

    def pieces(self) -> list[Piece]:
        """Its time cut by condition."""
        return calendar.pieces(self.known, self.maintenance, self.outages)

    def spans(self, *, without: Collection[Condition]) -> list[Span]:
        """The stretches that count as capacity when these conditions do not."""
        return [
            Span(p.from_at, p.to_at, self.gpus) for p in self.pieces() if p.condition not in without
        ]


def window_of(from_at: datetime, to_at: datetime | None) -> Period:
    """A window; without an end it has none."""
    return Period(from_at, to_at or FOREVER)


def overlapping(window: Period, start: str, end: str) -> Q:
    """Rows whose period meets the window."""
    condition = Q(**{f"{end}__isnull": True}) | Q(**{f"{end}__gt": window.from_at})
    return condition & Q(**{f"{start}__lt": window.to_at})


def get_lives(
    pools: Iterable[int], window: Period, *, with_outages: bool = True
) -> dict[int, list[NodeLife]]:
    """Every node known at some time in the window, by pool: three queries, two without outages."""
    return _lives(frozenset(pools), window, with_outages=with_outages)


@once_a_page
def _lives(
    pools: frozenset[int], window: Period, *, with_outages: bool
) -> dict[int, list[NodeLife]]:
    nodes = list(
        Node.objects.filter(pool_id__in=pools)
        .filter(overlapping(window, "first_seen_at", "removed_at"))
        .only("id", "name", "pool_id", "gpus", "first_seen_at", "removed_at")
    )
    pool_ids = {node.pool_id for node in nodes}
    planned = MaintenanceWindow.objects.filter(cancelled_at__isnull=True)
    away = _periods(planned.filter(node__pool_id__in=pool_ids), window)
    down: dict[int, list[Period]] = defaultdict(list)
    if with_outages:
        down = _periods(NodeOutage.objects.filter(node__pool_id__in=pool_ids), window)
    lives: dict[int, list[NodeLife]] = defaultdict(list)
    for node in nodes:
        known = calendar.clip(node.first_seen_at, node.removed_at or FOREVER, window)
        if known:
            lives[node.pool_id].append(
                NodeLife(
                    id=node.pk,
                    name=node.name,
                    pool_id=node.pool_id,
                    gpus=node.gpus,
                    known=known,
                    maintenance=tuple(away[node.pk]),
                    outages=tuple(down[node.pk]),
                )
            )
    return lives


def _periods(
    rows: QuerySet[MaintenanceWindow] | QuerySet[NodeOutage], window: Period
) -> dict[int, list[Period]]:
    found: dict[int, list[Period]] = defaultdict(list)
    met = rows.filter(overlapping(window, "starts_at", "ends_at"))
    for node_id, starts_at, ends_at in met.values_list("node_id", "starts_at", "ends_at"):
        found[node_id].append(Period(starts_at, ends_at or FOREVER))
    return found


def get_bookable(pool_id: int, window: Period) -> list[Span]:
    """Capacity as bookings see it: known nodes less maintenance; one that is down counts."""
    return list_bookable([pool_id], window)[pool_id]


def list_bookable(pool_ids: Iterable[int], window: Period) -> dict[int, list[Span]]:
    """The same of several pools: two queries, since nodes that are down count as the others do."""
    wanted = list(pool_ids)
    lives = get_lives(wanted, window, with_outages=False)
    return {
        pool_id: [s for life in lives.get(pool_id, ()) for s in life.spans(without=PLANNED)]
        for pool_id in wanted
    }


def get_commitments(
    pools: Iterable[int] | None,
    window: Period,
    *,
    teams: Iterable[int] | None = None,
    kind: CommitmentKind | None = None,
) -> list[CommitmentRow]:
    """Promises that meet the window, in order of time."""
    rows = Commitment.objects.filter(overlapping(window, "starts_at", "ends_at"))
    if pools is not None:
        rows = rows.filter(pool_id__in=list(pools))
    if teams is not None:
        rows = rows.filter(team_id__in=list(teams))
    if kind is not None:
        rows = rows.filter(kind=kind)
    return [row_of(c) for c in rows.order_by("pool_id", "starts_at", "id")]


def row_of(commitment: Commitment) -> CommitmentRow:
    """A promise as a frozen answer."""
    return CommitmentRow(
        kind=CommitmentKind(commitment.kind),
        source_id=commitment.source_id,
        pool_id=commitment.pool_id,
        team_id=commitment.team_id,
        gpus=commitment.gpus,
        gpus_per_node=commitment.gpus_per_node,
        adds=commitment.adds,
        starts_at=commitment.starts_at,
        ends_at=commitment.ends_at,
    )
