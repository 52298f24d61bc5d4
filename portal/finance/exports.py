"""A statement as rows: the header first, then its lines, then tax and total."""

from collections.abc import Iterator
from decimal import Decimal

from django.utils.translation import gettext as _

from portal.common import money
from portal.finance import words
from portal.finance.selectors import LineRow, StatementDetail

Row = tuple[object, ...]
_SIXTH = Decimal(1).scaleb(-6)

HEADER = (
    "month", "team", "kind", "adjusts", "charged_to", "reservation", "pool", "gpu_model", "from",
    "to", "gpu_hours", "gpu_milli_seconds", "rate_per_gpu_hour", "amount", "tax_percent",
    "currency",
)  # fmt: skip


_MONEY = frozenset({"rate_per_gpu_hour", "amount", "tax_percent", "currency"})


def for_programs(detail: StatementDetail, *, money_too: bool = True) -> Iterator[Row]:
    """One row a line, in words that never change and figures that are exact."""
    statement = detail.statement
    kept = [place for place, name in enumerate(HEADER) if money_too or name not in _MONEY]
    yield tuple(HEADER[place] for place in kept)
    for row in detail.lines:
        values = (
            statement.month, statement.team_path or statement.team_name, row.kind.value,
            row.adjusts.value if row.adjusts else "",
            row.charged_to.value if row.charged_to else "", row.reservation_id, row.pool_name,
            row.gpu_model, row.from_at, row.to_at, *_figures(row), statement.currency,
        )  # fmt: skip
        yield tuple(values[place] for place in kept)


def for_people(detail: StatementDetail, *, money_too: bool = True) -> Iterator[Row]:
    """The statement as its page shows it, in the reader's language."""
    statement = detail.statement
    width = None if money_too else 7
    header = (
        _("What for"), _("Reservation"), _("Pool"), _("GPU model"), _("From"), _("To"),
        _("GPU-hours"), _("Rate a GPU-hour"), _("Amount"), _("Currency"),
    )  # fmt: skip
    yield header[:width]
    for row in detail.lines:
        hours, _milli, rate, amount, _percent = _figures(row)
        values = (
            words.line(row), f"R-{row.reservation_id}" if row.reservation_id else "",
            row.pool_name, row.gpu_model, row.from_at, row.to_at, hours, rate, amount,
            statement.currency,
        )  # fmt: skip
        yield values[:width]
    if not money_too:
        return
    for word, micro in (
        (_("Without tax"), statement.total_micro),
        (_("Tax"), statement.tax_micro),
        (_("With tax"), statement.with_tax_micro),
    ):
        yield (word, *[""] * 7, money.from_micro(micro), statement.currency)


def _figures(row: LineRow) -> tuple[Decimal, int, Decimal, Decimal, Decimal]:
    return (
        row.gpu_hours.quantize(_SIXTH), row.gpu_milli_seconds, money.from_micro(row.rate_micro),
        money.from_micro(row.amount_micro), Decimal(row.tax_basis_points) / 100,
    )  # fmt: skip
