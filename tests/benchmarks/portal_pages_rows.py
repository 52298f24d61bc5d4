"""Rows for every list page, so many of each; see `portal_pages`."""

from datetime import UTC, datetime, timedelta
from typing import Any

from portal.common.models import AuditEvent
from portal.finance.models import Budget, BudgetPeriod, Month, Statement
from portal.inventory.models import Commitment, CommitmentKind, Node, Pool
from portal.kubernetes.models import Drift, RayGroup, Stop, SyncRun, SyncState, SyncWrite
from portal.notifications.models import Notification
from portal.quotas.models import Quota
from portal.requests.models import Request, RequestKind, RequestState
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling.models import Forecast, Standing, Tick, TickState, Verb
from portal.slas.models import Breach, BreachKind, Sla, Tier
from portal.teams.models import Organisation, Role, RoleAssignment, Team, TeamTerm, User
from portal.workloads.models import Workload, WorkloadState
from tests import builders

NOW = datetime(2026, 11, 2, 3, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BATCH = 2000
NODES_EACH = 20


def fill(count: int) -> list[str]:
    """Write so many rows of each kind; gives the pages that list them, as an admin reads them."""
    Organisation.objects.create(name="Hangang Labs")
    admin, lead = builders.a_user("admin", Role.ADMIN), builders.a_user("lead", Role.LEAD)
    pools = [builders.a_pool(f"pool-{number}") for number in range(10)]
    teams = _teams(max(10, count // 100))
    _nodes(pools)
    _quotas(teams, pools)
    _requests(count, teams, pools, lead)
    _reservations(count, teams, pools)
    _promises(count, _jobs(count, teams, pools))
    _people(count, admin, teams)
    _bills(count, teams)
    cluster = pools[0].cluster_id
    run = _cluster(count, cluster)
    return [
        "/requests/?tab=all", "/requests/?tab=all&sort=team", "/requests/?tab=all&page=100",
        "/requests/?tab=waiting", "/queue/", "/queue/?state=ended", "/quotas/",
        f"/quotas/pools/{pools[0].pk}/", f"/quotas/{teams[0].pk}/{pools[0].pk}/", "/slas/",
        "/audit/", "/people/", "/inbox/", "/maintenance/", "/capacity/", "/costs/",
        "/costs/budgets/", "/clusters/", f"/clusters/{cluster}/", f"/clusters/{cluster}/log/",
        f"/clusters/{cluster}/jobs/", f"/clusters/{cluster}/ray/", f"/clusters/syncs/{run}/",
        "/api/v1/requests", "/api/v1/reservations", "/api/v1/quotas", "/api/v1/breaches",
        "/api/v1/workloads", "/api/v1/nodes", "/api/v1/notifications", "/api/v1/statements",
        f"/api/v1/clusters/{cluster}/drift", "/", "/reserve/", "/reserve/?span=month", "/rules/",
        "/requests/quota/", "/requests/extension/", "/requests/give-back/", "/requests/sla/",
        *_single(teams[0].pk), "/costs/use/",
    ]  # fmt: skip


def _single(team_id: int) -> list[str]:
    """A job that waits, one that ended, and a statement."""
    jobs = Workload.objects.filter(team_id=team_id)
    waiting = jobs.filter(state=WorkloadState.WAITING).order_by("pk")[0].pk
    ended = jobs.exclude(state=WorkloadState.WAITING).order_by("pk")[0].pk
    statement = Statement.objects.filter(team_id=team_id).order_by("pk")[0].pk
    return [f"/queue/{waiting}/", f"/queue/{ended}/", f"/costs/statements/{statement}/"]


def _saved(model: Any, rows: Any) -> list[Any]:
    return list(model._default_manager.bulk_create(rows, batch_size=BATCH))


def _teams(count: int) -> list[Team]:
    parents = [builders.a_team(f"branch-{number}") for number in range(10)]
    teams = _saved(
        Team,
        [
            Team(slug=f"team-{n}", name=f"Team {n}", created_at=builders.LONG_AGO)
            for n in range(count)
        ],
    )
    _saved(
        TeamTerm,
        [
            TeamTerm(team=team, parent=parents[n % 10], valid_from=builders.LONG_AGO)
            for n, team in enumerate(teams)
        ],
    )
    return teams


def _nodes(pools: list[Pool]) -> None:
    _saved(
        Node,
        [
            Node(
                cluster_id=pool.cluster_id, pool=pool, name=f"{pool.name}-{n}", gpus=8,
                cpu_milli=128_000, memory_mib=1_048_576, first_seen_at=builders.LONG_AGO,
            )
            for pool in pools
            for n in range(NODES_EACH)
        ],
    )  # fmt: skip


def _quotas(teams: list[Team], pools: list[Pool]) -> None:
    """Each team's figure in each pool, changed nine times before; those that hold are promised."""
    rows = _saved(
        Quota,
        [
            Quota(
                team=team, pool=pool, guaranteed=n % 2, limit=8, created_at=NOW,
                valid_from=builders.LONG_AGO + n * DAY,
                valid_to=None if n == 9 else builders.LONG_AGO + (n + 1) * DAY,
            )
            for team in teams
            for pool in pools
            for n in range(10)
        ],
    )  # fmt: skip
    _saved(
        Commitment,
        [
            Commitment(
                kind=CommitmentKind.QUOTA, source_id=row.pk, pool_id=row.pool_id,
                team_id=row.team_id, gpus=row.guaranteed, starts_at=row.valid_from, ends_at=None,
            )
            for row in rows
            if row.valid_to is None and row.guaranteed
        ],
    )  # fmt: skip


def _requests(count: int, teams: list[Team], pools: list[Pool], lead: User) -> None:
    states = [RequestState.SUBMITTED, RequestState.APPROVED, RequestState.EXPIRED]
    _saved(
        Request,
        [
            Request(
                kind=RequestKind.RESERVATION, team=teams[n % len(teams)], pool=pools[n % 10],
                state=states[n % 3], requested_by=lead, reason="Runs", gpus=1 + n % 8, zone="UTC",
                starts_at=NOW + (n % 500) * HOUR, ends_at=NOW + (n % 500 + 4) * HOUR,
                created_at=NOW, submitted_at=NOW - (n % 400) * HOUR, submitted_by=lead,
                expires_at=NOW + 300 * HOUR,
            )
            for n in range(count)
        ],
    )  # fmt: skip


def _reservations(count: int, teams: list[Team], pools: list[Pool]) -> None:
    _saved(
        Reservation,
        [
            Reservation(
                team=teams[n % len(teams)], pool=pools[n % 10], gpus=1, zone="UTC",
                starts_at=NOW - (n + 8) * HOUR, ends_at=NOW - (n + 4) * HOUR, created_at=NOW,
                planned_ends_at=NOW - (n + 4) * HOUR, state=ReservationState.COMPLETED,
            )
            for n in range(count)
        ],
    )  # fmt: skip


def _jobs(count: int, teams: list[Team], pools: list[Pool]) -> list[Workload]:
    """So many that have ended, and so many that wait with a place and a forecast each."""
    common: dict[str, Any] = {"cluster_id": pools[0].cluster_id, "namespace": "lab", "seen_at": NOW}
    ended = [
        Workload(
            uid=f"job-{n}", name=f"job-{n}", team=teams[n % len(teams)], pool=pools[n % 10],
            tasks=1, gpu_milli=1000, submitted_at=NOW - (n % 600 + 1) * HOUR,
            scheduled_at=NOW - (n % 600) * HOUR, state=WorkloadState.SUCCEEDED, ended_at=NOW,
            **common,
        )
        for n in range(count)
    ]  # fmt: skip
    waiting = [
        Workload(
            uid=f"new-{n}", name=f"new-{n}", team=teams[n % len(teams)], pool=pools[n % 10],
            tasks=1, gpu_milli=1000, submitted_at=NOW - (n % 90) * HOUR, **common,
        )
        for n in range(count)
    ]  # fmt: skip
    done = _saved(Workload, ended)
    tick = Tick.objects.create(
        cluster_id=common["cluster_id"], at=NOW, started_real_at=NOW, state=TickState.DONE
    )
    for_jobs = _saved(Workload, waiting)
    detail = {"limit": 8, "in_use": 8, "asked": 1}
    _saved(
        Standing,
        [
            Standing(
                workload=job, tick=tick, verb=Verb.WAIT, reason="quota", detail=detail,
                position=n + 1, planned_start=NOW + HOUR,
            )
            for n, job in enumerate(for_jobs)
        ],
    )  # fmt: skip
    _saved(
        Forecast,
        [
            Forecast(
                workload=job, made_at=NOW, first=True, p50=NOW + HOUR, p90=NOW + 2 * HOUR,
                grace_seconds=15,
            )
            for job in for_jobs
        ],
    )  # fmt: skip
    _saved(
        Stop,
        [Stop(workload=job, tick_id=tick.pk, why="reclaim", opened_at=NOW) for job in done],
    )
    return done


def _promises(count: int, jobs: list[Workload]) -> None:
    tier = Tier.objects.create(
        name="Gold", target_wait_seconds=1800, answer_seconds=3600, created_at=NOW
    )
    parents = Team.objects.filter(slug__startswith="branch-")
    slas = _saved(
        Sla,
        [Sla(team=p, tier=tier, valid_from=builders.LONG_AGO, created_at=NOW) for p in parents],
    )
    _saved(
        Breach,
        [
            Breach(
                kind=BreachKind.WAIT, sla=slas[n % 10], team_id=job.team_id or 0, workload=job,
                due_at=job.submitted_at + HOUR / 2, ended_at=job.scheduled_at,
            )
            for n, job in enumerate(jobs)
        ],
    )  # fmt: skip


def _people(count: int, reader: User, teams: list[Team]) -> None:
    """Members, what the reader is told, and the trail it is told from."""
    people = _saved(User, [User(username=f"person-{n}", first_name=f"P{n}") for n in range(count)])
    _saved(
        RoleAssignment,
        [
            RoleAssignment(
                user=person, role=Role.MEMBER, team=teams[n % len(teams)],
                created_at=builders.LONG_AGO,
            )
            for n, person in enumerate(people)
        ],
    )  # fmt: skip
    _saved(
        AuditEvent,
        [
            AuditEvent(
                at=NOW, actor_id=reader.pk, action="requests.submitted", target_type="request",
                target_id=n + 1, team_id=teams[n % len(teams)].pk, data={"gpus": n},
                previous_hash=f"{n:064x}", hash=f"{n + 1:064x}",
            )
            for n in range(count)
        ],
    )  # fmt: skip
    _saved(
        Notification,
        [
            Notification(
                user=reader, event_id=n + 1, kind="decide", action="requests.submitted",
                actor_id=people[0].pk, target_type="request", target_id=n + 1,
                team_id=teams[n % len(teams)].pk, data={"kind": "reservation"}, at=NOW,
            )
            for n in range(count)
        ],
    )  # fmt: skip


def _bills(count: int, teams: list[Team]) -> None:
    """So many budgets, and statements of months gone by."""
    _saved(
        Budget,
        [
            Budget(
                team=teams[n % len(teams)], period=BudgetPeriod.MONTH, amount_micro=10**12,
                currency="KRW", created_at=NOW, valid_from=builders.LONG_AGO - (n + 1) * DAY,
                valid_to=builders.LONG_AGO - n * DAY,
            )
            for n in range(count)
        ],
    )  # fmt: skip
    months = [
        (datetime(2026 - n // 12, 12 - n % 12, 1, tzinfo=UTC), n)
        for n in range(2, count // len(teams) + 2)
    ]
    for begins, _n in months:
        ends = (begins + 32 * DAY).replace(day=1)
        month = Month.objects.create(
            name=f"{begins:%Y-%m}", starts_at=begins, ends_at=ends, zone="UTC", state="final",
            computed_at=NOW, closed_at=NOW,
        )  # fmt: skip
        _saved(
            Statement,
            [
                Statement(
                    month=month, team=team, team_name=team.name, period_starts_at=begins,
                    period_ends_at=ends, zone="UTC", state="final", currency="KRW",
                    total_micro=10**12, computed_at=NOW, closed_at=NOW,
                )
                for team in teams
            ],
        )  # fmt: skip


def _cluster(count: int, cluster_id: int) -> int:
    """What was written to the cluster and where it differs; gives a sync that wrote all of it."""
    names = [
        {"kind": "ResourceQuota", "namespace": f"ns-{n}", "name": "quota"} for n in range(count)
    ]
    _saved(
        Drift,
        [
            Drift(
                cluster_id=cluster_id, field="spec.hard", wanted=8, found=9, manager="kubectl",
                opened_at=NOW, **name,
            )
            for name in names
        ],
    )  # fmt: skip
    runs = _saved(
        SyncRun,
        [
            SyncRun(cluster_id=cluster_id, at=NOW, state=SyncState.DONE, intended=1, writes=1)
            for _name in names
        ],
    )
    _saved(
        SyncWrite,
        [SyncWrite(run=runs[0], field="spec.hard", was=8, now=9, **name) for name in names],
    )
    _saved(
        RayGroup,
        [
            RayGroup(
                cluster_id=cluster_id, uid=f"ray-{n}", namespace="lab", name=f"ray-{n}",
                group="workers", desired=2, available=1, pod_gpus=1, ray_gpus=1 + n % 2, since=NOW,
            )
            for n in range(count)
        ],
    )  # fmt: skip
    return int(runs[0].pk)
