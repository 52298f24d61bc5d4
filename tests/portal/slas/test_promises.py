"""Tiers and promises: dated, one at a time, the nearest one counts."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Pool
from portal.scheduling import freezing
from portal.slas import selectors, services, targets
from portal.slas.models import Breach, BreachKind, Sla, Tier
from portal.teams.models import Team
from portal.workloads.models import Workload, WorkloadState
from tests import builders

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def a_tier(
    name: str = "gold", minutes: int = 30, now: datetime = builders.LONG_AGO, **given: Any
) -> Tier:
    return services.create_tier(
        name=name, target_wait_seconds=minutes * 60, actor_id=None, now=now, **given
    )


def give(
    team: Team, tier: Tier | None, now: datetime, pool: Pool | None = None, days: int = 0,
    until: datetime | None = None,
) -> Sla | None:  # fmt: skip
    return services.set_sla(
        team_id=team.pk, pool_id=pool.pk if pool else None, tier_id=tier.pk if tier else None,
        valid_from=now + days * DAY, valid_to=until, actor_id=None, now=now,
    )  # fmt: skip


def a_job(
    team: Team, pool: Pool, submitted: datetime, name: str, started: datetime | None = None,
    ended: datetime | None = None,
) -> Workload:  # fmt: skip
    state = WorkloadState.WAITING
    if started:
        state = WorkloadState.RUNNING
    if ended:
        state = WorkloadState.SUCCEEDED if started else WorkloadState.CANCELLED
    return builders.a_workload(
        team, pool, name, submitted_at=submitted, scheduled_at=started, ended_at=ended, state=state
    )


def test_a_tier_says_what_is_wrong_with_it() -> None:
    a_tier()
    with pytest.raises(Invalid) as refused:
        services.create_tier(
            name="gold", target_wait_seconds=0, goal_permille=0, answer_seconds=0, actor_id=None,
            now=builders.LONG_AGO,
        )  # fmt: skip
    assert set(refused.value.fields) == {
        "name", "target_wait_seconds", "goal_permille", "answer_seconds"
    }  # fmt: skip


def test_a_retired_tier_is_given_no_more_and_kept_by_who_has_it(now: datetime) -> None:
    team, tier = builders.a_team(), a_tier()
    give(team, tier, now)
    for _ in range(2):
        services.retire_tier(tier_id=tier.pk, actor_id=None, now=now)
    assert selectors.list_tiers() == []
    assert [row.tier for row in selectors.list_slas(at=now)] == ["gold"]
    assert AuditEvent.objects.filter(action="slas.tier_retired").count() == 1


def test_a_promise_closes_the_one_before_and_replaces_those_to_come(now: datetime) -> None:
    team, gold, iron = builders.a_team(), a_tier(), a_tier("iron", 120)
    give(team, gold, now)
    give(team, iron, now, days=9)
    give(team, iron, now + DAY, days=1)
    spans = [(row.tier, row.valid_from, row.valid_to) for row in selectors.list_slas()]
    assert spans == [("gold", now, now + 2 * DAY), ("iron", now + 2 * DAY, None)]
    give(team, None, now + 3 * DAY)
    assert selectors.list_slas(at=now + 4 * DAY) == []


def test_the_past_cannot_change(now: datetime) -> None:
    team, tier = builders.a_team(), a_tier()
    with pytest.raises(Invalid, match="past"):
        give(team, tier, now, days=-1)
    with pytest.raises(Invalid, match="after it begins"):
        give(team, tier, now, until=now)
    wrongs: tuple[dict[str, Any], ...] = (
        {"team_id": 987654}, {"tier_id": 987654}, {"pool_id": 987654}
    )  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(Missing):
            services.set_sla(
                **{"team_id": team.pk, "pool_id": None, "tier_id": tier.pk, **wrong},
                valid_from=now, actor_id=None, now=now,
            )  # fmt: skip


def test_the_nearest_promise_counts_its_pool_before_all_pools(now: datetime) -> None:
    branch = builders.a_team("research")
    team = builders.a_team("vision", parent=branch)
    other = builders.a_team("platform")
    pool, second = builders.a_pool("h100"), builders.a_pool("t4")
    gold, iron, lead = a_tier("gold", 30), a_tier("iron", 60), a_tier("lead", 90)
    give(branch, lead, now)
    give(branch, iron, now, pool=pool)
    found = targets.get_targets(now=now)
    tiers = [getattr(found.of(team.pk, p, now), "tier", None) for p in (pool.pk, second.pk, None)]
    assert tiers == ["iron", "lead", "lead"]
    give(team, gold, now)
    found = targets.get_targets(now=now)
    # The team's own comes before one of the branch, whatever the pool.
    assert getattr(found.of(team.pk, pool.pk, now), "tier", None) == "gold"
    assert found.of(other.pk, pool.pk, now) is None


def test_attainment_counts_those_still_waiting(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    sla = give(team, a_tier(), now - 10 * DAY + 10 * DAY)
    assert sla is not None
    Sla.objects.filter(pk=sla.pk).update(valid_from=now - 10 * DAY)
    begun = now - 5 * HOUR
    a_job(team, pool, begun, "in-time", started=begun + 30 * MINUTE)
    a_job(team, pool, begun, "late", started=begun + 31 * MINUTE, ended=begun + HOUR)
    a_job(team, pool, begun, "waits-long")
    a_job(team, pool, now - 20 * MINUTE, "waits-a-little")
    a_job(team, pool, begun, "given-up-early", ended=begun + 5 * MINUTE)
    a_job(team, pool, begun, "given-up-late", ended=begun + HOUR)
    a_job(team, pool, now - 20 * DAY, "before-the-promise", started=now - 15 * DAY)
    kept = selectors.list_kept(from_at=now - 30 * DAY, now=now)[sla.pk]
    assert (kept.met, kept.missed, kept.still_late, kept.undecided) == (1, 3, 1, 2)
    assert kept.permille == 250


def test_each_job_counts_under_the_promise_of_its_moment_and_its_nearest_team(
    now: datetime,
) -> None:
    """A branch's promise, replaced on the fifth day by a stricter one; a team's own for one pool."""
    branch, pool, other = builders.a_team("research"), builders.a_pool(), builders.a_pool("t4")
    team = builders.a_team("vision", branch)
    lax, strict = a_tier("lax", minutes=60), a_tier("strict")
    first = Sla.objects.create(
        team=branch, tier=lax, valid_from=now - 10 * DAY, valid_to=now - 5 * DAY, created_at=now
    )
    second = Sla.objects.create(team=branch, tier=strict, valid_from=now - 5 * DAY, created_at=now)
    own = Sla.objects.create(
        team=team, pool=other, tier=strict, valid_from=now - 8 * DAY, created_at=now
    )
    waited = 45 * MINUTE
    for number, (days, where) in enumerate(
        [(12, pool), (7, pool), (6, other), (5, pool), (4, pool), (9, other)]
    ):
        begun = now - days * DAY
        a_job(team, where, begun, f"job-{number}", started=begun + waited)
    kept = selectors.list_kept(from_at=now - 30 * DAY, now=now)
    counted = {sla_id: (row.met, row.missed) for sla_id, row in kept.items()}
    assert counted == {first.pk: (2, 0), second.pk: (0, 2), own.pk: (0, 1)}


def test_nothing_decided_is_no_attainment() -> None:
    assert selectors.NOTHING.permille is None


def test_what_waits_too_long_is_a_breach_once_and_ends_when_it_starts(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    give(team, a_tier(), now)
    job = a_job(team, pool, now, "train")
    assert services.find_breaches(now=now + 30 * MINUTE) == 0
    assert services.find_breaches(now=now + 31 * MINUTE) == 1
    assert services.find_breaches(now=now + 32 * MINUTE) == 0
    row = Breach.objects.get()
    assert (row.kind, row.due_at, row.ended_at) == (BreachKind.WAIT, now + 30 * MINUTE, None)
    Workload.objects.filter(pk=job.pk).update(
        state=WorkloadState.RUNNING, scheduled_at=now + 50 * MINUTE
    )
    services.find_breaches(now=now + HOUR)
    row.refresh_from_db()
    assert row.ended_at == now + 50 * MINUTE


def test_a_job_that_started_late_between_two_looks_is_found(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    give(team, a_tier(), now)
    a_job(team, pool, now, "train", started=now + 40 * MINUTE)
    a_job(team, pool, now, "in-time", started=now + 30 * MINUTE)
    services.find_breaches(now=now + 41 * MINUTE)
    row = Breach.objects.get()
    assert row.workload is not None
    assert (row.workload.name, row.ended_at) == ("train", now + 40 * MINUTE)


def test_a_breach_is_acknowledged_with_a_reason_and_an_owner(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    lead, other = builders.a_user("lead"), builders.a_user("other")
    give(team, a_tier(), now)
    a_job(team, pool, now, "train")
    services.find_breaches(now=now + HOUR)
    breach = Breach.objects.get()
    with pytest.raises(Invalid):
        services.acknowledge(breach_id=breach.pk, note=" ", actor_id=lead.pk, now=now)
    row = services.acknowledge(
        breach_id=breach.pk, note="A node was down", owner_id=other.pk, actor_id=lead.pk, now=now,
        version=1,
    )  # fmt: skip
    assert (row.acknowledged_by_id, row.owner_id, row.note) == (
        lead.pk,
        other.pk,
        "A node was down",
    )
    with pytest.raises(Conflict):
        services.acknowledge(
            breach_id=breach.pk, note="Again", actor_id=lead.pk, now=now, version=1
        )
    with pytest.raises(Missing):
        services.acknowledge(breach_id=987654, note="What?", actor_id=lead.pk, now=now)


def test_the_engine_is_told_the_target_of_the_promise_a_job_came_under(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    give(team, a_tier(), now)
    a_job(team, pool, now - HOUR, "before")
    a_job(team, pool, now, "under-it")
    frozen = freezing.freeze(cluster_id=pool.cluster_id, now=now + MINUTE)
    told = {frozen.work.rows[w.id]: w.target_wait_seconds for w in frozen.snapshot.workloads}
    names = {Workload.objects.get(pk=pk).name: seconds for pk, seconds in told.items()}
    assert names == {"before": None, "under-it": 1800}
