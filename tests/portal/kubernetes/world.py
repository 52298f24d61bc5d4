"""A small simulated cluster to try things on: two pools, two teams, a few hand-made jobs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind, Pool
from portal.kubernetes import manifests, ports
from portal.kubernetes.manifests import PoolShape, Target
from portal.kubernetes.port import MANAGER, Manifest
from portal.kubernetes.simulated import building
from portal.kubernetes.simulated.building import Plan
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.kubernetes.simulated.records import Entry, Spec
from portal.kubernetes.simulated.workshop import Rules
from scheduler_core.traces import Job, Node
from tests import builders

START = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
GPU = "nvidia.com/gpu"
NODES = (
    Node("big-0", 8, 96_000, 786_432, "A100"),
    Node("big-1", 8, 96_000, 786_432, "A100"),
    Node("small-0", 4, 48_000, 196_608, "T4"),
    Node("small-1", 4, 48_000, 196_608, "T4"),
)
POOLS = (PoolShape("a100", GPU), PoolShape("t4", GPU))
TEAMS = ("vision", "speech")


def minutes(number: float) -> timedelta:
    """So many minutes."""
    return timedelta(minutes=number)


def rules(seed: int = 1, node_life: int = 0) -> Rules:
    """Rules of a cluster that begins at START and loses no node unless told."""
    return Rules(seed=seed, starts_at=int(START.timestamp()), mean_node_life=node_life)


def a_plan(jobs: tuple[Job, ...] = (), seed: int = 1, node_life: int = 0) -> Plan:
    """A plan with these jobs; a job's team is its namespace."""
    return Plan(
        nodes=NODES, jobs=jobs, rules=rules(seed, node_life), namespace_of=lambda job: job.team,
        people={"vision": ("minji", "junho"), "speech": ("jiwoo",), "sandbox": ()},
        unowned_share=0.05,
    )  # fmt: skip


def a_port(path: Path, plan: Plan | None = None) -> SimulatedCluster:
    """A new cluster in this folder, with our priority classes."""
    building.create(path / "lab.cluster", plan or a_plan())
    port = SimulatedCluster(path / "lab.cluster")
    for klass in manifests.priority_classes(POOLS):
        port.apply(klass, manager=MANAGER)
    return port


def a_spec(name: str, gpus: int = 1, work: int = 3600, **more: object) -> Spec:
    """A job of vision's that asks for A100s, is there at once and never fails."""
    plain = Spec(name=name, namespace="vision", pool="a100", gpus=gpus, work_seconds=work)
    return replace(plain, **more)  # type: ignore[arg-type]  # names are checked when it runs


def allow(
    port: SimulatedCluster, namespace: str, guaranteed: int, burst: int, pool: str = "a100"
) -> None:
    """Write a namespace's quotas for one pool, 0 for the other."""
    targets = {pool: Target(guaranteed, burst, guaranteed + burst)}
    for quota in manifests.quotas(namespace, targets, POOLS, [GPU]):
        port.apply(quota, manager=MANAGER)


def a_registered(folder: Path, plan: Plan | None = None) -> tuple[Cluster, SimulatedCluster]:
    """A cluster in `folder` and in the portal, with pools, two teams and their namespaces.

    The settings must name the folder as VAR_DIR.
    """
    port = a_port(folder, plan)
    cluster = inventory.register_cluster(
        name="lab", kind=ClusterKind.SIMULATED, now=START, actor_id=None,
        settings={"file": "lab.cluster"},
    )  # fmt: skip
    for position, (name, model) in enumerate((("t4", "T4"), ("a100", "A100"))):
        inventory.register_pool(
            cluster_id=cluster.pk, name=name, gpu_model=model, position=position, now=START,
            actor_id=None,
        )  # fmt: skip
    for slug in TEAMS:
        team = builders.a_team(slug)
        inventory.register_namespace(
            cluster_id=cluster.pk, name=slug, team_id=team.pk, now=START, actor_id=None
        )
    return cluster, port


def reopened(cluster: Cluster) -> SimulatedCluster:
    """The cluster as a process sees it that was just started."""
    path = ports.simulated_file(cluster)
    ports.forget(path)
    return ports.open_simulated(path)


def pool_of(cluster: Cluster, name: str) -> Pool:
    """A pool by name."""
    return Pool.objects.get(cluster=cluster, name=name)


def pods_of(port: SimulatedCluster, name: str) -> list[Manifest]:
    """The pods of a job by its name, those that are there."""
    return [
        item for item in port.pods().items if item["metadata"]["ownerReferences"][0]["name"] == name
    ]


def phase(port: SimulatedCluster, name: str) -> str:
    """The phase of the first pod of a job; empty when it has none."""
    return next((item["status"]["phase"] for item in pods_of(port, name)), "")


def held(entries: list[Entry]) -> dict[str, int]:
    """Device-seconds by pod."""
    total: dict[str, int] = {}
    for entry in entries:
        seconds = (entry.to_s - entry.from_s) * len(entry.devices)
        total[entry.pod_uid] = total.get(entry.pod_uid, 0) + seconds
    return total
