"""What a completed job costs: all that was spent on jobs of its kind, by those that succeeded.

Everything a job held counts, over all its attempts and months. Prices are those at the beginning
of each hour; figures are not rounded to what a currency can pay, and bear no tax.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import Case, IntegerField, Sum, Value, When

from portal.finance import cards
from portal.finance.cards import Book
from portal.finance.pricing import MILLI_SECONDS_PER_GPU_HOUR
from portal.usage.cells import EPOCH
from portal.usage.models import HourlyUse
from portal.workloads.models import Kind, Workload, WorkloadState

AT_ONCE = 500
_ENDED = (WorkloadState.SUCCEEDED, WorkloadState.FAILED, WorkloadState.CANCELLED)


@dataclass(slots=True)
class JobCost:
    """Jobs of one team and class that ended in a period."""

    team_id: int | None
    kind: Kind
    completed: int = 0
    not_completed: int = 0
    gpu_milli_seconds: int = 0
    gpu_milli_seconds_lost: int = 0
    exact_micro: Decimal = field(default_factory=Decimal)

    @property
    def gpu_hours(self) -> Decimal:
        """All they held, in GPU-hours."""
        return Decimal(self.gpu_milli_seconds) / MILLI_SECONDS_PER_GPU_HOUR

    @property
    def amount_micro(self) -> int:
        """What all of them cost, to the micro-unit."""
        return int(self.exact_micro.to_integral_value())

    @property
    def each_micro(self) -> int | None:
        """What one that completed costs, with its share of those that did not."""
        return (
            int((self.exact_micro / self.completed).to_integral_value()) if self.completed else None
        )

    @property
    def each_hours(self) -> Decimal:
        """What one that completed took, in GPU-hours."""
        return Decimal(self.each_milli_seconds or 0) / MILLI_SECONDS_PER_GPU_HOUR

    @property
    def each_milli_seconds(self) -> int | None:
        """The same in GPU-time."""
        return self.gpu_milli_seconds // self.completed if self.completed else None


@dataclass(frozen=True, slots=True)
class JobCosts:
    """A period's jobs, the dearest first."""

    currency: str
    rows: tuple[JobCost, ...]


def list_job_costs(
    *, from_at: datetime, to_at: datetime, team_ids: Collection[int] | None = None
) -> JobCosts:
    """Cost per completed job, by team and class, of the jobs that ended in a half-open period."""
    jobs = Workload.objects.filter(state__in=_ENDED, ended_at__gte=from_at, ended_at__lt=to_at)
    if team_ids is not None:
        jobs = jobs.filter(team_id__in=list(team_ids))
    ended: dict[int, tuple[int | None, Kind, bool]] = {
        pk: (team_id, Kind(kind), state == WorkloadState.SUCCEEDED)
        for pk, team_id, kind, state in jobs.order_by().values_list(
            "pk", "team_id", "kind", "state"
        )
    }
    costs: dict[tuple[int | None, Kind], JobCost] = {}
    for team_id, kind, succeeded in ended.values():
        row = costs.setdefault((team_id, kind), JobCost(team_id, kind))
        row.completed += succeeded
        row.not_completed += not succeeded
    book = cards.read(EPOCH, to_at)
    _add_use(ended, costs, book, book.cuts(EPOCH, to_at))
    rows = sorted(costs.values(), key=lambda row: (-row.exact_micro, row.kind))
    return JobCosts(currency=book.currency, rows=tuple(rows))


def _add_use(
    ended: Mapping[int, tuple[int | None, Kind, bool]],
    costs: Mapping[tuple[int | None, Kind], JobCost],
    book: Book,
    cuts: Sequence[datetime],
) -> None:
    """Add what these jobs held while each card held."""
    pks = sorted(ended)
    since = dict(enumerate(cuts[:-1]))
    card = Case(
        *(When(hour__lt=until, then=Value(number)) for number, until in enumerate(cuts[1:])),
        output_field=IntegerField(),
    )
    for first in range(0, len(pks), AT_ONCE):
        use = HourlyUse.objects.order_by().filter(
            workload_id__in=pks[first : first + AT_ONCE], hour__gte=cuts[0], hour__lt=cuts[-1]
        )
        for pk, pool_id, charged_to, number, held in use.values_list(
            "workload_id", "pool_id", "charged_to", card
        ).annotate(held=Sum("gpu_milli_seconds")):
            team_id, kind, succeeded = ended[pk]
            row = costs[team_id, kind]
            row.gpu_milli_seconds += held
            row.gpu_milli_seconds_lost += 0 if succeeded else held
            rate = book.price(pool_id, since[number]).for_use(charged_to)
            row.exact_micro += Decimal(held * rate) / MILLI_SECONDS_PER_GPU_HOUR
