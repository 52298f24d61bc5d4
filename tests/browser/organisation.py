"""A small organisation on a small simulated cluster, made through the rooms' own services.

The demo's people and teams, without its three weeks: one morning of a few jobs, so that some run,
some borrow and some wait, and a request of every state.
"""

from datetime import UTC, datetime, timedelta

from django.core.management import call_command

from portal.common import clock
from portal.finance import services as finance
from portal.finance.models import Statement
from portal.inventory.models import Cluster, Pool
from portal.kubernetes import ports
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Drift, RayGroup, SyncRun
from portal.kubernetes.simulated import building, tenants
from portal.kubernetes.simulated.records import Spec
from portal.kubernetes.simulated.workshop import Rules
from portal.operations import cycle, history, organisation
from portal.requests import services as requests
from portal.requests.models import Request
from portal.requests.services import Asked
from portal.reservations.models import Reservation
from portal.scheduling.models import Tick
from portal.slas import services as slas
from portal.slas.models import Breach
from portal.studies import checking, working
from portal.studies import services as studies
from portal.studies.models import Study, Trace
from portal.teams.models import Team, User
from portal.workloads.models import Workload, WorkloadState
from scheduler_core.traces import Job, Node

# A Monday: nine in the morning in Seoul, and noon, when the tests begin.
BEGINS = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
NOON = BEGINS + timedelta(hours=3)
STEP = timedelta(minutes=30)
THREE_JOBS = (
    b"job_id,submit_s,duration_s,num_gpus,vc\na,0,100,8,red\nb,10,1000,8,blue\nc,20,10,8,red\n"
)
HOUR = 3600
NODES = (
    *(Node(f"seoul-a100-{n:02}", 8, 96_000, 786_432, "A100") for n in range(4)),
    *(Node(f"seoul-t4-{n:02}", 4, 48_000, 196_608, "T4") for n in range(2)),
)
# team, minutes after nine, GPUs, hours. The A100s hold 32: what comes last has to wait.
JOBS = (
    ("vision", 5, 4, 6), ("vision", 10, 2, 5), ("speech", 12, 8, 7), ("search", 15, 4, 5),
    ("robotics", 20, 2, 6), ("platform", 30, 1, 4), ("search", 45, 8, 5), ("vision", 60, 4, 3),
    ("robotics", 70, 8, 3), ("speech", 80, 4, 2), ("vision", 90, 8, 2), ("search", 95, 2, 1),
)  # fmt: skip


def make() -> dict[str, object]:
    """Write it all, live until noon, and say which things a page can be asked for."""
    call_command("migrate", verbosity=0)
    people = organisation.create_people(now=BEGINS)
    admin = people["jihye"]
    cluster = history.set_up_cluster(name="seoul-1", plan=_plan(), now=BEGINS, actor_id=admin.pk)
    cycle.turn(cluster_id=cluster.pk, now=BEGINS)
    organisation.promise_quotas(cluster=cluster, now=BEGINS, actor_id=admin.pk)
    organisation.set_rates(cluster=cluster, now=BEGINS, actor_id=admin.pk)
    _promise_waits(admin)
    # Browsers take their time: what is known of the cluster holds for all of it.
    Cluster.objects.update(stale_after_seconds=HOUR)
    _live(cluster, BEGINS, NOON)
    _ask(people)
    _drift(cluster)
    _study()
    _begin_at(NOON)
    return {"ids": _ids()}


def _promise_waits(admin: User) -> None:
    """Vision's jobs start within ten minutes, or somebody answers for it."""
    tier = slas.create_tier(
        name="Gold", target_wait_seconds=600, answer_seconds=8 * HOUR, actor_id=admin.pk,
        now=BEGINS,
    )  # fmt: skip
    slas.set_sla(
        team_id=Team.objects.get(slug="vision").pk, pool_id=None, tier_id=tier.pk,
        valid_from=BEGINS, actor_id=admin.pk, now=BEGINS,
    )  # fmt: skip


