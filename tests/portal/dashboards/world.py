"""A small organisation in full use, counted by hand.

One pool of 4 nodes with 8 GPUs each: 32.

| team | guaranteed | limit | holds | of it borrowed |
|---|---|---|---|---|
| Vision | 16 | 24 | 18 | 4 |
| Speech | 10 | | 6 | |
| nobody | | | 1 | |

So 7 are free: none on n0 and n1, 1 on n2, 6 on n3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.common import clock
from portal.inventory.models import Node, Pool
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling.models import Decision, Share, Standing, Tick, TickState, Verb
from portal.teams.models import Organisation, Role, Team, User
from portal.workloads.models import StageEvent, Workload, WorkloadState
from tests import builders

MINUTE = timedelta(minutes=1)
FRAGMENTED = {
    "free_gpu_milli": 9000, "largest_on_one_node": 3000, "needs_on_one_node": 8000,
}  # fmt: skip


@dataclass
class World:
    """Its rows."""

    now: datetime
    pool: Pool
    nodes: list[Node]
    research: Team
    vision: Team
    speech: Team
    tick: Tick
    waiting: Workload
    other_waiting: Workload
    running: Workload
    reservation: Reservation
    people: dict[str, User]


def build(now: datetime) -> World:
    """Everything in the table above, with one waiting job of each team."""
    clock.set_anchor(real_at=clock.real_now(), organisation_at=now, speed=1)
    Organisation.objects.create(id=1, name="Hanbit")
    pool = builders.a_pool("h100", nodes=4)
    nodes = list(pool.nodes.order_by("name"))
    research = builders.a_team("research")
    vision, speech = builders.a_team("vision", parent=research), builders.a_team("speech")
    Team.objects.filter(pk=speech.pk).update(hue=2)
    builders.a_quota(vision, pool, guaranteed=16, limit=24)
    builders.a_quota(speech, pool, guaranteed=10)
    tick = Tick.objects.create(
        cluster=pool.cluster, at=now, state=TickState.DONE, started_real_at=now
    )
    running = _holds(vision, pool, "llm-sft-04", [(nodes[0], 8), (nodes[1], 6)], "guaranteed", now)
    _holds(vision, pool, "ablate-15", [(nodes[1], 2), (nodes[2], 2)], "borrowed", now)
    _holds(speech, pool, "asr-pretrain", [(nodes[2], 5), (nodes[3], 1)], "guaranteed", now)
    _holds(None, pool, "stray", [(nodes[3], 1)], "borrowed", now)
    _shares(tick, pool, vision, speech)
    fragmented = {**FRAGMENTED, "pool": f"p{pool.pk}"}
    waiting = _waits(tick, vision, pool, "llm-sft-07", 2, "fragmented", fragmented, now)
    behind = {"team": f"t{vision.pk}", "workload": f"w{waiting.pk}"}
    other = _waits(tick, speech, pool, "asr-secret", 3, "behind", behind, now)
    Decision.objects.create(
        tick=tick, workload=waiting, verb=Verb.WAIT, reason="fragmented", detail=fragmented,
        planned_start=now + 90 * MINUTE,
    )  # fmt: skip
    reservation = builders.a_reservation(
        vision, pool, now + timedelta(days=1), 9, gpus=8, state=ReservationState.PENDING
    )
    return World(
        now, pool, nodes, research, vision, speech, tick, waiting, other, running, reservation,
        _people(research, vision, speech),
    )  # fmt: skip


def _people(research: Team, vision: Team, speech: Team) -> dict[str, User]:
    return {
        "member": builders.a_user("member", Role.MEMBER, vision),
        "lead": builders.a_user("lead", Role.LEAD, vision),
        "branch_admin": builders.a_user("branch_admin", Role.ADMIN, research),
        "admin": builders.a_user("admin", Role.ADMIN),
        "finance": builders.a_user("finance", Role.FINANCE),
        "auditor": builders.a_user("auditor", Role.AUDITOR),
        "outsider": builders.a_user("outsider", Role.MEMBER, speech),
        "nobody": builders.a_user("nobody"),
    }


def _holds(
    team: Team | None, pool: Pool, name: str, places: list[tuple[Node, int]], charged: str,
    now: datetime,
) -> Workload:  # fmt: skip
    begun = now - 20 * MINUTE
    job = builders.a_workload(
        team, pool, name, tasks=len(places), state=WorkloadState.RUNNING, charged_to=charged,
        scheduled_at=begun, ready_at=begun + MINUTE, person="minji",
    )  # fmt: skip
    Workload.objects.filter(pk=job.pk).update(
        submitted_at=begun - 10 * MINUTE, gpu_milli=1000 * max(n for _, n in places)
    )
    for node, gpus in places:
        builders.a_pod(job, node, scheduled_at=begun, gpu_milli=1000 * gpus, charged_to=charged)
    for state, at in (("starting", begun), ("running", begun + MINUTE)):
        StageEvent.objects.create(workload=job, at=at, state=state)
    job.refresh_from_db()
    return job


def _waits(
    tick: Tick, team: Team, pool: Pool, name: str, position: int, reason: str,
    detail: Mapping[str, object], now: datetime,
) -> Workload:  # fmt: skip
    job = builders.a_workload(
        team, pool, name, gpu_milli=8000, submitted_at=now - 30 * MINUTE, person="hyun",
        kind="training",
    )  # fmt: skip
    Standing.objects.create(
        tick=tick, workload=job, verb=Verb.WAIT, reason=reason, detail=detail, position=position,
        planned_start=now + 90 * MINUTE,
    )  # fmt: skip
    return job


def _shares(tick: Tick, pool: Pool, vision: Team, speech: Team) -> None:
    rows = ((vision, 16, 18, 4, 0), (speech, 10, 6, 0, 4))
    for team, guaranteed, allocated, borrowed, lent in rows:
        Share.objects.create(
            tick=tick, team=team, pool=pool, guaranteed=guaranteed * 1000, reserved=0,
            fair_share=guaranteed * 1000, allocated=allocated * 1000, borrowed=borrowed * 1000,
            lent=lent * 1000, available=0, dominant_share=0.5, satisfaction=1.0,
            guaranteed_gpus=guaranteed, burst_gpus=0,
        )  # fmt: skip
