"""A month's statements: computed while open, frozen when closed, then paid."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.finance import adjusting, billing, lines, months, pricing
from portal.finance.adjusting import Bill
from portal.finance.models import (
    Month,
    RateCard,
    Statement,
    StatementState,
)
from portal.finance.pricing import Draft
from portal.inventory.models import Pool
from portal.teams import selectors as teams
from portal.usage.models import LedgerEntry


def compute_month(*, month_start: datetime, now: datetime) -> Month:
    """Work out a month's open statements anew, up to what the ledger can know now.

    `month_start` is any instant of the month. A closed month stays as it is; a repeat without
    news changes no row. The long reading happens before the lock is taken. Raises `Invalid` for a
    month that has not begun.
    """
    month = _opened(month_start, now)
    if month.state != StatementState.OPEN:
        return month
    bill = adjusting.draw_up(month, until=billing.as_of(month, now))
    with transaction.atomic():
        month = Month.objects.select_for_update(no_key=True).get(pk=month.pk)
        newer = month.computed_at is not None and month.computed_at > bill.until
        if month.state == StatementState.OPEN and not newer:
            _write(month, bill)
    return month


def compute_open(*, now: datetime) -> None:
    """Work out every month that is not closed: from the last closed one, or the first use, on.

    One whose ledger has neither grown nor reached another grid line since is left as it is, for
    reading ten million rows takes a quarter of a minute; new prices show from the next line on.
    """
    closed = Month.objects.filter(state=StatementState.FINAL).first()
    first = LedgerEntry.objects.order_by("id").first()
    known = closed.ends_at if closed else first.from_at if first else now
    instant = min(known, now)
    while instant <= now:
        month = months.find(instant)
        if month.computed_at != billing.as_of(month, now) or _has_news(month):
            month = compute_month(month_start=instant, now=now)
        instant = month.ends_at


def _has_news(month: Month) -> bool:
    """Whether the ledger of a month has grown since it was worked out."""
    pool_ids = list(Pool.objects.values_list("pk", flat=True))
    return adjusting.count_rows(pool_ids, month) != month.ledger_rows


@transaction.atomic
def close_month(*, month_start: datetime, actor_id: int | None, now: datetime) -> Month:
    """Work out a month a last time and make its statements final; a closed one stays as it is.

    Raises `Conflict` while the month runs, while an earlier month is open, and while a cluster's
    last use of it has not been read.
    """
    month = Month.objects.select_for_update(no_key=True).get(pk=_opened(month_start, now).pk)
    if month.state != StatementState.OPEN:
        return month
    _check_closable(month, now)
    list(RateCard.objects.select_for_update(no_key=True).filter(valid_to__isnull=True))
    bill = adjusting.draw_up(month, until=month.ends_at)
    _write(month, bill)
    closed = month.statements.filter(state=StatementState.OPEN)
    closed.update(state=StatementState.FINAL, closed_at=now, version=F("version") + 1)
    for month_id, rows in bill.ledger_rows.items():
        Month.objects.filter(pk=month_id).update(ledger_rows=rows)
    Month.objects.filter(pk=month.pk).update(
        state=StatementState.FINAL, closed_at=now, closed_by_id=actor_id
    )
    month.refresh_from_db()
    audit.record(
        actor_id=actor_id, action="finance.month_closed", target_type="month", target_id=month.pk,
        data={
            "month": month.name, "currency": bill.currency,
            "total_micro": sum(draft.amount_micro for draft in bill.drafts),
            "statements": month.statements.count(),
        },
    )  # fmt: skip
    return month


@transaction.atomic
def mark_paid(*, statement_id: int, actor_id: int | None, now: datetime) -> Statement:
    """Note that a final statement has been paid; one that is paid stays as it is.

    Raises `Missing`, and `Conflict` for one that is still open.
    """
    statement = Statement.objects.select_for_update(no_key=True).filter(pk=statement_id).first()
    if statement is None:
        raise Missing
    if statement.superseded_at is not None:
        raise Conflict(_("A later revision took its place: that one is to be paid."))
    if statement.state == StatementState.PAID:
        return statement
    if statement.state != StatementState.FINAL:
        raise Conflict(_("Close the month first: this statement can still change."))
    statement.state = StatementState.PAID
    statement.paid_at = now
    statement.version += 1
    statement.save(update_fields=["state", "paid_at", "version"])
    audit.record(
        actor_id=actor_id, action="finance.statement_paid", target_type="statement",
        target_id=statement.pk, team_id=statement.team_id,
        data={"total_micro": statement.total_micro, "tax_micro": statement.tax_micro},
    )  # fmt: skip
    return statement


def _opened(instant: datetime, now: datetime) -> Month:
    """The row of the month that holds this instant, made if need be."""
    with transaction.atomic():
        month = months.find(instant)
        if month.starts_at > now:
            raise Invalid(_("%(month)s has not begun.") % {"month": month.name}, code="not_begun")
        if month._state.adding:
            month, _made = Month.objects.get_or_create(
                name=month.name,
                defaults={
                    "starts_at": month.starts_at, "ends_at": month.ends_at, "zone": month.zone,
                },
            )  # fmt: skip
        return month


def _check_closable(month: Month, now: datetime) -> None:
    if now < month.ends_at:
        raise Conflict(
            _("%(month)s is not over.") % {"month": month.name},
            code="not_over",
            details={"ends_at": month.ends_at.isoformat()},
        )
    earlier = Month.objects.filter(state=StatementState.OPEN, starts_at__lt=month.starts_at).last()
    if earlier is not None:
        raise Conflict(
            _("Close %(month)s first.") % {"month": earlier.name},
            code="earlier_month_open",
            details={"month": earlier.name},
        )
    behind = billing.clusters_behind(month, now)
    if behind:
        raise Conflict(
            _("The use of %(clusters)s has not been read up to the end of the month yet.")
            % {"clusters": ", ".join(behind)},
            code="use_not_read",
            details={"clusters": behind},
        )


def _write(month: Month, bill: Bill) -> None:
    """Bring the open statements of a month to what they should say; touch only what differs."""
    by_team: dict[int | None, list[Draft]] = {}
    for draft in lines.ordered(bill.drafts):
        by_team.setdefault(draft.team_id, []).append(draft)
    names = _names(month, bill, by_team)
    statements = {s.team_id: s for s in month.statements.filter(state=StatementState.OPEN)}
    for team_id in [i for i in names if i not in statements]:
        statements[team_id] = Statement.objects.create(
            month=month, team_id=team_id, period_starts_at=month.starts_at,
            period_ends_at=month.ends_at, zone=month.zone, currency=bill.currency,
            computed_at=bill.until, version=0,
        )  # fmt: skip
    for team_id, statement in statements.items():
        _write_one(statement, names.get(team_id), by_team.get(team_id, []), bill)
    if month.computed_at != bill.until or month.ledger_rows != bill.ledger_rows[month.pk]:
        month.computed_at, month.ledger_rows = bill.until, bill.ledger_rows[month.pk]
        month.save(update_fields=["computed_at", "ledger_rows"])


def _names(
    month: Month, bill: Bill, by_team: Mapping[int | None, Sequence[Draft]]
) -> dict[int | None, tuple[str, str]]:
    """Name and path of everyone who gets a statement: all teams of the tree, whoever has lines."""
    tree = teams.get_tree(now=min(bill.until, month.ends_at - timedelta(seconds=1)))
    every = teams.team_names()
    names: dict[int | None, tuple[str, str]] = {None: (teams.get_organisation().name, "")}
    for row in tree.rows:
        names[row.id] = (row.name, tree.path_name(row.id))
    for team_id in by_team:
        if team_id is not None and team_id not in names:
            names[team_id] = (every[team_id], every[team_id])
    return names


def _write_one(
    statement: Statement, name: tuple[str, str] | None, drafts: Sequence[Draft], bill: Bill
) -> None:
    wanted = lines.rows_of(drafts)
    if wanted != lines.rows_in(statement):
        statement.lines.all().delete()
        lines.create(statement, wanted)
    taxed = [(d.amount_micro, d.tax_basis_points) for d in drafts]
    values = {
        "team_name": name[0] if name else statement.team_name,
        "team_path": name[1] if name else statement.team_path,
        "currency": bill.currency,
        "total_micro": sum(d.amount_micro for d in drafts),
        "tax_micro": pricing.tax(taxed, bill.currency),
        "computed_at": bill.until,
    }
    if statement.version == 0 or any(getattr(statement, k) != v for k, v in values.items()):
        Statement.objects.filter(pk=statement.pk).update(version=F("version") + 1, **values)
