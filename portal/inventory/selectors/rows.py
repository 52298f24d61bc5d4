"""From rows to the spans and holds the calendar reckons with."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, QuerySet, Value

from portal.common import pages
from portal.common.pages import once_a_page
from portal.inventory import calendar
from portal.inventory.calendar import FOREVER, Condition, Hold, Period, Piece, Span
from portal.inventory.models import (
    Commitment,
    CommitmentKind,
    MaintenanceWindow,
    Node,
    NodeOutage,
    Pool,
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


@once_a_page
def get_pools() -> tuple[Pool, ...]:
    """Every pool with its cluster and model, in the order pools are listed in."""
    return tuple(query_pools())


def query_pools() -> QuerySet[Pool]:
    """The same, to be asked for with something beside it."""
    return Pool.objects.select_related("cluster", "gpu_model")


@once_a_page
def get_nodes(pools: frozenset[int], window: Period) -> list[Node]:
    """The nodes of these pools known at some time in the window, as far as time is concerned."""
    return list(
        query_nodes(pools, window).only(
            "id", "name", "pool_id", "gpus", "first_seen_at", "removed_at"
        )
    )


def get_whole_nodes(pools: frozenset[int], window: Period) -> list[Node]:
    """The same with all that is known of them, by pool and name."""
    found = list(query_nodes(pools, window).order_by("pool_id", "name", "id"))
    pages.known(get_nodes, found, pools, window)
    return found


def query_nodes(pools: frozenset[int], window: Period) -> QuerySet[Node]:
    """The nodes of these pools known at some time in the window."""
    known = overlapping(window, "first_seen_at", "removed_at")
    return Node.objects.filter(known, pool_id__in=pools)


def get_lives(
    pools: Iterable[int], window: Period, *, with_outages: bool = True
) -> dict[int, list[NodeLife]]:
    """Every node known at some time in the window, by pool: two queries.

    A page that has read a longer time of these pools cuts it from that.
    """
    wanted = frozenset(pools)
    shelf = pages.shelf("lives")
    for read, whole, outages, lives in shelf:
        if wanted <= read and _within(window, whole) and outages >= with_outages:
            return {
                pool_id: [
                    part
                    for life in lives.get(pool_id, ())
                    if (part := _part(life, window, with_outages=with_outages))
                ]
                for pool_id in wanted
            }
    found = _lives(wanted, window, with_outages=with_outages)
    shelf.append((wanted, window, with_outages, found))
    return found


def _within(window: Period, whole: Period) -> bool:
    return whole.from_at <= window.from_at and window.to_at <= whole.to_at


def _part(life: NodeLife, window: Period, *, with_outages: bool) -> NodeLife | None:
    """A node over a shorter time."""
    known = calendar.clip(life.known.from_at, life.known.to_at, window)
    if known is None:
        return None
    return replace(life, known=known, outages=life.outages if with_outages else ())


def _lives(
    pools: frozenset[int], window: Period, *, with_outages: bool
) -> dict[int, list[NodeLife]]:
    nodes = get_nodes(pools, window)
    away, down = _periods(pools, window, with_outages=with_outages)
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
    pools: frozenset[int], window: Period, *, with_outages: bool
) -> tuple[dict[int, list[Period]], dict[int, list[Period]]]:
    """When nodes are in maintenance, and when they are down: one query."""
    met = overlapping(window, "starts_at", "ends_at") & Q(node__pool_id__in=pools)
    columns = ("node_id", "starts_at", "ends_at", "down")
    planned = MaintenanceWindow.objects.filter(met, cancelled_at__isnull=True).order_by()
    found = planned.annotate(down=Value(0)).values_list(*columns)
    if with_outages:
        outages = NodeOutage.objects.filter(met).order_by().annotate(down=Value(1))
        found = found.union(outages.values_list(*columns), all=True)
    periods: tuple[dict[int, list[Period]], ...] = (defaultdict(list), defaultdict(list))
    for node_id, starts_at, ends_at, down in found:
        periods[down][node_id].append(Period(starts_at, ends_at or FOREVER))
    return periods[0], periods[1]


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
    """Promises that meet the window, in order of time.

    A page that has read a longer time of these pools picks them from that.
    """
    wanted = None if pools is None else frozenset(pools)
    whose = None if teams is None else frozenset(teams)
    shelf = pages.shelf("commitments")
    for read, whole, found in shelf:
        if (read is None or (wanted is not None and wanted <= read)) and _within(window, whole):
            return [
                row
                for row in found
                if (wanted is None or row.pool_id in wanted)
                and (whose is None or row.team_id in whose)
                and kind in (None, row.kind)
                and row.starts_at < window.to_at
                and row.hold.to_at > window.from_at
            ]
    rows = _commitments(wanted, window, whose, kind)
    if whose is None and kind is None:
        shelf.append((wanted, window, rows))
    return rows


def _commitments(
    pools: frozenset[int] | None,
    window: Period,
    teams: frozenset[int] | None,
    kind: CommitmentKind | None,
) -> list[CommitmentRow]:
    rows = Commitment.objects.filter(overlapping(window, "starts_at", "ends_at"))
    if pools is not None:
        rows = rows.filter(pool_id__in=pools)
    if teams is not None:
        rows = rows.filter(team_id__in=teams)
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
