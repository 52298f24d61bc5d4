"""Reads of quotas: who is promised what, at an instant and over time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q, QuerySet

from portal.common import pages
from portal.common.pages import once_a_page
from portal.inventory.calendar import FOREVER, Period, Span, steps
from portal.quotas.models import Quota


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One team's figures in one pool while they hold."""

    id: int
    team_id: int
    pool_id: int
    guaranteed: int
    limit: int | None
    borrowing_limit: int | None
    lending_limit: int | None
    weight: int | None
    per_user_limit: int | None
    valid_from: datetime
    valid_to: datetime | None
    request_id: int | None


def valid_at(at: datetime) -> Q:
    """Rows that hold at an instant."""
    return Q(valid_from__lte=at) & (Q(valid_to__isnull=True) | Q(valid_to__gt=at))


def valid_within(window: Period) -> Q:
    """Rows that hold at some time in the window."""
    still = Q(valid_to__isnull=True) | Q(valid_to__gt=window.from_at)
    return Q(valid_from__lt=window.to_at) & still


def get_quota(*, team_id: int, pool_id: int, at: datetime) -> QuotaRow | None:
    """The figures that hold at an instant, or None."""
    row = Quota.objects.filter(valid_at(at), team_id=team_id, pool_id=pool_id).first()
    return row_of(row) if row else None


def list_quotas(
    *, at: datetime, pool_id: int | None = None, team_ids: Iterable[int] | None = None
) -> list[QuotaRow]:
    """All figures that hold at an instant, by pool and team."""
    return [row_of(q) for q in _narrowed(Quota.objects.filter(valid_at(at)), pool_id, team_ids)]


def query_quotas(
    *, at: datetime, pool_id: int | None = None, team_ids: Iterable[int] | None = None
) -> QuerySet[Quota]:
    """Figures that hold at an instant, for a list that is paged by the database."""
    return _narrowed(Quota.objects.filter(valid_at(at)), pool_id, team_ids)


def list_changes(
    *, after: datetime, pool_id: int | None = None, team_ids: Iterable[int] | None = None
) -> list[QuotaRow]:
    """Figures agreed on that begin only after an instant, by pool, team and time."""
    rows = Quota.objects.filter(valid_from__gt=after)
    return [row_of(q) for q in _narrowed(rows, pool_id, team_ids)]


def list_history(*, team_id: int, pool_id: int) -> list[QuotaRow]:
    """Every figure the team had, has and will have in the pool, oldest first."""
    rows = Quota.objects.filter(team_id=team_id, pool_id=pool_id).order_by("valid_from")
    return [row_of(q) for q in rows]


def newest_ids(*, pool_id: int, team_ids: Iterable[int] | None = None) -> dict[int, int]:
    """Per team the id of its newest change in the pool: who has seen it has seen the latest."""
    rows = Quota.objects.filter(pool_id=pool_id)
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    pairs = rows.order_by().values_list("team_id").annotate(newest=Max("id"))
    return dict(pairs)


def guaranteed_steps(
    *, team_ids: Iterable[int], pool_id: int, from_at: datetime, to_at: datetime | None = None
) -> tuple[Span, ...]:
    """The sum of these teams' guarantees over the window, without a gap."""
    window = Period(from_at, to_at or FOREVER)
    rows = list_within(team_ids, pool_id, window)
    return steps((Span(r.valid_from, r.valid_to or FOREVER, r.guaranteed) for r in rows), window)


def list_within(team_ids: Iterable[int], pool_id: int, window: Period) -> list[QuotaRow]:
    """Figures of these teams that hold at some time in the window, by team and time."""
    if pages.being_read():
        wanted = frozenset(team_ids)
        return [row for row in _of_pool(pool_id, window) if row.team_id in wanted]
    rows = Quota.objects.filter(valid_within(window))
    return [row_of(q) for q in _narrowed(rows, pool_id, team_ids)]


@once_a_page
def _of_pool(pool_id: int, window: Period) -> tuple[QuotaRow, ...]:
    """What a page asks of several teams of a pool in turn."""
    rows = Quota.objects.filter(valid_within(window))
    return tuple(row_of(q) for q in _narrowed(rows, pool_id, None))


def list_all(window: Period, *, team_ids: Iterable[int] | None = None) -> list[QuotaRow]:
    """Figures of these teams, or of all, in all pools that hold at some time in the window."""
    rows = Quota.objects.filter(valid_within(window))
    return [row_of(q) for q in _narrowed(rows, None, team_ids)]


def _narrowed(
    rows: QuerySet[Quota], pool_id: int | None, team_ids: Iterable[int] | None
) -> QuerySet[Quota]:
    if pool_id is not None:
        rows = rows.filter(pool_id=pool_id)
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    return rows.order_by("pool_id", "team_id", "valid_from")


def row_of(quota: Quota) -> QuotaRow:
    """A quota as a frozen answer."""
    return QuotaRow(
        id=quota.pk, team_id=quota.team_id, pool_id=quota.pool_id, guaranteed=quota.guaranteed,
        limit=quota.limit, borrowing_limit=quota.borrowing_limit,
        lending_limit=quota.lending_limit, weight=quota.weight,
        per_user_limit=quota.per_user_limit, valid_from=quota.valid_from,
        valid_to=quota.valid_to, request_id=quota.request_id,
    )  # fmt: skip
