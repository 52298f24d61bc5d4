"""Months, statements and their lines, as far as the asker may see them."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Sum

from portal.common import pages
from portal.common.errors import Missing
from portal.common.pages import once_a_page
from portal.finance import lines, months
from portal.finance.models import (
    IdleRule,
    LineComment,
    LineKind,
    Month,
    Statement,
    StatementLine,
    StatementState,
)
from portal.finance.pricing import MILLI_SECONDS_PER_GPU_HOUR
from portal.finance.selectors import presentation
from portal.reservations.models import Reservation
from portal.teams.models import User
from portal.teams.permissions import COST
from portal.teams.selectors import Access
from portal.workloads.models import ChargedTo


def gpu_hours(gpu_milli_seconds: int) -> Decimal:
    """Milli-GPU-seconds as GPU-hours."""
    return Decimal(gpu_milli_seconds) / MILLI_SECONDS_PER_GPU_HOUR


@dataclass(frozen=True, slots=True)
class MonthRow:
    """A month and how far its books are."""

    id: int | None
    name: str
    starts_at: datetime
    ends_at: datetime
    zone: str
    state: StatementState
    computed_at: datetime | None
    closed_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Whether its statements can still change."""
        return self.state is StatementState.OPEN

    def is_over(self, now: datetime) -> bool:
        """Whether it has ended, so that it may be closed."""
        return self.ends_at <= now


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A statement and its sums; quantities in milli-GPU-seconds, amounts in micro-units.

    `team_id` None is the organisation's own part. `quantities` and `amounts` are by kind of line,
    `use` splits the quantity of use by what it was charged to.
    """

    id: int
    month: str
    month_state: StatementState
    team_id: int | None
    team_name: str
    team_path: str
    period_starts_at: datetime
    period_ends_at: datetime
    zone: str
    revision: int
    version: int
    state: StatementState
    currency: str
    total_micro: int
    tax_micro: int
    computed_at: datetime
    closed_at: datetime | None
    paid_at: datetime | None
    superseded_at: datetime | None
    reason: str
    quantities: dict[LineKind, int] = field(default_factory=dict)
    amounts: dict[LineKind, int] = field(default_factory=dict)
    use: dict[ChargedTo, int] = field(default_factory=dict)

    @property
    def guaranteed(self) -> int:
        """Use charged to the guarantee."""
        return self.use.get(ChargedTo.GUARANTEED, 0)

    @property
    def reserved(self) -> int:
        """Use charged to reservations from the pool."""
        return self.use.get(ChargedTo.RESERVED, 0)

    @property
    def borrowed(self) -> int:
        """Use that was borrowed."""
        return self.use.get(ChargedTo.BORROWED, 0)

    @property
    def held(self) -> int:
        """All use and what was reserved and not used."""
        return sum(self.use.values()) + self.reserved_unused

    @property
    def reserved_unused(self) -> int:
        """What was reserved from the pool and used by nobody."""
        return self.quantities.get(LineKind.RESERVED_UNUSED, 0)

    @property
    def with_tax_micro(self) -> int:
        """What is to be paid."""
        return self.total_micro + self.tax_micro


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line; an adjustment says in `adjusts` what kind of line, and in its period when.

    `request_id` is what the reservation was asked for by.
    """

    id: int
    kind: LineKind
    adjusts: LineKind | None
    pool_id: int | None
    pool_name: str
    gpu_model: str
    charged_to: ChargedTo | None
    reservation_id: int | None
    request_id: int | None
    from_at: datetime
    to_at: datetime
    gpu_milli_seconds: int
    rate_micro: int
    amount_micro: int
    tax_basis_points: int
    rate_card_id: int | None
    idle_rule: IdleRule | None
    comment_key: str = ""

    @property
    def gpu_hours(self) -> Decimal:
        """The quantity in GPU-hours."""
        return gpu_hours(self.gpu_milli_seconds)


