"""What was let start and does not hold its devices yet, as pods that do. Pure.

Between the instant a job is let start and the one its pods are bound, its devices look free. They
are given to nobody else: each task that is still to come counts as a pod on the node it was placed
on. What no longer fits there, since the cluster placed it otherwise, is left to the cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from portal.inventory.models import Node
from portal.scheduling import holding
from portal.scheduling.reading import PodRow, WorkloadRow
from portal.workloads.admissions import Admitted
from scheduler_core.resources import DEVICE


def expected(
    admissions: Iterable[Admitted],
    workloads: Iterable[WorkloadRow],
    pods: Iterable[PodRow],
    nodes: Iterable[Node],
) -> list[PodRow]:
    """A pod for each task that is still to come; their keys are below zero, like no row's."""
    rows = {row.pk: row for row in workloads}
    machines = {node.name: node for node in nodes}
    held: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    free = {node.pk: node.gpus * DEVICE for node in machines.values()}
    for pod in pods:
        milli = holding.whole(pod.gpu_milli)
        if pod.node_id is not None:
            held[pod.workload_id][pod.node_id] += milli
            free[pod.node_id] = free.get(pod.node_id, 0) - milli
    found: list[PodRow] = []
    for admitted in admissions:
        row = rows.get(admitted.workload_id)
        unit = holding.whole(row.gpu_milli) if row else 0
        if row is None or not unit:
            continue
        for node_id in _to_come(admitted, unit, held[row.pk], machines):
            if free[node_id] >= unit:
                free[node_id] -= unit
                found.append(_pod(-1 - len(found), row, node_id, admitted))
    return found


def _to_come(
    admitted: Admitted, unit: int, held: Mapping[int, int], machines: Mapping[str, Node]
) -> Iterator[int]:
    """The node of each task that has no pod, at most as many as are missing in all."""
    tasks = sum(count for _node, count in admitted.placements)
    missing = tasks - sum(admitted.done.values()) - sum(held.values()) // unit
    for name, count in admitted.placements:
        machine = machines.get(name)
        if machine is None:
            continue
        here = count - admitted.done.get(name, 0) - held.get(machine.pk, 0) // unit
        for _ in range(max(0, min(here, missing))):
            missing -= 1
            yield machine.pk


def _pod(key: int, row: WorkloadRow, node_id: int, admitted: Admitted) -> PodRow:
    return PodRow(
        pk=key, workload_id=row.pk, node_id=node_id, gpu_milli=row.gpu_milli,
        cpu_milli=row.cpu_milli, memory_mib=row.memory_mib, devices=[], charged_to="",
        created_at=admitted.at, scheduled_at=admitted.at, stopping_at=None,
    )  # fmt: skip
