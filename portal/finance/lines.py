"""Lines between rows and drafts: how they are ordered, written, read back and told apart."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from portal.finance.models import LineKind, Statement, StatementLine
from portal.finance.pricing import Draft
from portal.inventory.models import Pool

LineKey = tuple[int | None, str, int | None, str, int | None, datetime, datetime]
FIELDS = (
    "kind", "pool_id", "from_at", "to_at", "charged_to", "reservation_id", "gpu_milli_seconds",
    "rate_micro", "amount_micro", "tax_basis_points", "rate_card_id", "idle_rule", "adjusts",
    "pool_name", "gpu_model",
)  # fmt: skip
_KINDS: dict[str, int] = {kind: place for place, kind in enumerate(LineKind)}
_CHARGES = {"guaranteed": 0, "reserved": 1, "borrowed": 2}


def key_of(draft: Draft) -> LineKey:
    """What a line is for; an adjustment as the line it adjusts."""
    return (
        draft.team_id, draft.adjusts or draft.kind, draft.pool_id, draft.charged_to,
        draft.reservation_id, draft.from_at, draft.to_at,
    )  # fmt: skip


def comment_key(line: StatementLine) -> str:
    """What a line is for, as comments name it: it stays while an open month grows."""
    parts = (
        line.kind, line.adjusts, line.pool_id, line.charged_to, line.reservation_id,
        f"{line.from_at:%Y-%m-%dT%H:%M:%S}",
    )  # fmt: skip
    return "|".join("" if part is None else str(part) for part in parts)


def as_printed(line: StatementLine) -> Draft:
    """A line as the draft that would print it again."""
    return Draft(
        team_id=line.statement.team_id,
        kind=LineKind(line.kind),
        pool_id=line.pool_id or 0,
        from_at=line.from_at,
        to_at=line.to_at,
        charged_to=line.charged_to,
        reservation_id=line.reservation_id,
        gpu_milli_seconds=line.gpu_milli_seconds,
        rate_micro=line.rate_micro,
        amount_micro=line.amount_micro,
        tax_basis_points=line.tax_basis_points,
        rate_card_id=line.rate_card_id,
        idle_rule=line.idle_rule,
        adjusts=line.adjusts,
    )


def ordered(drafts: Iterable[Draft]) -> list[Draft]:
    """Lines by kind, time and pool, an adjustment as the kind it adjusts."""
    pools = {pk: place for place, pk in enumerate(Pool.objects.values_list("pk", flat=True))}
    return sorted(
        drafts,
        key=lambda d: (
            _KINDS[d.kind], d.from_at, pools[d.pool_id], _KINDS.get(d.adjusts, 0),
            _CHARGES.get(d.charged_to, 9), d.reservation_id or 0,
        ),
    )  # fmt: skip


def rows_of(drafts: Sequence[Draft]) -> list[tuple[object, ...]]:
    """Drafts as the values of their rows, with the pool's names of now."""
    pools = {
        pk: (name, model)
        for pk, name, model in Pool.objects.values_list("pk", "name", "gpu_model__name")
    }
    return [
        (*(getattr(draft, field) for field in FIELDS[:-2]), *pools[draft.pool_id])
        for draft in drafts
    ]


def rows_in(statement: Statement) -> list[tuple[object, ...]]:
    """The lines a statement has, as such values."""
    return list(statement.lines.order_by("id").values_list(*FIELDS))


def write(statement: Statement, drafts: Iterable[Draft]) -> None:
    """Write all lines of a statement that has none."""
    create(statement, rows_of(ordered(drafts)))


def create(statement: Statement, rows: Iterable[tuple[object, ...]]) -> None:
    """Write lines from the values of their rows."""
    StatementLine.objects.bulk_create(
        StatementLine(statement=statement, **dict(zip(FIELDS, row, strict=True))) for row in rows
    )