@dataclass(frozen=True, slots=True)
class CommentRow:
    """What somebody said about a statement or one of its lines."""

    id: int
    line_key: str
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StatementDetail:
    """A statement with its lines, what was said about it, and its other revisions by number."""

    statement: StatementRow
    lines: tuple[LineRow, ...]
    comments: tuple[CommentRow, ...] = ()
    revisions: tuple[tuple[int, int], ...] = ()

    def said_of(self, line: LineRow | None) -> list[CommentRow]:
        """Comments on a line; None is the whole statement."""
        key = "" if line is None else line.comment_key
        return [comment for comment in self.comments if comment.line_key == key]


def list_months() -> list[MonthRow]:
    """Every month that has statements, newest first."""
    return [_month_row(month) for month in months.list_all()]


def get_month(*, instant: datetime) -> MonthRow:
    """The month of an instant, also one without statements yet."""
    return _month_row(months.find(instant))


def list_statements(
    access: Access,
    *,
    month_id: int | None = None,
    team_id: int | None = None,
    revisions: bool = False,
) -> list[StatementRow]:
    """Statements the asker may see, newest month first, then by path, the organisation's last.

    Those a later revision took the place of only if `revisions` are asked for.
    """
    rows = _statement_rows(find(access, month_id=month_id, team_id=team_id, revisions=revisions))
    rows.sort(key=lambda r: (r.team_id is None, r.team_path, -r.revision))
    return sorted(rows, key=lambda r: r.period_starts_at, reverse=True)


class PagedStatements:
    """The same, of which only the page that is asked for is read."""

    def __init__(self, access: Access, **narrowed: Any) -> None:
        organisation_last = ExpressionWrapper(Q(team__isnull=True), BooleanField())
        self._found = find(access, **narrowed).order_by(
            "-period_starts_at", organisation_last, "team_path", "-revision", "id"
        )

    def __len__(self) -> int:
        return self._found.count()

    def __getitem__(self, part: slice) -> list[StatementRow]:
        return _statement_rows(self._found[part])


def find(
    access: Access, *, month_id: int | None, team_id: int | None, revisions: bool
) -> QuerySet[Statement]:
    """Statements the asker may see, narrowed."""
    found = query_statements()
    if not revisions:
        found = found.filter(superseded_at__isnull=True)
    reached = access.teams(COST)
    if reached is not None:
        found = found.filter(team_id__in=reached)
    if month_id is not None:
        found = found.filter(month_id=month_id)
    if team_id is not None:
        found = found.filter(team_id=team_id)
    return found


def query_statements() -> QuerySet[Statement]:
    """Statements with their month, and whether money is shown at all."""
    return Statement.objects.select_related("month").annotate(shown=presentation.alongside())


def get_statement(*, statement_id: int) -> StatementDetail:
    """One statement with its lines; whether the asker may see it is the door's rule.

    Raises `Missing`.
    """
    statement = find_statement(statement_id)
    if statement is None:
        raise Missing
    tell_shown(statement)
    pages.known(months.find, statement.month, statement.period_starts_at)
    found = list(StatementLine.objects.filter(statement_id=statement_id))
    row = _statement_row(statement)
    for line in found:
        _add_up(row, line.kind, line.charged_to, line.gpu_milli_seconds, line.amount_micro)
    named = {line.reservation_id for line in found if line.reservation_id is not None}
    asked = dict(Reservation.objects.filter(pk__in=named).values_list("pk", "request_id"))
    return StatementDetail(
        statement=row,
        lines=tuple(_line_row(line, asked.get(line.reservation_id or 0)) for line in found),
        comments=tuple(_comments(statement)),
        revisions=tuple(_revisions(statement)),
    )


@once_a_page
def find_statement(statement_id: int) -> Statement | None:
    """One statement, whoever asks; doors ask whose it is first, and work alike if there is none."""
    return query_statements().filter(pk=statement_id).first()


def _comments(statement: Statement) -> list[CommentRow]:
    found = LineComment.objects.filter(Q(team_id=statement.team_id), month_id=statement.month_id)
    said = list(found)
    people = {u.pk: str(u) for u in User.objects.filter(pk__in={c.author_id for c in said})}
    return [
        CommentRow(c.pk, c.line_key, c.text, people.get(c.author_id or 0, ""), c.at) for c in said
    ]


