"""What statements of a month should say: its own lines, and what closed months got wrong.

A closed month is never altered. When its ledger or its nodes have changed since, it is worked out
again and every difference from what was billed is an adjustment in the month that follows the last
closed one. Nothing here writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import QuerySet, Sum

from portal.finance import billing, cards, lines, measuring
from portal.finance.lines import LineKey
from portal.finance.models import LineKind, Month, StatementLine, StatementState
from portal.finance.pricing import Draft
from portal.inventory.models import Pool

LATE_FOR = timedelta(days=400)
"""A month that ended longer before is settled for good."""


@dataclass(frozen=True, slots=True)
class Bill:
    """All lines of a month's statements, and how many ledger rows of which month are in them."""

    until: datetime
    currency: str
    drafts: list[Draft]
    ledger_rows: dict[int, int]


def draw_up(month: Month, *, until: datetime) -> Bill:
    """Work out a month up to an instant, with the adjustments that fall to it."""
    pool_ids = list(Pool.objects.values_list("pk", flat=True))
    # Counted before they are summed: a row that comes in between is found again, never lost.
    rows: dict[int, int] = {month.pk: count_rows(pool_ids, month)}
    drafts = billing.work_out(pool_ids, month.starts_at, until)
    for closed in _closed_before(month):
        rows[closed.pk] = count_rows(pool_ids, closed)
        if rows[closed.pk] != closed.ledger_rows or _nodes_changed(pool_ids, closed):
            drafts += _adjustments(pool_ids, closed)
    currency = cards.read(month.starts_at, month.ends_at).currency
    return Bill(until=until, currency=currency, drafts=drafts, ledger_rows=rows)


def count_rows(pool_ids: Sequence[int], month: Month) -> int:
    """How many ledger rows a month has now."""
    return measuring.ledger_of(pool_ids, month.starts_at, month.ends_at).count()


def lines_about(month: Month) -> QuerySet[StatementLine]:
    """Lines computed about a closed month: its own, and later closed ones that adjust it.

    Revisions are left out: what finance corrected by hand is no difference to be undone.
    """
    computed = StatementLine.objects.filter(statement__revision=0)
    return computed.exclude(statement__state=StatementState.OPEN).filter(
        from_at__gte=month.starts_at, to_at__lte=month.ends_at
    )


def _closed_before(month: Month) -> list[Month]:
    """Closed months whose adjustments fall to this one: all, if it follows the last of them."""
    closed = Month.objects.filter(state=StatementState.FINAL)
    last = closed.order_by("-ends_at").first()
    if last is None or last.ends_at != month.starts_at:
        return []
    return list(closed.filter(ends_at__gt=month.starts_at - LATE_FOR))


def _nodes_changed(pool_ids: Sequence[int], month: Month) -> bool:
    """Whether the pools had more or less capacity in a closed month than was billed."""
    billed = dict(
        lines_about(month).order_by().values_list("pool_id").annotate(Sum("gpu_milli_seconds"))
    )
    return any(
        measuring.capacity(pool_id=pool_id, from_at=month.starts_at, to_at=month.ends_at)
        != billed.get(pool_id, 0)
        for pool_id in pool_ids
    )


def _adjustments(pool_ids: Sequence[int], month: Month) -> list[Draft]:
    """What a closed month would say now, less what was billed for it so far, line by line."""
    billed: dict[LineKey, Draft] = {}
    for line in lines_about(month).select_related("statement"):
        draft = _as_draft(line)
        billed[lines.key_of(draft)] = _plus(billed.get(lines.key_of(draft)), draft, 1)
    change: dict[LineKey, Draft] = {key: _plus(None, draft, -1) for key, draft in billed.items()}
    for draft in billing.work_out(pool_ids, month.starts_at, month.ends_at):
        change[lines.key_of(draft)] = _plus(change.get(lines.key_of(draft)), draft, 1)
    return [
        replace(draft, kind=LineKind.ADJUSTMENT, adjusts=draft.kind.value)
        for draft in change.values()
        if draft.gpu_milli_seconds or draft.amount_micro
    ]


def _plus(before: Draft | None, draft: Draft, sign: int) -> Draft:
    """A line added to what stands under the same key, or taken away."""
    quantity, amount = (before.gpu_milli_seconds, before.amount_micro) if before else (0, 0)
    return replace(
        draft,
        gpu_milli_seconds=quantity + sign * draft.gpu_milli_seconds,
        amount_micro=amount + sign * draft.amount_micro,
    )


def _as_draft(line: StatementLine) -> Draft:
    """A billed line as the draft it came from; an adjustment as what it adjusts."""
    return replace(lines.as_printed(line), kind=LineKind(line.adjusts or line.kind), adjusts="")