def _study() -> None:
    """Three uploaded jobs in two orders, each seed with jobs of its own, run to the end."""
    trace = studies.upload(
        name="three jobs", form="philly", pieces=[THREE_JOBS], actor_id=None, real_now=NOON
    )
    asked = checking.Asked(
        name="Shortest first?", trace_id=trace.pk, nodes="1x8", until_second=7200, seeds=3,
        change={"kind": "rules", "rules": {"order": "sjf"}}, rules={"order": "fifo"},
    )  # fmt: skip
    studies.ask(asked=asked, actor_id=None, now=NOON, real_now=NOON)
    working.work(working.World(now=lambda: NOON, real_now=clock.real_now, leave=lambda: None))


def _drift(cluster: Cluster) -> None:
    """Somebody edits a quota of ours and makes one that binds nothing; Ray counts wrong."""
    port = ports.open_simulated(ports.simulated_file(cluster))
    for name, hard in (
        ("evenshare-guaranteed-a100", {"requests.nvidia.com/gpu": "99"}),
        ("by-hand", {"nvidia.com/gpu": "4"}),
    ):
        quota = {
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": name, "namespace": "speech"}, "spec": {"hard": hard},
        }  # fmt: skip
        port.apply(quota, manager="kubectl-edit", force=True)
    RayGroup.objects.create(
        cluster=cluster, uid="ray", namespace="vision", name="llm-train", group="gpu", desired=4,
        available=3, pod_gpus=4, ray_gpus=8, since=NOON,
    )  # fmt: skip
    kubernetes.sync_cluster(cluster_id=cluster.pk, now=NOON)


def pass_to(at: str) -> dict[str, object]:
    """Let the organisation's time pass to an instant, everything happening on the way."""
    until = datetime.fromisoformat(at)
    cluster = Cluster.objects.get()
    _live(cluster, clock.now(), until)
    _begin_at(until)
    return {}


def submit(team: str, reservation_id: int, gpus: int, seconds: int) -> dict[str, object]:
    """Somebody of a team hands in a job that names a reservation, and the portal sees it at once."""
    row = Reservation.objects.select_related("pool__cluster").get(pk=reservation_id)
    cluster, pool = row.pool.cluster, row.pool.name
    port = ports.open_simulated(ports.simulated_file(cluster))
    # The cluster knows whole seconds.
    now = clock.now().replace(microsecond=0) + timedelta(seconds=1)
    port.advance(now)
    notes = {"reservation": str(row.pk), "class": "training", "user": "junho"}
    spec = Spec(
        name=f"in-r-{row.pk}", namespace=team, pool=pool, gpus=gpus, work_seconds=seconds,
        cpu_milli=gpus * 4000, memory_mib=gpus * 32_768, priority_class=tenants.guaranteed(pool),
        annotations={f"evenshare.io/{name}": value for name, value in notes.items()},
    )  # fmt: skip
    uid = port.submit(spec)
    cycle.turn(cluster_id=cluster.pk, now=now)
    _begin_at(now)
    return {"uid": uid, "name": spec.name}


def books(uid: str) -> dict[str, object]:
    """The cluster's own books of one job."""
    cluster = Cluster.objects.get()
    entries = ports.open_simulated(ports.simulated_file(cluster)).books()
    held = [entry for entry in entries if entry.job_uid == uid]
    return {
        "device_seconds": sum((e.to_s - e.from_s) * len(e.devices) for e in held),
        "devices": max((len(e.devices) for e in held), default=0),
    }


def newest_reservation() -> dict[str, object]:
    """The reservation booked last."""
    return {"id": Reservation.objects.order_by("-pk").values_list("pk", flat=True)[0]}


