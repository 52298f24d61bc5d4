"""Rows for tests: each function makes one thing with plain defaults and says so in its arguments."""

from datetime import UTC, datetime, timedelta

from django.db import connection

from portal.inventory.models import Cluster, ClusterKind, GPUModel, Node, Pool
from portal.quotas.models import Quota
from portal.reservations.models import Reservation, ReservationState, Source
from portal.slas.models import Breach, BreachKind, Sla, Tier
from portal.studies.models import Study, Trace
from portal.teams.models import Role, RoleAssignment, Team, TeamTerm, User
from portal.usage.models import GRID_SECONDS, LedgerEntry
from portal.workloads.models import Pod, Workload

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def a_user(username: str = "minji", role: Role | None = None, team: Team | None = None) -> User:
    """A person, with a role if one is named."""
    user = User.objects.create_user(username=username, password=None)
    if role is not None:
        RoleAssignment.objects.create(user=user, role=role, team=team, created_at=LONG_AGO)
    return user


def a_team(slug: str = "vision", parent: Team | None = None, weight: int = 1) -> Team:
    """A team that stands in the tree since long ago."""
    team = Team.objects.create(slug=slug, name=slug.capitalize(), created_at=LONG_AGO)
    TeamTerm.objects.create(team=team, parent=parent, weight=weight, valid_from=LONG_AGO)
    return team


def a_cluster(name: str = "lab") -> Cluster:
    """A simulated cluster in quota mode."""
    return Cluster.objects.create(name=name, kind=ClusterKind.SIMULATED, created_at=LONG_AGO)


def a_pool(
    name: str = "h100", cluster: Cluster | None = None, nodes: int = 0, gpus: int = 8
) -> Pool:
    """A pool of whole devices, with so many equal nodes known since long ago."""
    cluster = cluster or Cluster.objects.first() or a_cluster()
    model, _ = GPUModel.objects.get_or_create(name=name.upper(), defaults={"memory_mib": 81559})
    pool = Pool.objects.create(cluster=cluster, name=name, gpu_model=model, created_at=LONG_AGO)
    for number in range(nodes):
        a_node(pool, f"{name}-{number}", gpus=gpus)
    return pool


def a_node(pool: Pool, name: str, gpus: int = 8, first_seen_at: datetime = LONG_AGO) -> Node:
    """A ready node."""
    return Node.objects.create(
        cluster=pool.cluster, pool=pool, name=name, gpus=gpus, cpu_milli=128_000,
        memory_mib=1_048_576, first_seen_at=first_seen_at,
    )  # fmt: skip


def a_quota(team: Team, pool: Pool, guaranteed: int = 8, limit: int | None = None) -> Quota:
    """A quota that holds since long ago."""
    return Quota.objects.create(
        team=team, pool=pool, guaranteed=guaranteed, limit=limit, valid_from=LONG_AGO,
        created_at=LONG_AGO,
    )  # fmt: skip


def a_workload(
    team: Team | None, pool: Pool, name: str = "train", tasks: int = 1, gpu_milli: int = 1000,
    submitted_at: datetime = LONG_AGO, **columns: object,
) -> Workload:  # fmt: skip
    """A waiting job that asks for whole GPUs of a pool."""
    return Workload.objects.create(
        cluster=pool.cluster, uid=f"uid-{name}", name=name, namespace=team.slug if team else "lost",
        team=team, pool=pool, tasks=tasks, gpu_milli=gpu_milli, cpu_milli=4000, memory_mib=16384,
        submitted_at=submitted_at, seen_at=submitted_at, **columns,
    )  # fmt: skip


def a_pod(
    workload: Workload, node: Node | None, name: str = "", scheduled_at: datetime = LONG_AGO,
    **columns: object,
) -> Pod:  # fmt: skip
    """A pod that holds its devices on a node, or without one waits for a node."""
    name = name or f"{workload.name}-{workload.pods.count()}"
    given = {
        "gpu_milli": workload.gpu_milli, "cpu_milli": workload.cpu_milli,
        "memory_mib": workload.memory_mib, **columns,
    }  # fmt: skip
    return Pod.objects.create(
        workload=workload, uid=f"uid-{name}", name=name, node=node, created_at=scheduled_at,
        scheduled_at=scheduled_at if node else None, seen_at=scheduled_at, **given,
    )  # fmt: skip