def _revisions(statement: Statement) -> list[tuple[int, int]]:
    """Number and id of every revision, this one too, if there are several."""
    every = list(Statement.objects.filter(month_id=statement.month_id).order_by("revision", "pk"))
    months.tell_billed(statement.month, every)
    rows = [(one.revision, one.pk) for one in every if one.team_id == statement.team_id]
    return rows if len(rows) > 1 else []


def tell_shown(statement: Statement) -> None:
    """Whether money is shown came along with a statement: no part of the page asks again."""
    shown: bool | None = getattr(statement, "shown", None)
    pages.known(presentation.shows_money, shown is not False)


def _month_row(month: Month) -> MonthRow:
    return MonthRow(
        id=None if month._state.adding else month.pk,
        name=month.name,
        starts_at=month.starts_at,
        ends_at=month.ends_at,
        zone=month.zone,
        state=StatementState(month.state),
        computed_at=month.computed_at,
        closed_at=month.closed_at,
    )


def _statement_rows(found: QuerySet[Statement]) -> list[StatementRow]:
    """Statements with their sums: two queries."""
    statements = list(found)
    if statements:
        tell_shown(statements[0])
    rows = {statement.pk: _statement_row(statement) for statement in statements}
    sums = (
        StatementLine.objects.filter(statement_id__in=list(rows))
        .order_by()
        .values_list("statement_id", "kind", "charged_to")
        .annotate(quantity=Sum("gpu_milli_seconds"), amount=Sum("amount_micro"))
    )
    for statement_id, kind_value, charged_to, quantity, amount in sums:
        _add_up(rows[statement_id], kind_value, charged_to, quantity, amount)
    return [rows[statement.pk] for statement in statements]


def _add_up(row: StatementRow, kind_of: str, charged_to: str, quantity: int, amount: int) -> None:
    kind = LineKind(kind_of)
    row.quantities[kind] = row.quantities.get(kind, 0) + quantity
    row.amounts[kind] = row.amounts.get(kind, 0) + amount
    if kind is LineKind.USE:
        charge = ChargedTo(charged_to)
        row.use[charge] = row.use.get(charge, 0) + quantity


def _statement_row(statement: Statement) -> StatementRow:
    return StatementRow(
        id=statement.pk,
        month=statement.month.name,
        month_state=StatementState(statement.month.state),
        team_id=statement.team_id,
        team_name=statement.team_name,
        team_path=statement.team_path,
        period_starts_at=statement.period_starts_at,
        period_ends_at=statement.period_ends_at,
        zone=statement.zone,
        revision=statement.revision,
        version=statement.version,
        state=StatementState(statement.state),
        currency=statement.currency,
        total_micro=statement.total_micro,
        tax_micro=statement.tax_micro,
        computed_at=statement.computed_at,
        closed_at=statement.closed_at,
        paid_at=statement.paid_at,
        superseded_at=statement.superseded_at,
        reason=statement.reason,
    )


def _line_row(line: StatementLine, request_id: int | None) -> LineRow:
    return LineRow(
        id=line.pk,
        kind=LineKind(line.kind),
        adjusts=LineKind(line.adjusts) if line.adjusts else None,
        pool_id=line.pool_id,
        pool_name=line.pool_name,
        gpu_model=line.gpu_model,
        charged_to=ChargedTo(line.charged_to) if line.charged_to else None,
        reservation_id=line.reservation_id,
        request_id=request_id,
        from_at=line.from_at,
        to_at=line.to_at,
        gpu_milli_seconds=line.gpu_milli_seconds,
        rate_micro=line.rate_micro,
        amount_micro=line.amount_micro,
        tax_basis_points=line.tax_basis_points,
        rate_card_id=line.rate_card_id,
        idle_rule=IdleRule(line.idle_rule) if line.idle_rule else None,
        comment_key=lines.comment_key(line),
    )
