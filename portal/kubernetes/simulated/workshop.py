"""The state of the simulated cluster in memory, and the only ways to change what hangs together.

Devices, CPU and memory free on each node and quota used in each namespace are counted here and
nowhere else; `touch` gives a changed record its version and remembers to write it.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from portal.kubernetes.simulated import records
from portal.kubernetes.simulated.records import Entry, Job, Node, Pod, Record, Spec, Stored

# What happens in one second happens in this order.
END, GONE, NODE, READY, SAVE, CANCEL, REAP, ARRIVAL, PATIENCE, GIVE_UP, RETRY = range(11)

Event = tuple[int, int, str]


@dataclass(slots=True)
class Rules:
    """How this cluster behaves; fixed when it is made. Zero `mean_node_life`: no node is lost."""

    seed: int
    starts_at: int
    repeat_seconds: int | None = None
    mean_node_life: int = 0
    grace_seconds: int = 30
    retry_seconds: int = 10
    keep_finished_seconds: int = 600


@dataclass(slots=True)
class Arrival:
    """A job that comes `offset` seconds after the start of the trace, and of each repetition."""

    offset: int
    spec: Spec


@dataclass(slots=True)
class Room:
    """What is free on a node."""

    devices: list[int]
    cpu_milli: int
    memory_mib: int

    def holds(self, spec: Spec) -> bool:
        """Whether one task of this job fits."""
        return (
            len(self.devices) >= spec.gpus
            and self.cpu_milli >= spec.cpu_milli
            and self.memory_mib >= spec.memory_mib
        )

    def take(self, spec: Spec, devices: list[int] | None = None) -> list[int]:
        """Take one task's part, these devices or the lowest free ones, and say which."""
        taken = self.devices[: spec.gpus] if devices is None else devices
        assert set(taken) <= set(self.devices), "a device is held twice"
        self.devices = [device for device in self.devices if device not in taken]
        self.cpu_milli -= spec.cpu_milli
        self.memory_mib -= spec.memory_mib
        return taken

    def give(self, spec: Spec, devices: list[int]) -> None:
        """Give one task's part back."""
        self.devices = sorted([*self.devices, *devices])
        self.cpu_milli += spec.cpu_milli
        self.memory_mib += spec.memory_mib

    def copy(self) -> "Room":
        """Return a copy to try things on."""
        return Room(list(self.devices), self.cpu_milli, self.memory_mib)


