"""What a month will have cost at its end: spent, booked, and what the last days averaged.

So far comes from the open statements. Reservations from the pool that are booked for the rest of
the month are paid for whether they are used or not. All other use goes on as it did on average in
the last seven days; its range is that of the quietest and the busiest of those days.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, IntegerField, Sum, Value, When

from portal.common.clock import whole_seconds
from portal.finance import cards, months, pricing
from portal.finance.cards import Book
from portal.finance.models import LineKind, Statement, StatementLine, StatementState
from portal.reservations import selectors as reservations
from portal.reservations.models import Reservation, Source
from portal.usage.appending import hour_of
from portal.usage.models import HourlyUse

DAYS = 7
DAY = timedelta(days=1)
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Forecast:
    """A team's month in micro-units without tax; `low` and `high` hold for all of it."""

    team_id: int
    so_far_micro: int
    booked_micro: int
    expected_micro: int
    low_micro: int
    high_micro: int
    as_of: datetime

    @property
    def total_micro(self) -> int:
        """What the month is expected to come to."""
        return self.so_far_micro + self.booked_micro + self.expected_micro


def forecast(
    *, now: datetime, team_ids: Collection[int], spent: Mapping[int, int] | None = None
) -> dict[int, Forecast]:
    """The running month of these teams; `spent` is what they are billed, where that is known."""
    month = months.find(now)
    as_of = max(month.starts_at, min(month.computed_at or month.starts_at, month.ends_at))
    book = cards.read(as_of - DAYS * DAY, month.ends_at)
    if spent is None:
        spent = _spent(month.starts_at, month.ends_at, team_ids)
    booked = booked_micro(team_ids=team_ids, from_at=as_of, to_at=month.ends_at, book=book)
    daily = _daily(as_of, month.ends_at, team_ids, book)
    shared = _idle_shared(month.starts_at, as_of, month.ends_at, team_ids)
    seconds = whole_seconds(month.ends_at) - whole_seconds(as_of)
    found = {}
    for team_id in team_ids:
        days = daily.get(team_id, [0] * DAYS)
        rest = shared.get(team_id, 0)
        so_far, ahead = spent.get(team_id, 0), booked.get(team_id, 0)
        expected = sum(days) * seconds // (DAYS * DAY_SECONDS) + rest
        found[team_id] = Forecast(
            team_id=team_id,
            so_far_micro=so_far,
            booked_micro=ahead,
            expected_micro=expected,
            low_micro=so_far + ahead + min(days) * seconds // DAY_SECONDS + rest,
            high_micro=so_far + ahead + max(days) * seconds // DAY_SECONDS + rest,
            as_of=as_of,
        )
    return found


def booked_micro(
    *,
    team_ids: Collection[int],
    from_at: datetime,
    to_at: datetime,
    book: Book | None = None,
) -> dict[int, int]:
    """What reservations from the pool will cost in a period to come, all of it used."""
    if to_at <= from_at:
        return {}
    book = book or cards.read(from_at, to_at)
    rows = Reservation.objects.filter(
        team_id__in=list(team_ids), source=Source.POOL, state__in=reservations.TOOK_PLACE,
        starts_at__lt=to_at, ends_at__gt=from_at,
    )  # fmt: skip
    sums: dict[int, int] = {}
    for row in rows:
        first, last = max(row.starts_at, from_at), min(row.ends_at, to_at)
        for (stretch,) in cards.stretches([row.pool_id], first, last, book):
            seconds = whole_seconds(stretch.to_at) - whole_seconds(stretch.from_at)
            cost = pricing.amount(
                row.gpus * 1000 * seconds, stretch.price.for_use("reserved"), book.currency
            )
            sums[row.team_id] = sums.get(row.team_id, 0) + cost
    return sums


def _spent(from_at: datetime, to_at: datetime, team_ids: Collection[int]) -> dict[int, int]:
    rows = Statement.objects.filter(
        team_id__in=list(team_ids), period_starts_at__gte=from_at, period_starts_at__lt=to_at,
        superseded_at__isnull=True,
    )  # fmt: skip
    sums = rows.order_by().values_list("team_id").annotate(Sum("total_micro"))
    return {team_id: total for team_id, total in sums if team_id is not None}


def _daily(
    as_of: datetime, ends_at: datetime, team_ids: Collection[int], book: Book
) -> dict[int, list[int]]:
    """What each of the last seven days would cost at the prices to come, by team."""
    if ends_at <= as_of:
        return {}
    last = hour_of(as_of)
    found: dict[int, list[int]] = {}
    back = Case(
        *(When(hour__gte=last - (day + 1) * DAY, then=Value(day)) for day in range(DAYS)),
        output_field=IntegerField(),
    )
    sums = (
        HourlyUse.objects.order_by()
        .filter(team_id__in=list(team_ids), hour__gte=last - DAYS * DAY, hour__lt=last)
        .exclude(charged_to="reserved")
        .values_list("team_id", "pool_id", "charged_to", back)
        .annotate(held=Sum("gpu_milli_seconds"))
    )
    for team_id, pool_id, charged_to, day, held in sums:
        if team_id is None:
            continue
        rate = book.price(pool_id, as_of).for_use(charged_to)
        days = found.setdefault(team_id, [0] * DAYS)
        days[day] += held * rate // pricing.MILLI_SECONDS_PER_GPU_HOUR
    return found


def _idle_shared(
    starts_at: datetime, as_of: datetime, ends_at: datetime, team_ids: Collection[int]
) -> Mapping[int, int]:
    """Shared idle time so far, going on as it went."""
    gone = whole_seconds(as_of) - whole_seconds(starts_at)
    if gone <= 0:
        return {}
    sums = (
        StatementLine.objects.order_by()
        .filter(
            statement__team_id__in=list(team_ids), statement__period_starts_at=starts_at,
            statement__state=StatementState.OPEN, kind=LineKind.IDLE_SHARE,
        )
        .values_list("statement__team_id")
        .annotate(Sum("amount_micro"))
    )  # fmt: skip
    left = whole_seconds(ends_at) - whole_seconds(as_of)
    return {team_id: total * left // gone for team_id, total in sums if team_id is not None}
