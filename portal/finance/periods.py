"""The periods of budgets: a month, a quarter or a year of billing months."""

from dataclasses import dataclass
from datetime import UTC, datetime

from portal.finance import months
from portal.finance.models import BudgetPeriod, Month

_MONTHS = {BudgetPeriod.MONTH: 1, BudgetPeriod.QUARTER: 3, BudgetPeriod.YEAR: 12}


@dataclass(frozen=True, slots=True)
class PeriodOf:
    """One period: `2026-11`, `2026-Q4` or `2026`, half-open."""

    name: str
    starts_at: datetime
    ends_at: datetime


def period_of(period: BudgetPeriod, instant: datetime) -> PeriodOf:
    """The period of this kind an instant lies in, cut where billing months are."""
    name = months.find(instant).name
    year, month = int(name[:4]), int(name[5:])
    length = _MONTHS[period]
    first = (month - 1) // length * length + 1
    names = {
        BudgetPeriod.MONTH: name,
        BudgetPeriod.QUARTER: f"{year}-Q{(month - 1) // 3 + 1}",
        BudgetPeriod.YEAR: str(year),
    }
    return PeriodOf(
        name=names[period],
        starts_at=_month(year, first).starts_at,
        ends_at=_month(year, first + length - 1).ends_at,
    )


def _month(year: int, month: int) -> Month:
    return months.find(datetime(year, month, 15, tzinfo=UTC))
