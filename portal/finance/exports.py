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


def for_programs(detail: StatementDetail) -> Iterator[Row]:
    """One row a line, in words that never change and figures that are exact."""
    statement = detail.statement
    yield HEADER
    for row in detail.lines:
        yield (
            statement.month, statement.team_path or statement.team_name, row.kind.value,
            row.adjusts.value if row.adjusts else "",
            row.charged_to.value if row.charged_to else "", row.reservation_id, row.pool_name,
            row.gpu_model, row.from_at, row.to_at, *_figures(row), statement.currency,
        )  # fmt: skip


def for_people(detail: StatementDetail) -> Iterator[Row]:
    """The statement as its page shows it, in the reader's language."""
    statement = detail.statement
    yield (
        _("What for"), _("Reservation"), _("Pool"), _("GPU model"), _("From"), _("To"),
        _("GPU-hours"), _("Rate a GPU-hour"), _("Amount"), _("Currency"),
    )  # fmt: skip
    for row in detail.lines:
        hours, _milli, rate, amount, _percent = _figures(row)
        yield (
            words.line(row), f"R-{row.reservation_id}" if row.reservation_id else "",
            row.pool_name, row.gpu_model, row.from_at, row.to_at, hours, rate, amount,
            statement.currency,
        )  # fmt: skip
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
