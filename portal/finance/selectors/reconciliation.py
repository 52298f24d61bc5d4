"""Whether a month adds up: what its statements say against what the pools had and cost.

The two sides are counted apart. One is the sum of the lines as they stand in the statements; the
other is capacity times time from the nodes alone, and its cost from the rate cards.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, Sum

from portal.finance import cards, measuring, months, pricing
from portal.finance.cards import Book
from portal.finance.models import LineKind, StatementLine, StatementState
from portal.finance.reckoning import Reckoning
from portal.inventory import selectors as inventory


@dataclass(frozen=True, slots=True)
class PoolReconciliation:
    """One pool's month; quantities in milli-GPU-seconds, amounts in micro-units.

    `capacity` and `cost_micro` come from nodes and rate cards; `quantities` and `amounts` are the
    lines by kind, adjustments added to the kind they adjust.
    """

    pool_id: int
    pool_name: str
    capacity: int
    cost_micro: int
    has_rate: bool
    quantities: dict[LineKind, int] = field(default_factory=dict)
    amounts: dict[LineKind, int] = field(default_factory=dict)

    @property
    def accounted(self) -> int:
        """All lines added up, in milli-GPU-seconds."""
        return sum(self.quantities.values())

    @property
    def billed_micro(self) -> int:
        """All lines added up, in money."""
        return sum(self.amounts.values())

    @property
    def beyond(self) -> int:
        """Use no known node accounts for."""
        return -self.quantities.get(LineKind.BEYOND, 0)

    @property
    def adds_up(self) -> bool:
        """Whether both sides are the same and nothing had to be explained away."""
        same = self.accounted == self.capacity and self.billed_micro == self.cost_micro
        return same and self.beyond == 0


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """A month's equation over all pools.

    `statements_micro` is the sum of the statements' totals, `adjustments_micro` what of it makes
    good earlier months: without it, statements and pools' cost are the same.
    """

    month: str
    state: StatementState
    from_at: datetime
    as_of: datetime
    currency: str
    pools: tuple[PoolReconciliation, ...]
    statements_micro: int
    adjustments_micro: int
    later_micro: int

    def quantity(self, *kinds: LineKind) -> int:
        """Lines of these kinds over all pools, in milli-GPU-seconds."""
        return sum(pool.quantities.get(kind, 0) for pool in self.pools for kind in kinds)

    def amount(self, *kinds: LineKind) -> int:
        """Lines of these kinds over all pools, in money."""
        return sum(pool.amounts.get(kind, 0) for pool in self.pools for kind in kinds)

    @property
    def capacity(self) -> int:
        """Capacity times time of all pools."""
        return sum(pool.capacity for pool in self.pools)

    @property
    def accounted(self) -> int:
        """All lines added up, in milli-GPU-seconds."""
        return sum(pool.accounted for pool in self.pools)

    @property
    def cost_micro(self) -> int:
        """What all pools cost."""
        return sum(pool.cost_micro for pool in self.pools)

    @property
    def billed_micro(self) -> int:
        """All lines about this month added up, in money."""
        return sum(pool.billed_micro for pool in self.pools)

    @property
    def beyond(self) -> int:
        """Use no known node accounts for."""
        return sum(pool.beyond for pool in self.pools)

    @property
    def adds_up(self) -> bool:
        """Whether every pool adds up, and the statements add up to the pools."""
        own = self.statements_micro - self.adjustments_micro + self.later_micro
        return all(pool.adds_up for pool in self.pools) and own == self.billed_micro


def get_reconciliation(*, instant: datetime) -> Reconciliation | None:
    """The equation of a month by any instant in it; None before it was first computed."""
    month = months.find(instant)
    if month._state.adding or month.computed_at is None:
        return None
    until = month.ends_at if month.state == StatementState.FINAL else month.computed_at
    lines = StatementLine.objects.order_by().filter(statement__superseded_at__isnull=True)
    adjusts, own = Q(kind=LineKind.ADJUSTMENT), Q(statement__month=month)
    later = adjusts & Q(from_at__gte=month.starts_at, to_at__lte=month.ends_at)
    about = (own & ~adjusts) | later
    found = lines.filter(own | later).values_list("pool_id", "kind", "adjusts")
    sums = [
        _Sums(*row)
        for row in found.annotate(
            quantity=Sum("gpu_milli_seconds", filter=about),
            amount=Sum("amount_micro", filter=about),
            own=Sum("amount_micro", filter=own & adjusts, default=0),
            later=Sum("amount_micro", filter=later, default=0),
        )
    ]
    return Reconciliation(
        month=month.name,
        state=StatementState(month.state),
        from_at=month.starts_at,
        as_of=month.computed_at,
        currency=cards.read(month.starts_at, month.ends_at).currency,
        pools=tuple(_pools(month.starts_at, until, sums)),
        statements_micro=months.billed_micro(month),
        adjustments_micro=sum(row.own for row in sums),
        later_micro=sum(row.later for row in sums),
    )


def reconcile(*, pool_id: int, from_at: datetime, to_at: datetime) -> Reckoning:
    """Where a pool's GPU-time went in any period, from ledger and calendar as they are now."""
    return measuring.measure(pool_ids=[pool_id], from_at=from_at, to_at=to_at)[pool_id].reckoning


class _Sums(NamedTuple):
    """Lines of a month by pool and kind, and which part of them are adjustments."""

    pool_id: int | None
    kind: str
    adjusts: str
    quantity: int | None
    amount: int | None
    own: int
    later: int


def _pools(from_at: datetime, to_at: datetime, sums: Iterable[_Sums]) -> list[PoolReconciliation]:
    """Both sides of every pool that had capacity or has a line, cheapest first."""
    names = inventory.pool_names()
    book = cards.read(from_at, to_at)
    inventory.read_ahead(from_at=from_at, to_at=to_at, promises=False)
    had = {pool_id: _capacity_and_cost(pool_id, from_at, to_at, book) for pool_id in names}
    pools = {
        pool_id: PoolReconciliation(pool_id, names[pool_id], *figures)
        for pool_id, figures in had.items()
    }
    for row in sums:
        if row.quantity is not None:
            pool, kind = pools[row.pool_id or 0], LineKind(row.adjusts or row.kind)
            pool.quantities[kind] = pool.quantities.get(kind, 0) + row.quantity
            pool.amounts[kind] = pool.amounts.get(kind, 0) + (row.amount or 0)
    return [pool for pool in pools.values() if pool.capacity or pool.quantities]


def _capacity_and_cost(
    pool_id: int, from_at: datetime, to_at: datetime, book: Book
) -> tuple[int, int, bool]:
    """What a pool had and cost, and whether it had a rate whenever it had nodes."""
    capacity = cost = 0
    has_rate = True
    for (stretch,) in cards.stretches([pool_id], from_at, to_at, book):
        part = measuring.capacity(pool_id=pool_id, from_at=stretch.from_at, to_at=stretch.to_at)
        capacity += part
        cost += pricing.amount(part, stretch.price.gpu_hour_micro, stretch.price.currency)
        has_rate = has_rate and (stretch.price.card_id is not None or part == 0)
    return capacity, cost, has_rate