def use(
    team: Team | None, pool: Pool, from_at: datetime, to_at: datetime, gpus: int = 1,
    charged_to: str = "guaranteed", node: Node | None = None, reservation: Reservation | None = None,
    milli: int = 0,
) -> list[LedgerEntry]:  # fmt: skip
    """Ledger rows of one pod that held GPUs (or `milli` of one) from when to when, cell by cell."""
    node = node or pool.nodes.first()
    assert node is not None
    number = LedgerEntry.objects.count()
    rows = []
    first = from_at
    while first < to_at:
        cell = int(first.timestamp()) // GRID_SECONDS * GRID_SECONDS
        last = min(to_at, datetime.fromtimestamp(cell + GRID_SECONDS, UTC))
        rows.append(
            LedgerEntry(
                cluster=pool.cluster, pod_uid=f"pod-{number}", from_at=first, to_at=last,
                workload_id=number, reservation_id=reservation.pk if reservation else None,
                team=team, pool=pool, node_id=node.pk, gpu_model=pool.gpu_model.name,
                gpu_milli=milli or gpus * 1000, charged_to=charged_to,
                seconds=int((last - first).total_seconds()),
            )
        )  # fmt: skip
        first = last
    return LedgerEntry.objects.bulk_create(rows)


def a_reservation(
    team: Team, pool: Pool, starts_at: datetime, hours: int, gpus: int = 4,
    source: str = Source.POOL, state: str = ReservationState.COMPLETED,
) -> Reservation:  # fmt: skip
    """A reservation that took place."""
    ends_at = starts_at + timedelta(hours=hours)
    return Reservation.objects.create(
        team=team, pool=pool, gpus=gpus, source=source, starts_at=starts_at, ends_at=ends_at,
        planned_ends_at=ends_at, zone="Asia/Seoul", state=state, created_at=LONG_AGO,
    )  # fmt: skip


def a_breach(workload: Workload, due_at: datetime) -> Breach:
    """A job that waits longer than its team was promised."""
    assert workload.team is not None
    tier, _ = Tier.objects.get_or_create(
        name="gold", defaults={"target_wait_seconds": 1800, "created_at": LONG_AGO}
    )
    sla = Sla.objects.create(
        team=workload.team, tier=tier, valid_from=LONG_AGO, created_at=LONG_AGO
    )
    return Breach.objects.create(
        kind=BreachKind.WAIT, sla=sla, team=workload.team, workload=workload, due_at=due_at
    )


def a_trace(now: datetime) -> Trace:
    """An uploaded trace; none of its text."""
    return Trace.objects.create(
        name="lab", form="philly", size=1, jobs=1, first_second=0, last_second=1, created_at=now,
        used_at=now,
    )  # fmt: skip


def a_study(team: Team | None, cluster: Cluster, now: datetime) -> Study:
    """A study in the queue: another order over the day before, shared with a team."""
    return Study.objects.create(
        name="another order", cluster=cluster, from_at=now - timedelta(days=1), to_at=now,
        base_rules={"order": "fifo"}, change={"kind": "rules", "rules": {"order": "sjf"}},
        draw="resampled", seeds=[1, 2, 3], team=team, created_at=now, queued_real_at=now,
    )  # fmt: skip


def behind_the_guard(sql: str) -> None:
    """Change the audit trail as somebody with the database's own powers would."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ALTER TABLE common_auditevent DISABLE TRIGGER USER")
        else:
            cursor.execute("DROP TRIGGER IF EXISTS common_auditevent_update")
            cursor.execute("DROP TRIGGER IF EXISTS common_auditevent_delete")
        cursor.execute(sql)