@dataclass
class State:
    """Everything the cluster knows. `dirty`, `removed`, `deleted`, `entries` await the file.

    While it `admits`, people hand in jobs suspended or gated, for somebody to let them start.
    """

    rules: Rules
    clock: int
    version: int = 0
    cycle: int = 0
    cursor: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    admits: bool = False
    arrivals: list[Arrival] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    stored: dict[tuple[str, str, str], Stored] = field(default_factory=dict)
    room: dict[str, Room] = field(default_factory=dict)
    live: dict[str, list[Pod]] = field(default_factory=lambda: defaultdict(list))
    used: dict[str, dict[tuple[str, str], int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    quotas: dict[str, list[Stored]] = field(default_factory=lambda: defaultdict(list))
    nodes_in: dict[str, list[Node]] = field(default_factory=lambda: defaultdict(list))
    heap: list[Event] = field(default_factory=list)
    stirred: set[str] = field(default_factory=set)
    dirty: dict[tuple[str, str], Record] = field(default_factory=dict)
    removed: list[tuple[str, str]] = field(default_factory=list)
    deleted: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    # -- records -------------------------------------------------------------------------------

    def touch(self, record: Record) -> None:
        """Give a new or changed record the next version, to be written."""
        self.version += 1
        record.version = self.version
        self.dirty[type(record).__name__, record.uid] = record

    def add_node(self, node: Node) -> None:
        """Put a machine up, all free."""
        self.nodes[node.name] = node
        self.nodes_in[node.pool].append(node)
        self.room[node.name] = Room(list(range(node.gpus)), node.cpu_milli, node.memory_mib)

    def remove(self, record: Job | Pod, last_sight: dict[str, Any]) -> None:
        """Delete a job or pod; `last_sight` is told to readers who saw it before."""
        self.version += 1
        kind = type(record).__name__
        self.deleted.append((self.version, self.clock, kind, last_sight))
        self.dirty.pop((kind, record.uid), None)
        self.removed.append((kind, record.uid))
        (self.jobs if isinstance(record, Job) else self.pods).pop(record.uid)

    # -- events --------------------------------------------------------------------------------

    def expect(self, at: int | None, rank: int, key: str) -> None:
        """Let something happen at an instant; None is never."""
        if at is not None:
            heapq.heappush(self.heap, (at, rank, key))

    def retry(self, namespace: str, at: int) -> None:
        """Let the controller look at a namespace's waiting jobs again, once."""
        due = self.retries.get(namespace)
        if due is None or due > at:
            self.retries[namespace] = at
            self.expect(at, RETRY, namespace)

    # -- what hangs together -------------------------------------------------------------------

    def resource_of(self, pool: str) -> str:
        """The device resource of a pool's nodes."""
        nodes = self.nodes_in.get(pool)
        return nodes[0].resource if nodes else "nvidia.com/gpu"

    def create(self, pod: Pod, job: Job) -> None:
        """Add a pod; its devices count against quotas from here on."""
        self.pods[pod.uid] = pod
        self.live[job.uid].append(pod)
        self._count(job, job.spec.gpus)
        self.touch(pod)
        self.stirred.add(job.spec.pool)

    def bind(self, pod: Pod, job: Job, node: str, at: int) -> None:
        """Give a pod its node and devices."""
        pod.devices = self.room[node].take(job.spec)
        pod.node, pod.scheduled_at, pod.message = node, at, ""
        pod.ready_due = at + job.spec.start_delay
        self.expect(pod.ready_due, READY, pod.uid)
        self.touch(pod)
        if not job.started:
            job.started = True
            self.touch(job)

    def end(self, pod: Pod, job: Job, at: int, why: str) -> None:
        """End a pod: devices and quota are free, the books have its line."""
        pod.ended_at, pod.why = at, why
        self.live[job.uid].remove(pod)
        self._count(job, -job.spec.gpus)
        if pod.scheduled_at is not None:
            self.room[pod.node].give(job.spec, pod.devices)
            if at > pod.scheduled_at:
                self.entries.append(entry(pod, job, at))
        self.touch(pod)
        self.stirred.add(job.spec.pool)
        self.retry(job.spec.namespace, at + self.rules.retry_seconds)

    def _count(self, job: Job, gpus: int) -> None:
        namespace = job.spec.namespace
        resource = self.resource_of(job.spec.pool)
        self.used[namespace][job.priority_class, resource] += gpus
        for quota in self.quotas[namespace]:
            if covers(quota, job.priority_class):
                self.touch(quota)

    def quota_used(self, quota: Stored, resource: str) -> int:
        """Devices of a resource that pods in a quota's scope ask for."""
        return sum(
            gpus
            for (klass, name), gpus in self.used[quota.namespace].items()
            if name == resource and covers(quota, klass)
        )

    def put(self, stored: Stored) -> None:
        """Keep a written object as it is."""
        key = (stored.kind, stored.namespace, stored.name)
        if stored.kind == "ResourceQuota" and key not in self.stored:
            self.quotas[stored.namespace].append(stored)
            self.quotas[stored.namespace].sort(key=lambda quota: quota.name)
        self.stored[key] = stored

    def drop(self, stored: Stored) -> None:
        """Delete a written object."""
        del self.stored[stored.kind, stored.namespace, stored.name]
        if stored.kind == "ResourceQuota":
            self.quotas[stored.namespace].remove(stored)
        self.version += 1
        self.dirty.pop(("Stored", stored.uid), None)
        self.removed.append(("Stored", stored.uid))


def covers(quota: Stored, priority_class: str) -> bool:
    """Whether pods of a class count in a quota: by its scope selector, if it has one."""
    selector = quota.body.get("spec", {}).get("scopeSelector")
    if not selector:
        return True
    return all(_matches(term, priority_class) for term in selector.get("matchExpressions", []))


OPERATORS: dict[str, Callable[[str, list[str]], bool]] = {
    "In": lambda klass, values: klass in values,
    "NotIn": lambda klass, values: klass not in values,
    "Exists": lambda klass, values: bool(klass),
    "DoesNotExist": lambda klass, values: not klass,
}


def _matches(term: dict[str, Any], priority_class: str) -> bool:
    if term.get("scopeName") != "PriorityClass":
        return False
    return OPERATORS[term["operator"]](priority_class, term.get("values", []))


def entry(pod: Pod, job: Job, until: int) -> Entry:
    """The line of the books for what a pod held up to an instant."""
    assert pod.scheduled_at is not None
    return Entry(
        pod_uid=pod.uid, job_uid=job.uid, namespace=job.spec.namespace, node=pod.node,
        devices=tuple(pod.devices), priority_class=job.priority_class,
        from_s=pod.scheduled_at, to_s=until,
    )  # fmt: skip


def rebuild(state: State) -> None:
    """Count anew what is not kept: free devices, used quota, live pods and coming events."""
    for node in state.nodes.values():
        state.expect(node.changes_at, NODE, node.name)
    for pod in state.pods.values():
        job = state.jobs[pod.job]
        if pod.ended_at is None:
            _put_back(state, pod, job)
    for pods in state.live.values():
        pods.sort(key=lambda pod: pod.index)
    for job in state.jobs.values():
        expect_job(state, job)
    for namespace, at in state.retries.items():
        state.expect(at, RETRY, namespace)


def _put_back(state: State, pod: Pod, job: Job) -> None:
    state.live[job.uid].append(pod)
    resource = state.resource_of(job.spec.pool)
    state.used[job.spec.namespace][job.priority_class, resource] += job.spec.gpus
    if pod.scheduled_at is not None:
        state.room[pod.node].take(job.spec, pod.devices)
    if pod.ready_at is None:
        state.expect(pod.ready_due, READY, pod.uid)
    state.expect(pod.gone_at, GONE, pod.uid)


def expect_job(state: State, job: Job) -> None:
    """Let happen what a job's own times say."""
    for at, rank in (
        (job.ends_at, END),
        (job.saves_at, SAVE),
        (job.cancels_at if job.state == records.ACTIVE else None, CANCEL),
        (job.reaped_at, REAP),
    ):
        state.expect(at, rank, job.uid)
    if job.spec.waits_at_most is not None and not job.started and job.state == records.ACTIVE:
        state.expect(job.created_at + job.spec.waits_at_most, GIVE_UP, job.uid)
    if job.spec.patience is not None and job.created_at + job.spec.patience > state.clock:
        state.expect(job.created_at + job.spec.patience, PATIENCE, job.uid)
