"""Where months begin and end: zones, daylight saving, leap years, and a zone that is changed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from portal.common.errors import Invalid
from portal.finance import adjusting, months, selectors, services
from portal.finance.models import Month, Statement
from portal.inventory.models import Node
from portal.teams.models import Organisation, Role
from portal.teams.selectors import Access, Grant
from tests import builders

pytestmark = pytest.mark.django_db
EVERYTHING = Access(user_id=1, grants=(Grant(role=Role.FINANCE, team_ids=None),))


def organisation(zone: str) -> None:
    Organisation.objects.create(name="Hangang Labs", billing_zone=zone)


@pytest.mark.parametrize(
    ("zone", "name", "starts_at", "hours"),
    [
        ("Asia/Seoul", "2026-11", datetime(2026, 10, 31, 15, tzinfo=UTC), 720),
        ("Asia/Seoul", "2026-12", datetime(2026, 11, 30, 15, tzinfo=UTC), 744),
        ("Asia/Seoul", "2028-02", datetime(2028, 1, 31, 15, tzinfo=UTC), 696),
        ("Europe/Berlin", "2026-03", datetime(2026, 2, 28, 23, tzinfo=UTC), 743),
        ("Europe/Berlin", "2026-10", datetime(2026, 9, 30, 22, tzinfo=UTC), 745),
        ("America/New_York", "2026-11", datetime(2026, 11, 1, 4, tzinfo=UTC), 721),
        ("Asia/Kathmandu", "2026-11", datetime(2026, 10, 31, 18, 15, tzinfo=UTC), 720),
        ("Pacific/Apia", "2026-11", datetime(2026, 10, 31, 11, tzinfo=UTC), 720),
    ],
)
def test_a_month_is_as_long_as_its_zone_has_it(
    zone: str, name: str, starts_at: datetime, hours: int
) -> None:
    organisation(zone)
    pool = builders.a_pool("h100", nodes=1, gpus=1)
    Node.objects.update(first_seen_at=starts_at - timedelta(days=3))
    team = builders.a_team("vision")
    ends_at = starts_at + timedelta(hours=hours)
    # Use around both ends: one hour inside and one outside at each.
    for edge in (starts_at, ends_at):
        builders.use(team, pool, edge - timedelta(hours=1), edge + timedelta(hours=1))
    month = services.close_month(
        month_start=months.parse(name), actor_id=None, now=ends_at + timedelta(hours=2)
    )
    assert (month.name, month.starts_at, month.ends_at) == (name, starts_at, ends_at)
    found = selectors.get_reconciliation(instant=starts_at)
    assert found is not None
    assert found.capacity == found.accounted == hours * 3_600_000
    used = selectors.list_statements(EVERYTHING, month_id=month.pk, team_id=team.pk)
    assert used[0].guaranteed == 2 * 3_600_000


def test_any_instant_finds_its_month() -> None:
    organisation("Asia/Seoul")
    assert months.find(datetime(2026, 11, 30, 14, 59, tzinfo=UTC)).name == "2026-11"
    assert months.find(datetime(2026, 11, 30, 15, 0, tzinfo=UTC)).name == "2026-12"
    assert months.find(months.parse("2026-12")).name == "2026-12"


@pytest.mark.parametrize("text", ["", "2026", "2026-13", "11-2026", "2026-11-02", "x"])
def test_a_name_that_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        months.parse(text)


@pytest.mark.parametrize(("before", "after"), [("Asia/Seoul", "UTC"), ("UTC", "Asia/Seoul")])
def test_a_changed_zone_bills_no_hour_twice_and_leaves_none_out(before: str, after: str) -> None:
    organisation(before)
    builders.a_pool("h100", nodes=1, gpus=1)
    instant = datetime(2026, 11, 15, tzinfo=UTC)
    first = services.compute_month(month_start=instant, now=instant)
    Organisation.objects.update(billing_zone=after)
    for days in range(0, 120, 4):
        at = instant + timedelta(days=days)
        services.compute_month(month_start=at, now=at)
    found = list(Month.objects.order_by("starts_at"))
    assert found[0] == first
    assert [m.name for m in found] == ["2026-11", "2026-12", "2027-01", "2027-02", "2027-03"]
    for one, other in pairwise(found):
        assert one.ends_at == other.starts_at
    edge = found[0].ends_at
    assert months.find(edge).name == "2026-12"
    assert months.find(edge - timedelta(seconds=1)).name == "2026-11"


def test_every_month_since_the_first_use_is_worked_out() -> None:
    organisation("Asia/Seoul")
    pool, team = builders.a_pool("h100", nodes=1), builders.a_team("vision")
    begun = datetime(2026, 9, 20, tzinfo=UTC)
    builders.use(team, pool, begun, begun + timedelta(hours=1))
    now = datetime(2026, 11, 2, tzinfo=UTC)
    services.compute_open(now=now)
    assert list(Month.objects.order_by("name").values_list("name", "computed_at")) == [
        ("2026-09", datetime(2026, 9, 30, 15, tzinfo=UTC)),
        ("2026-10", datetime(2026, 10, 31, 15, tzinfo=UTC)),
        ("2026-11", now),
    ]
    builders.use(team, pool, begun + timedelta(hours=2), begun + timedelta(hours=3))
    services.compute_open(now=now)
    statement = Statement.objects.get(team=team, month__name="2026-09")
    assert sum(line.gpu_milli_seconds for line in statement.lines.all()) == 2 * 3_600_000


def test_an_organisation_that_only_begins_has_its_month() -> None:
    organisation("Asia/Seoul")
    builders.a_team("vision")
    services.compute_open(now=datetime(2026, 11, 2, tzinfo=UTC))
    assert Month.objects.get().name == "2026-11"
    assert Statement.objects.count() == 2


def test_an_open_month_is_read_again_only_after_a_grid_line_or_new_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    organisation("Asia/Seoul")
    pool, noon = builders.a_pool(nodes=1), datetime(2026, 11, 2, 12, tzinfo=UTC)
    read: list[datetime] = []
    draw_up = adjusting.draw_up

    def counted(month: Month, *, until: datetime) -> adjusting.Bill:
        read.append(until)
        return draw_up(month, until=until)

    monkeypatch.setattr(adjusting, "draw_up", counted)
    for minute in (0, 1, 4, 5, 6):
        services.compute_open(now=noon + timedelta(minutes=minute))
    assert read == [noon, noon + timedelta(minutes=5)]
    builders.use(builders.a_team(), pool, noon, noon + timedelta(minutes=5))
    services.compute_open(now=noon + timedelta(minutes=7))
    assert len(read) == 3
