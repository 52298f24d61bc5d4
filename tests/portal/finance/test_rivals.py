"""What users of other systems found wrong in use and bills, each with the number it has there."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from portal.finance import months as calendar
from portal.finance import selectors, services
from portal.finance.models import LineKind, StatementLine
from portal.finance.services import NewRate
from portal.inventory.models import Pool
from portal.teams.models import Organisation, Role, Team
from portal.usage import selectors as usage
from portal.usage import services as ledger
from portal.usage.models import LedgerEntry
from portal.workloads.models import ChargedTo, Pod
from tests import builders
from tests.portal.finance.test_months import EVERYTHING

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOVEMBER = datetime(2026, 10, 31, 15, tzinfo=UTC)
"""In Seoul, where the organisation bills."""
LATER = NOVEMBER + 40 * DAY


@pytest.fixture
def pool() -> Pool:
    """One node of eight at 1000 won a GPU-hour."""
    Organisation.objects.create(name="Hangang Labs", billing_zone="Asia/Seoul")
    pool = builders.a_pool(nodes=1)
    services.set_rate_card(
        name="Card", currency="KRW", valid_from=NOVEMBER - 40 * DAY, tax_basis_points=0,
        actor_id=None, now=NOVEMBER, rates=[NewRate(pool.pk, 1_000_000_000)],
    )  # fmt: skip
    return pool


@pytest.fixture
def team() -> Team:
    return builders.a_team("vision")


def held(team: Team, pool: Pool, milli: int, seconds: int) -> int:
    """The ledger's milli-GPU-seconds of one pod that held so much for so long."""
    work = builders.a_workload(team, pool, gpu_milli=milli)
    pod = builders.a_pod(work, pool.nodes.first(), scheduled_at=NOVEMBER)
    ends = NOVEMBER + timedelta(seconds=seconds)
    Pod.objects.filter(pk=pod.pk).update(
        charged_to=ChargedTo.GUARANTEED, closed_at=ends, seen_at=ends
    )
    ledger.close_cells(cluster_id=pool.cluster_id, now=ends + HOUR)
    return sum(row.gpu_milli * row.seconds * row.sign for row in LedgerEntry.objects.all())


def billed(team: Team) -> int:
    """What November's statement of a team comes to, in won."""
    month = services.compute_month(month_start=NOVEMBER, now=LATER)
    rows = selectors.list_statements(EVERYTHING, month_id=month.pk, team_id=team.pk)
    return sum(row.total_micro for row in rows) // 1_000_000


@pytest.mark.parametrize("milli", [250, 500, 1000])
def test_a_part_of_a_gpu_is_charged_as_that_part_opencost_3828(
    pool: Pool, team: Team, milli: int
) -> None:
    assert held(team, pool, milli, 3600) == milli * 3600


def test_a_full_hour_is_3600_seconds_gpustack_5710(pool: Pool, team: Team) -> None:
    assert held(team, pool, 1000, 3600) == 3_600_000


def test_bill_reconciliation_and_use_say_the_same_opencost_2901(pool: Pool, team: Team) -> None:
    builders.use(team, pool, NOVEMBER + DAY, NOVEMBER + DAY + 5 * HOUR, gpus=3)
    assert billed(team) == 15_000
    used = usage.sum_usage(from_at=NOVEMBER, to_at=NOVEMBER + 30 * DAY)
    found = selectors.get_reconciliation(instant=NOVEMBER)
    assert found is not None
    assert found.accounted == found.capacity
    assert sum(row.gpu_milli_seconds for row in used) == 15 * 3_600_000


def test_use_about_midnight_in_seoul_is_the_right_months_kubecost_816(
    pool: Pool, team: Team
) -> None:
    builders.use(team, pool, NOVEMBER - 2 * HOUR, NOVEMBER + HOUR)
    assert billed(team) == 1000


def test_a_month_is_billed_once_in_a_zone_ahead_of_utc_lago_662(pool: Pool, team: Team) -> None:
    builders.use(team, pool, NOVEMBER, NOVEMBER + HOUR)
    for instant in (NOVEMBER, NOVEMBER + 10 * HOUR, calendar.parse("2026-11")):
        services.compute_month(month_start=instant, now=LATER)
    month = services.compute_month(month_start=NOVEMBER, now=LATER)
    assert len(selectors.list_statements(EVERYTHING, team_id=team.pk)) == 1
    assert month.name == "2026-11"


def test_no_hour_before_a_node_was_there_or_to_come_is_counted_manageiq_13373(pool: Pool) -> None:
    pool.nodes.update(first_seen_at=NOVEMBER + 2 * DAY)
    services.compute_month(month_start=NOVEMBER, now=NOVEMBER + 3 * DAY)
    found = selectors.get_reconciliation(instant=NOVEMBER)
    assert found is not None
    assert found.capacity == 8 * 24 * 3_600_000


def test_idle_time_is_on_the_bill_opencost_1270(pool: Pool, team: Team) -> None:
    builders.use(team, pool, NOVEMBER, NOVEMBER + HOUR, gpus=8)
    billed(team)
    found = selectors.get_reconciliation(instant=NOVEMBER)
    assert found is not None
    assert found.quantity(LineKind.IDLE) == 8 * (30 * 24 - 1) * 3_600_000


def test_without_a_gpu_there_is_no_idle_cost_kubecost_1389(team: Team, pool: Pool) -> None:
    pool.nodes.all().delete()
    services.compute_month(month_start=NOVEMBER, now=LATER)
    assert not StatementLine.objects.exclude(gpu_milli_seconds=0).exists()


def test_a_team_sees_no_other_teams_cost_kubecost_1574(
    client: Client, pool: Pool, team: Team
) -> None:
    other = builders.a_team("speech")
    for one in (team, other):
        builders.use(one, pool, NOVEMBER, NOVEMBER + HOUR)
    billed(team)
    client.force_login(builders.a_user("lead", Role.LEAD, team))
    rows = client.get("/api/v1/statements").json()["results"]
    assert {row["team"]["id"] for row in rows if row["team"]} == {team.pk}


def test_a_member_sees_what_their_team_used_gpustack_5530(
    client: Client, pool: Pool, team: Team
) -> None:
    builders.use(team, pool, NOVEMBER, NOVEMBER + HOUR)
    client.force_login(builders.a_user("member", Role.MEMBER, team))
    answer = client.get(
        "/api/v1/usage", {"from": "2026-11-01T00:00:00+09:00", "to": "2026-11-02T00:00:00+09:00"}
    )
    assert answer.status_code == 200
    assert answer.json()["results"]
