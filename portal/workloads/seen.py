"""A job and its pods as a cluster shows them, in this room's words; no Kubernetes here.

Whoever reads a cluster hands these over; times are UTC, amounts are of one task.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from portal.workloads.models import Kind, WorkloadState


@dataclass(frozen=True, slots=True)
class SeenPod:
    """One pod. `why` is why it stops or ended: preempted, node_lost, evicted, failed.

    `devices` are (index, milli) pairs where the cluster tells them; `guaranteed` says whether it
    carries the class of work within the guarantee. Once it has a node its volumes are mounted, its
    init containers (if it has any) end, and its containers start when their images are there;
    `restarts` is how often they began anew. While it is `gated` it waits for nobody but whoever
    opens its gate.
    """

    uid: str
    name: str
    node: str
    gpu_milli: int
    created_at: datetime
    cpu_milli: int = 0
    memory_mib: int = 0
    devices: tuple[tuple[int, int], ...] = ()
    priority_class: str = ""
    guaranteed: bool = False
    gated: bool = False
    scheduled_at: datetime | None = None
    mounted_at: datetime | None = None
    initialized_at: datetime | None = None
    started_at: datetime | None = None
    restarts: int = 0
    ready_at: datetime | None = None
    stopping_at: datetime | None = None
    closed_at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SeenWorkload:
    """One job with every pod of it that is there, or was there since the last look.

    `version` changes whenever anything here does. `ended` and `ended_at` come together. An
    `orphan` is known by its pods alone: the job was gone already when it was looked for, so its
    other fields say little and a job that is known keeps its own.
    """

    uid: str
    name: str
    namespace: str
    submitted_at: datetime
    version: str
    tasks: int
    gpu_milli: int
    pods: tuple[SeenPod, ...] = ()
    owner_kind: str = "Job"
    person: str = ""
    kind: Kind = Kind.BATCH
    pool: str = ""
    reservation_id: int | None = None
    priority: int = 0
    min_tasks: int | None = None
    cpu_milli: int = 0
    memory_mib: int = 0
    preemptible: bool = True
    duration_seconds: int | None = None
    save_seconds: int | None = None
    restore_seconds: int | None = None
    last_saved_at: datetime | None = None
    first_step_at: datetime | None = None
    ended: WorkloadState | None = None
    ended_at: datetime | None = None
    cluster_reason: str = ""
    cluster_message: str = ""
    cluster_detail: Mapping[str, object] = field(default_factory=dict)
    orphan: bool = False
