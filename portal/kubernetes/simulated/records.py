"""What the simulated cluster keeps: nodes, jobs, pods and written objects.

Times are whole seconds since the epoch. `version` is the resourceVersion of the last change.
"""

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

ACTIVE, COMPLETE, FAILED = "Active", "Complete", "Failed"
PREEMPTED, NODE_LOST, EVICTED, SUSPENDED, DELETED = (
    "PreemptionByScheduler",
    "DeletionByTaintManager",
    "EvictionByEvictionAPI",
    "JobSuspended",
    "JobDeleted",
)
SUCCEEDED, CRASHED = "Completed", "Error"


@dataclass(slots=True)
class Spec:
    """A job as a person hands it in. Amounts are of one task; a task lives on one node.

    `work_seconds` is how long it really runs; `fails_after`, if set, is how much work it does
    before it fails, `cancelled_after` how long after submission its owner stops it, and
    `waits_at_most` how long it may wait for its first start before they give up. With
    `save_every` it saves its work in that rhythm and resumes from there.
    """

    name: str
    namespace: str
    pool: str
    gpus: int
    work_seconds: int
    tasks: int = 1
    cpu_milli: int = 0
    memory_mib: int = 0
    annotations: dict[str, str] = field(default_factory=dict)
    priority_class: str = ""
    start_delay: int = 0
    fails_after: int | None = None
    cancelled_after: int | None = None
    save_every: int | None = None
    save_seconds: int = 0
    restore_seconds: int = 0
    patience: int | None = None
    waits_at_most: int | None = None


@dataclass(slots=True)
class Node:
    """A machine. `changes_at` is when it is lost next or, while it is not ready, repaired."""

    uid: str
    name: str
    pool: str
    gpu_model: str
    resource: str
    gpus: int
    cpu_milli: int
    memory_mib: int
    created_at: int
    ready: bool = True
    cordoned: bool = False
    changed_at: int = 0
    changes_at: int | None = None
    version: int = 0


@dataclass(slots=True)
class Job:
    """A job in the cluster. `done_seconds` is the work saved so far and survives an eviction.

    While it runs, `zero_at` is when its work would have begun had it never been interrupted: at
    any instant it has done `instant - zero_at` seconds of it. A suspended job has no pods, those
    of a gated one wait for their gate to go. `marks` are annotations it was given, `orders` what
    its pod template was given: `annotations` and `affinity`.
    """

    uid: str
    spec: Spec
    created_at: int
    priority_class: str
    state: str = ACTIVE
    suspended: bool = False
    done_seconds: int = 0
    attempt: int = 0
    zero_at: int | None = None
    ends_at: int | None = None
    saves_at: int | None = None
    saved_at: int | None = None
    cancels_at: int | None = None
    ended_at: int | None = None
    reaped_at: int | None = None
    nominated: list[str] = field(default_factory=list)
    nominated_until: int = 0
    refused_at: int | None = None
    refusal: str = ""
    version: int = 0
    started: bool = False
    gated: bool = False
    marks: dict[str, str] = field(default_factory=dict)
    orders: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Pod:
    """One task of one attempt of a job. It holds `devices` from `scheduled_at` to `ended_at`.

    `orders` is what the pod itself was given: `annotations` and `affinity`.
    """

    uid: str
    name: str
    job: str
    index: int
    created_at: int
    priority: int
    preempts: bool
    node: str = ""
    devices: list[int] = field(default_factory=list)
    scheduled_at: int | None = None
    ready_at: int | None = None
    ready_due: int | None = None
    stopping_at: int | None = None
    gone_at: int | None = None
    ended_at: int | None = None
    why: str = ""
    message: str = ""
    version: int = 0
    gated: bool = False
    orders: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Stored:
    """A written object: namespace, quota or priority class. `owners` maps a field to managers."""

    uid: str
    kind: str
    namespace: str
    name: str
    created_at: int
    body: dict[str, Any]
    owners: dict[str, dict[str, int]] = field(default_factory=dict)
    version: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the cluster's own books: who held what from when to when, half-open."""

    pod_uid: str
    job_uid: str
    namespace: str
    node: str
    devices: tuple[int, ...]
    priority_class: str
    from_s: int
    to_s: int


Record = Node | Job | Pod | Stored
R = TypeVar("R", Node, Job, Pod, Stored, Spec)


def pack(record: Record | Spec) -> list[Any]:
    """Return a record as plain JSON, fields in their order."""
    values = [getattr(record, f.name) for f in fields(record)]
    return [pack(value) if isinstance(value, Spec) else value for value in values]


def unpack(kind: type[R], values: list[Any]) -> R:
    """Return the record that `pack` made these values of."""
    if kind is Job:
        values = [values[0], Spec(*values[1]), *values[2:]]
    return kind(*values)