def _plan() -> building.Plan:
    jobs = tuple(
        Job(
            f"{number:03}", minutes * 60, hours * HOUR, gpus * 1000, team=team, gpu_models=("A100",)
        )
        for number, (team, minutes, gpus, hours) in enumerate(JOBS)
    )
    return building.Plan(
        nodes=NODES, jobs=jobs, rules=Rules(seed=7, starts_at=int(BEGINS.timestamp()) + 300),
        namespace_of=lambda job: job.team, unowned_share=0,
        people={team: tuple(organisation.usernames(team)) for team in organisation.JOB_TEAMS},
    )  # fmt: skip


def _live(cluster: Cluster, begins: datetime, until: datetime) -> None:
    """Turn after turn, the last one at `until` itself."""
    steps = max(1, -((begins - until) // STEP))
    for left in range(steps - 1, -1, -1):
        cycle.turn(cluster_id=cluster.pk, now=until - left * STEP)
    finance.compute_open(now=until)


def _begin_at(at: datetime) -> None:
    clock.set_anchor(real_at=clock.real_now(), organisation_at=at, speed=1)


def _ask(people: dict[str, User]) -> None:
    """A request of every state, from Vision and from others."""
    lead, admin = people["minji"], people["jihye"]
    granted = _submitted(lead, "vision", 4, day=2, reason="Weekly evaluation")
    requests.approve(request_id=granted.pk, actor_id=admin.pk, now=NOON, note="Good luck.")
    refused = _submitted(lead, "vision", 2, day=3, reason="Trying things out")
    requests.reject(request_id=refused.pk, actor_id=admin.pk, now=NOON, note="The T4s are idle.")
    open_one = _submitted(lead, "vision", 2, day=4, reason="Ablation runs")
    requests.comment(request_id=open_one.pk, actor_id=lead.pk, now=NOON, text="It can move a day.")
    _submitted(people["sujin"], "search", 4, day=5, reason="Re-index")
    _draft(lead, "vision", 1, day=6, reason="Annotation tool")


def _submitted(who: User, team: str, gpus: int, *, day: int, reason: str) -> Request:
    row = _draft(who, team, gpus, day=day, reason=reason)
    return requests.submit(request_id=row.pk, actor_id=who.pk, now=NOON)


def _draft(who: User, team: str, gpus: int, *, day: int, reason: str) -> Request:
    starts_at = BEGINS + timedelta(days=day)
    asked = Asked(
        kind="reservation", team_id=Team.objects.get(slug=team).pk, gpus=gpus, zone="Asia/Seoul",
        pool_id=Pool.objects.get(name="a100").pk, starts_at=starts_at, reason=reason,
        ends_at=starts_at + timedelta(hours=8),
    )  # fmt: skip
    return requests.save_draft(asked=asked, actor_id=who.pk, now=NOON)


def _ids() -> dict[str, list[object]]:
    """What the arguments of routes may be: one of each kind that looks different."""
    jobs = Workload.objects.filter(team__slug="vision")
    tick = Tick.objects.order_by("-pk").values_list("pk", flat=True)[0]
    vision = Statement.objects.filter(team__slug="vision")
    return {
        "request_id": list(
            Request.objects.filter(team__slug="vision").values_list("pk", flat=True)
        ),
        "workload_id": [
            jobs.filter(state=state).values_list("pk", flat=True)[0]
            for state in (WorkloadState.RUNNING, WorkloadState.WAITING)
        ],
        "statement_id": list(vision.values_list("pk", flat=True)),
        "tick_id": [tick],
        "cluster_id": [Cluster.objects.get().pk],
        "run_id": [SyncRun.objects.latest("id").pk],
        "drift_id": list(
            Drift.objects.filter(closed_at=None).order_by("id").values_list("pk", flat=True)
        ),
        "month": ["2026-11"],
        "team_id": [Team.objects.get(slug="vision").pk],
        "pool_id": [Pool.objects.order_by("id").values_list("pk", flat=True)[0]],
        "study_id": [Study.objects.latest("id").pk],
        "trace_id": [Trace.objects.latest("id").pk],
        "breach_id": list(Breach.objects.order_by("id").values_list("pk", flat=True)[:1]),
    }
