"""October 2026 in Berlin, worked by hand: the month with a day of 25 hours.

One pool of 3 nodes with 8 GPUs, in dollars, tax 19 %, borrowed at 0.8, reserved and not used at
0.5. The rate changes twice: 2.50 from 1 October, 2.40 from the 11th, 2.445 from the 21st. Hours are
counted from the month's beginning; winter time begins on the 25th, so 26 October begins at
25 x 24 + 1 = 601, and the month has 31 x 24 + 1 = 745.

    stretch A   0 - 240  2.50    B  240 - 480  2.40    C  480 - 745  2.445       (240, 240, 265 h)
    capacity    24 GPUs                   A 5,760        B 5,760        C 6,360       together 17,880

    Vision      8 guaranteed, all month   A 8 x 240 = 1,920  B 1,920    C 8 x 265 = 2,120
    Speech      5 guaranteed from the 6th to the 26th, hours 120 - 601
                                          A 5 x 120 =   600  B 5 x 240 = 1,200  C 5 x 121 = 605
    Search      3 borrowed from noon of the 9th to noon of the 12th, hours 204 - 276
                                          A 3 x 36  =   108  B 3 x 36  =   108
                half a GPU borrowed from 02:30 summer time to 02:30 winter time of the 25th,
                hours 578.5 - 579.5                                     C 0.5 x 1 = 0.5
                4 reserved on the 15th and not used, hours 336 - 360    B 4 x 24  =  96
    node 3 in maintenance from noon of the 20th to noon of the 21st, hours 468 - 492
                                          B 8 x 12  =    96  C 8 x 12  =    96
    idle        A 5,760 - 1,920 - 600 - 108                             = 3,132
                B 5,760 - 1,920 - 1,200 - 108 - 96 - 96                 = 2,340
                C 6,360 - 2,120 - 605 - 0.5 - 96                        = 3,538.5

    Vision      1,920 x 2.50 = 4,800.00   1,920 x 2.40 = 4,608.00   2,120 x 2.445 = 5,183.40
                together 14,591.40        tax 2,772.366 -> 2,772.37
    Speech        600 x 2.50 = 1,500.00   1,200 x 2.40 = 2,880.00
                  605 x 2.445 = 1,479.225 -> 1,479.22, to the even cent
                together  5,859.22        tax 1,113.2518 -> 1,113.25
    Search        108 x 2.00 = 216.00     108 x 1.92 = 207.36      0.5 x 1.956 = 0.978 -> 0.98
                   96 x 1.20 = 115.20, reserved and not used
                together    539.54        tax 102.5126 -> 102.51
    the organisation
       idle     3,132 x 2.50 = 7,830.00   2,340 x 2.40 = 5,616.00
                3,538.5 x 2.445 = 8,651.6325 -> 8,651.63
       maintenance                           96 x 2.40 = 230.40       96 x 2.445 = 234.72
       rate difference
                A 14,400.00 - 4,800 - 1,500 - 216 - 7,830                            =  54.00
                B 13,824.00 - 4,608 - 2,880 - 207.36 - 115.20 - 5,616 - 230.40       = 167.04
                C 15,550.20 - 5,183.40 - 1,479.22 - 0.98 - 8,651.63 - 234.72         =   0.25
                together 22,784.04        no tax
    all         14,591.40 + 5,859.22 + 539.54 + 22,784.04 = 43,774.20 = 14,400 + 13,824 + 15,550.20

Late, on 2 November, with October closed: Speech's pod turns out to have ended at midnight before
the 25th (hour 576), 25 hours earlier. C then has 5 x 96 = 480 GPU-hours of it.

    Speech       480 x 2.445 = 1,173.60   less 1,479.22 = -305.62     tax -58.0678 -> -58.07
    idle       3,663.5 x 2.445 = 8,957.2575 -> 8,957.26   less 8,651.63 = +305.63
    rate difference  15,550.20 - 5,183.40 - 1,173.60 - 0.98 - 8,957.26 - 234.72 = 0.24   -0.01
    together     -305.62 + 305.63 - 0.01 = 0
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from portal.finance import selectors, services
from portal.finance.models import Statement, StatementLine
from portal.finance.services import NewRate
from portal.inventory.models import MaintenanceWindow, Pool
from portal.teams.models import Organisation, Team
from portal.usage import services as usage
from portal.usage.appending import Row
from portal.usage.models import LedgerEntry
from tests import builders

pytestmark = pytest.mark.django_db
STARTS = datetime(2026, 9, 30, 22, tzinfo=UTC)
ENDS = datetime(2026, 10, 31, 23, tzinfo=UTC)
HOUR = 3_600_000
DOLLAR = 1_000_000


def hour(number: float) -> datetime:
    """So many hours after the month began."""
    return STARTS + timedelta(hours=number)


@dataclass
class World:
    vision: Team
    speech: Team
    search: Team
    pool: Pool
    speech_rows: list[LedgerEntry]


@pytest.fixture
def world() -> World:
    Organisation.objects.create(name="Hangang Labs", currency="USD", billing_zone="Europe/Berlin")
    vision, speech, search = (builders.a_team(slug) for slug in ("vision", "speech", "search"))
    pool = builders.a_pool("h100", nodes=3)
    one, two, three = pool.nodes.order_by("id")
    for begins, micro in ((-900, 2_500_000), (240, 2_400_000), (480, 2_445_000)):
        services.set_rate_card(
            name="Card", currency="USD", tax_basis_points=1900, valid_from=hour(begins),
            rates=[NewRate(pool.pk, micro, borrowed_milli=800, reserved_unused_milli=500)],
            actor_id=None, now=hour(begins),
        )  # fmt: skip
    builders.use(vision, pool, hour(0), hour(745), gpus=8, node=one)
    rows = builders.use(speech, pool, hour(120), hour(601), gpus=5, node=two)
    builders.use(search, pool, hour(204), hour(276), gpus=3, charged_to="borrowed", node=three)
    builders.use(
        search, pool, hour(578.5), hour(579.5), milli=500, charged_to="borrowed", node=three
    )
    builders.a_reservation(search, pool, hour(336), hours=24, gpus=4)
    MaintenanceWindow.objects.create(node=three, starts_at=hour(468), ends_at=hour(492))
    services.close_month(month_start=STARTS, actor_id=None, now=ENDS)
    return World(vision, speech, search, pool, rows)


Line = tuple[str, str, float, str]


def lines_of(team: Team | None, month: str = "2026-10") -> list[Line]:
    """Kind, charge, GPU-hours and dollars of every line."""
    return [
        (
            line.adjusts or line.kind, line.charged_to, line.gpu_milli_seconds / HOUR,
            f"{Decimal(line.amount_micro) / DOLLAR:.2f}",
        )
        for line in StatementLine.objects.filter(
            statement__month__name=month, statement__in=_of(team)
        ).order_by("id")
    ]  # fmt: skip


def sums_of(team: Team | None, month: str = "2026-10") -> tuple[str, str]:
    """Total and tax in dollars."""
    (row,) = [row for row in _of(team) if row.month.name == month]
    return f"{Decimal(row.total_micro) / DOLLAR:.2f}", f"{Decimal(row.tax_micro) / DOLLAR:.2f}"


def _of(team: Team | None) -> list[Statement]:
    rows = Statement.objects.select_related("month")
    return [row for row in rows if row.team_id == (team.pk if team else None)]


def test_the_month_has_745_hours_and_three_prices(world: World) -> None:
    assert lines_of(world.vision) == [
        ("use", "guaranteed", 1920, "4800.00"),
        ("use", "guaranteed", 1920, "4608.00"),
        ("use", "guaranteed", 2120, "5183.40"),
    ]
    assert sums_of(world.vision) == ("14591.40", "2772.37")


def test_every_line_prints_its_stretch_and_its_rate(world: World) -> None:
    lines = StatementLine.objects.filter(statement__in=_of(world.search)).order_by("id")
    assert [
        (line.from_at, line.to_at, line.rate_micro, line.tax_basis_points) for line in lines
    ] == [
        (hour(0), hour(240), 2_000_000, 1900),
        (hour(240), hour(480), 1_920_000, 1900),
        (hour(480), hour(745), 1_956_000, 1900),
        (hour(240), hour(480), 1_200_000, 1900),
    ]


def test_half_a_cent_goes_to_the_even_one(world: World) -> None:
    assert lines_of(world.speech) == [
        ("use", "guaranteed", 600, "1500.00"),
        ("use", "guaranteed", 1200, "2880.00"),
        ("use", "guaranteed", 605, "1479.22"),
    ]
    assert sums_of(world.speech) == ("5859.22", "1113.25")


def test_borrowed_is_cheaper_and_what_was_reserved_is_paid_for(world: World) -> None:
    assert lines_of(world.search) == [
        ("use", "borrowed", 108, "216.00"),
        ("use", "borrowed", 108, "207.36"),
        ("use", "borrowed", 0.5, "0.98"),
        ("reserved_unused", "", 96, "115.20"),
    ]
    assert sums_of(world.search) == ("539.54", "102.51")


def test_the_organisation_bears_idle_maintenance_and_the_differences(world: World) -> None:
    assert lines_of(None) == [
        ("idle", "", 3132, "7830.00"),
        ("idle", "", 2340, "5616.00"),
        ("idle", "", 3538.5, "8651.63"),
        ("maintenance", "", 96, "230.40"),
        ("maintenance", "", 96, "234.72"),
        ("rate_difference", "", 0, "54.00"),
        ("rate_difference", "", 0, "167.04"),
        ("rate_difference", "", 0, "0.25"),
    ]
    assert sums_of(None) == ("22784.04", "0.00")


def test_all_of_it_is_what_the_pool_cost(world: World) -> None:
    found = selectors.get_reconciliation(instant=STARTS)
    assert found is not None
    assert found.capacity == found.accounted == 17_880 * HOUR
    assert found.cost_micro == found.billed_micro == found.statements_micro == 43_774_200_000
    assert found.adds_up


def test_what_was_known_late_is_adjusted_in_november(world: World) -> None:
    before = list(StatementLine.objects.filter(statement__month__name="2026-10").values())
    kept = [row for row in world.speech_rows if row.from_at < hour(576)]
    usage.correct(
        cluster_id=world.pool.cluster_id, pod_uid=world.speech_rows[0].pod_uid,
        seen=[Row(**{name: getattr(row, name) for name in Row._fields}) for row in kept],
    )  # fmt: skip
    late = ENDS + timedelta(days=2)
    services.compute_month(month_start=late, now=late)

    def adjusted(team: Team | None) -> list[Line]:
        lines = StatementLine.objects.filter(
            kind="adjustment", statement__month__name="2026-11", statement__in=_of(team)
        )
        return [
            (
                line.adjusts, line.charged_to, line.gpu_milli_seconds / HOUR,
                f"{Decimal(line.amount_micro) / DOLLAR:.2f}",
            )
            for line in lines
        ]  # fmt: skip

    assert adjusted(world.speech) == [("use", "guaranteed", -125, "-305.62")]
    assert adjusted(None) == [
        ("idle", "", 125, "305.63"),
        ("rate_difference", "", 0, "-0.01"),
    ]
    assert adjusted(world.vision) == adjusted(world.search) == []
    assert sums_of(world.speech, "2026-11") == ("-305.62", "-58.07")
    assert list(StatementLine.objects.filter(statement__month__name="2026-10").values()) == before
    found = selectors.get_reconciliation(instant=STARTS)
    assert found is not None
    assert found.adds_up
    assert found.later_micro == 0
