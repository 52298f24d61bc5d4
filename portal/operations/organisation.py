"""The demo organisation: who works there, in which teams, and what each team is promised.

Plain data and one function that writes it through the rooms' own services, so that a demo starts
with the same audit lines, commitments and checks as a real installation.
"""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db import transaction

from portal.finance import services as finance
from portal.inventory.models import Cluster, Pool
from portal.quotas import services as quotas
from portal.requests import approving
from portal.slas import services as slas
from portal.teams import services as teams
from portal.teams.models import Organisation, Role, Team, User

PASSWORD = "evenshare-demo"  # noqa: S105 -- printed on screen, for a demo on loopback only


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signs in, the role they hold and where ("" is the whole organisation)."""

    username: str
    first: str
    last: str
    role: Role
    team: str = ""


@dataclass(frozen=True, slots=True)
class Promise:
    """A team's part of every pool in percent: guaranteed, limit, and its weight."""

    team: str
    guaranteed: int
    limit: int
    weight: int


# slug, name, parent, hue
TEAMS = (
    ("research", "Research", "", 6),
    ("products", "Products", "", 7),
    ("vision", "Vision", "research", 1),
    ("speech", "Speech", "research", 2),
    ("search", "Search", "products", 4),
    ("robotics", "Robotics", "products", 3),
    ("platform", "Platform", "", 5),
)
JOB_TEAMS = ("vision", "speech", "search", "robotics", "platform")

PEOPLE = (
    Person("jihye", "Jihye", "Park", Role.ADMIN),
    Person("seungmin", "Seungmin", "Kim", Role.ADMIN),
    Person("boram", "Boram", "Seo", Role.FINANCE),
    Person("wonho", "Wonho", "Oh", Role.AUDITOR),
    Person("minji", "Minji", "Lee", Role.LEAD, "vision"),
    Person("junho", "Junho", "Han", Role.MEMBER, "vision"),
    Person("seoyeon", "Seoyeon", "Lim", Role.MEMBER, "vision"),
    Person("daniel", "Daniel", "Weber", Role.MEMBER, "vision"),
    Person("jiwoo", "Jiwoo", "Choi", Role.LEAD, "speech"),
    Person("haneul", "Haneul", "Shin", Role.MEMBER, "speech"),
    Person("priya", "Priya", "Nair", Role.MEMBER, "speech"),
    Person("sujin", "Sujin", "Jung", Role.LEAD, "search"),
    Person("taeyang", "Taeyang", "Song", Role.MEMBER, "search"),
    Person("marco", "Marco", "Rossi", Role.MEMBER, "search"),
    Person("yuna", "Yuna", "Hong", Role.MEMBER, "search"),
    Person("dohyun", "Dohyun", "Kang", Role.LEAD, "robotics"),
    Person("eunbi", "Eunbi", "Yoon", Role.MEMBER, "robotics"),
    Person("lukas", "Lukas", "Berg", Role.MEMBER, "robotics"),
    Person("hyejin", "Hyejin", "Ryu", Role.LEAD, "platform"),
    Person("kangmin", "Kangmin", "Ahn", Role.MEMBER, "platform"),
)
SHOWN_LOGINS = ("minji", "junho", "jihye", "boram", "wonho")

PROMISES = (
    Promise("vision", guaranteed=20, limit=60, weight=3),
    Promise("speech", guaranteed=12, limit=40, weight=2),
    Promise("search", guaranteed=18, limit=50, weight=2),
    Promise("robotics", guaranteed=12, limit=40, weight=2),
    Promise("platform", guaranteed=6, limit=25, weight=1),
)
# A GPU-hour in won, by the order of the pools (cheapest first); examples, not anybody's price.
RATES = (900, 1_400, 2_600, 4_200)


def usernames(team: str) -> list[str]:
    """The people of a team, its lead first."""
    return [person.username for person in PEOPLE if person.team == team]


@transaction.atomic
def create_people(*, now: datetime) -> dict[str, User]:
    """Write the organisation, its tree and its people; all hold their roles from `now` on."""
    Organisation.objects.update_or_create(id=1, defaults={"name": "Hanbit Labs"})
    rows: dict[str, Team] = {}
    weights = {promise.team: promise.weight for promise in PROMISES}
    for slug, name, parent, hue in TEAMS:
        rows[slug] = teams.create_team(
            slug=slug, name=name, parent_id=rows[parent].pk if parent else None, hue=hue,
            weight=weights.get(slug, 5), cost_centre=f"CC-{100 + hue}", now=now, actor_id=None,
        )  # fmt: skip
    people: dict[str, User] = {}
    secret = make_password(PASSWORD)
    for person in PEOPLE:
        user = User.objects.create(
            username=person.username, password=secret, first_name=person.first,
            last_name=person.last, email=f"{person.username}@hanbit.example",
        )  # fmt: skip
        teams.grant_role(
            user_id=user.pk, role=person.role, now=now, actor_id=None,
            team_id=rows[person.team].pk if person.team else None,
        )  # fmt: skip
        people[person.username] = user
    return people


@transaction.atomic
def promise_quotas(*, cluster: Cluster, now: datetime, actor_id: int) -> None:
    """Give each team its part of each pool, in whole GPUs, from `now` on."""
    ids = dict(Team.objects.values_list("slug", "id"))
    for pool in Pool.objects.filter(cluster=cluster):
        capacity = sum(pool.nodes.filter(removed_at=None).values_list("gpus", flat=True))
        for promise in PROMISES:
            quotas.change(
                team_id=ids[promise.team], pool_id=pool.pk,
                guaranteed=capacity * promise.guaranteed // 100,
                limit=max(capacity * promise.limit // 100, 8),
                valid_from=now, actor_id=actor_id, now=now,
            )  # fmt: skip


@transaction.atomic
def promise_waits(*, now: datetime, actor_id: int) -> None:
    """Name two tiers, give them to the branches, and let large requests need two people."""
    ids = dict(Team.objects.values_list("slug", "id"))
    for name, hours, goal, branch in (("Gold", 2, 900, "research"), ("Silver", 8, 950, "products")):
        tier = slas.create_tier(
            name=name, target_wait_seconds=hours * 3600, goal_permille=goal,
            answer_seconds=24 * 3600, actor_id=actor_id, now=now,
        )  # fmt: skip
        slas.set_sla(
            team_id=ids[branch], pool_id=None, tier_id=tier.pk, valid_from=now,
            actor_id=actor_id, now=now,
        )  # fmt: skip
    approving.add_rule(approvals=2, min_gpus=32, actor_id=actor_id)


@transaction.atomic
def set_rates(*, cluster: Cluster, now: datetime, actor_id: int) -> None:
    """Set a rate card in won: borrowed a third cheaper, idle borne by the organisation."""
    pools = Pool.objects.filter(cluster=cluster)
    finance.set_rate_card(
        name="Demo rates", currency="KRW", tax_basis_points=1000, valid_from=now,
        rates=[
            finance.NewRate(pool_id=pool.pk, gpu_hour_micro=won * 1_000_000, borrowed_milli=700)
            for pool, won in zip(pools, RATES, strict=False)
        ],
        actor_id=actor_id, now=now,
    )  # fmt: skip
