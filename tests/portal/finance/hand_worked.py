"""Three days of November 2026 in Seoul, worked by hand; the working stands beside the figures.

One pool of 2 nodes with 8 GPUs, 12,000 won a GPU-hour, borrowed at 0.7, reserved and not used at
0.5, tax 10 % apart. Nothing here is computed by the code under test.

    day 1  Vision 6 of its guarantee all day                       6 x 24 = 144 GPU-hours
           Speech 4 of its guarantee all day                       4 x 24 =  96
    day 2  Vision 6 of its guarantee all day                       6 x 24 = 144
           Vision borrows 3 from 09:00 to 21:00                    3 x 12 =  36
           Speech 4 of its guarantee all day                       4 x 24 =  96
           Speech holds 4 more by reservation from 10:00 to 16:00 and uses none. Of 16 GPUs 13 are
           used then, so only 3 can stand unused                   3 x  6 =  18
    day 3  Speech 2 of its guarantee all day, on node 2            2 x 24 =  48
           node 2 in maintenance from 06:00 to 12:00, less the 2   6 x  6 =  36
           work of no team, 1 GPU from 13:00 to 17:00              1 x  4 =   4
           node 1 down from 20:00 to 21:00                         8 x  1 =   8

    capacity 16 x 72 = 1152 GPU-hours
    Vision 144 + 144 = 288 guaranteed, 36 borrowed; Speech 96 + 96 + 48 = 240 guaranteed
    idle 1152 - 288 - 36 - 240 - 18 - 4 - 36 - 8 = 522

    Vision        288 x 12,000 = 3,456,000
                   36 x  8,400 =   302,400   together 3,758,400   tax 375,840
    Speech        240 x 12,000 = 2,880,000
                   18 x  6,000 =   108,000   together 2,988,000   tax 298,800
    organisation    4 x 12,000 =    48,000   unowned
                  522 x 12,000 = 6,264,000   idle
                   36 x 12,000 =   432,000   maintenance
                    8 x 12,000 =    96,000   down
                  rate difference: 36 x 3,600 + 18 x 6,000 = 129,600 + 108,000 = 237,600
                                             together 7,077,600   no tax
    all           3,758,400 + 2,988,000 + 7,077,600 = 13,824,000 = 1152 x 12,000
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from portal.finance import services
from portal.finance.models import RateCard, Statement
from portal.finance.services import NewRate
from portal.inventory.models import MaintenanceWindow, NodeOutage, Pool
from portal.reservations.models import Reservation
from portal.teams.models import Organisation, Team
from tests import builders

HOUR = 3_600_000
"""Milli-GPU-seconds in a GPU-hour."""
WON = 1_000_000
"""Micro-units in a won."""
MONTH_STARTS = datetime(2026, 10, 31, 15, tzinfo=UTC)
"""1 November, midnight in Seoul."""
MONTH_ENDS = datetime(2026, 11, 30, 15, tzinfo=UTC)
AFTER_THREE_DAYS = MONTH_STARTS + timedelta(days=3)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    """A time of a day of November in Seoul."""
    return MONTH_STARTS + timedelta(days=day - 1, hours=hour, minutes=minute)


def statements_of(team_id: int | None) -> list[Statement]:
    """All statements of a team; None is the organisation."""
    return [row for row in Statement.objects.order_by("id") if row.team_id == team_id]


@dataclass
class World:
    vision: Team
    speech: Team
    pool: Pool
    reservation: Reservation
    card: RateCard


def three_days() -> World:
    """The rows of the example."""
    Organisation.objects.create(name="Hangang Labs")
    vision, speech = builders.a_team("vision"), builders.a_team("speech")
    pool = builders.a_pool("h100", nodes=2)
    one, two = pool.nodes.all()
    card = services.set_rate_card(
        name="Autumn 2026", currency="KRW", tax_basis_points=1000, valid_from=at(-30),
        rates=[
            NewRate(pool.pk, 12_000 * WON, borrowed_milli=700, reserved_unused_milli=500),
        ],
        actor_id=None, now=at(-30),
    )  # fmt: skip
    builders.use(vision, pool, at(1), at(3), gpus=6, node=one)
    builders.use(speech, pool, at(1), at(3), gpus=4, node=two)
    builders.use(vision, pool, at(2, 9), at(2, 21), gpus=3, charged_to="borrowed", node=two)
    reservation = builders.a_reservation(speech, pool, at(2, 10), hours=6, gpus=4)
    builders.use(speech, pool, at(3), at(4), gpus=2, node=two)
    builders.use(None, pool, at(3, 13), at(3, 17), gpus=1, charged_to="borrowed", node=one)
    MaintenanceWindow.objects.create(node=two, starts_at=at(3, 6), ends_at=at(3, 12))
    NodeOutage.objects.create(node=one, starts_at=at(3, 20), ends_at=at(3, 21))
    return World(vision, speech, pool, reservation, card)
