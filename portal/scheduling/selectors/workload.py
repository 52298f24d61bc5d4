"""One workload with its stages, where its pods stand, and how it was decided upon."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from portal.common.pages import once_a_page
from portal.scheduling.selectors.queue import (
    DecisionRow,
    QueueRow,
    list_decisions,
    queue_rows,
)
from portal.teams.permissions import WORK
from portal.teams.selectors import Access
from portal.workloads.models import Pod, StageEvent, Workload


@dataclass(frozen=True, slots=True)
class EventRow:
    """A stage the workload reached, and why."""

    at: datetime
    state: str
    why: str


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """A pod and the devices it holds, or held until `closed_at`."""

    pod: str
    node_id: int | None
    node_name: str
    gpu_milli: int
    devices: tuple[int, ...]
    charged_to: str
    created_at: datetime
    scheduled_at: datetime | None
    mounted_at: datetime | None
    initialized_at: datetime | None
    started_at: datetime | None
    ready_at: datetime | None
    stopping_at: datetime | None
    closed_at: datetime | None
    restarts: int
    why: str


@dataclass(frozen=True, slots=True)
class WorkloadDetail:
    """Everything a page or the API tells of one workload."""

    row: QueueRow
    cluster_name: str
    namespace: str
    owner_kind: str
    priority: int
    min_tasks: int | None
    gpu_milli_per_task: int
    cpu_milli: int
    memory_mib: int
    preemptible: bool
    duration_seconds: int | None
    reservation_id: int | None
    preemptions: int
    cluster_reason: str
    cluster_message: str
    admitted_at: datetime | None
    ready_at: datetime | None
    first_step_at: datetime | None
    seen_at: datetime
    events: tuple[EventRow, ...]
    placements: tuple[PlacementRow, ...]
    decisions: tuple[DecisionRow, ...]


def team_of_workload(*, workload_id: int) -> tuple[bool, int | None]:
    """Whether there is such a workload, and its team's id; None is work of no team."""
    job = get_job(workload_id)
    return (False, None) if job is None else (True, job.team_id)


@once_a_page
def get_job(workload_id: int) -> Workload | None:
    """One workload with what stands around it, whoever asks; doors ask whose it is first."""
    around = ("team", "pool", "user", "standing", "cluster", "reservation")
    return Workload.objects.select_related(*around).filter(pk=workload_id).first()


def get_workload(
    access: Access, *, workload_id: int, zone: tzinfo = UTC, now: datetime | None = None
) -> WorkloadDetail | None:
    """One workload; None when there is none or it is not for this reader."""
    job = get_job(workload_id)
    if job is None or not access.holds(WORK, team_id=job.team_id):
        return None
    (row,) = queue_rows([job], access, zone=zone, now=now)
    events = StageEvent.objects.filter(workload=job).order_by("at", "id")
    pods = Pod.objects.filter(workload=job).select_related("node").order_by("id")
    return WorkloadDetail(
        row=row, cluster_name=job.cluster.name, namespace=job.namespace,
        owner_kind=job.owner_kind, priority=job.priority, min_tasks=job.min_tasks,
        gpu_milli_per_task=job.gpu_milli, cpu_milli=job.cpu_milli, memory_mib=job.memory_mib,
        preemptible=job.preemptible, duration_seconds=job.duration_seconds,
        reservation_id=job.reservation_id, preemptions=job.preemptions,
        cluster_reason=job.cluster_reason, cluster_message=job.cluster_message,
        admitted_at=job.admitted_at, ready_at=job.ready_at,
        first_step_at=job.first_step_at, seen_at=job.seen_at,
        events=tuple(EventRow(event.at, event.state, event.why) for event in events),
        placements=tuple(_placement(pod) for pod in pods),
        decisions=tuple(list_decisions(access, workload_id=workload_id, zone=zone, now=now)),
    )  # fmt: skip


def _placement(pod: Pod) -> PlacementRow:
    return PlacementRow(
        pod=pod.name, node_id=pod.node_id, node_name=pod.node.name if pod.node else "",
        gpu_milli=pod.gpu_milli, devices=tuple(entry[0] for entry in pod.devices),
        charged_to=pod.charged_to, created_at=pod.created_at, scheduled_at=pod.scheduled_at,
        mounted_at=pod.mounted_at, initialized_at=pod.initialized_at, started_at=pod.started_at,
        ready_at=pod.ready_at, stopping_at=pod.stopping_at, closed_at=pod.closed_at,
        restarts=pod.restarts, why=pod.why,
    )  # fmt: skip
