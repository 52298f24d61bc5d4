"""Which devices each pod holds on its node.

Where the cluster names them, they are taken as told; the rest are assigned first fit, largest
first, so that the same pods always get the same devices. A pod its node has no room for is left
out and the node is reported full: what we cannot explain must not look free.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portal.inventory.models import Node
from portal.scheduling.reading import PodRow
from scheduler_core.resources import DEVICE, devices_of

Devices = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Held:
    """A pod, its node and the devices it holds there as (index, milli-GPU)."""

    pod: PodRow
    node: Node
    gpu_milli: int
    devices: Devices


@dataclass(frozen=True, slots=True)
class Holdings:
    """What every workload holds; `overfull` nodes carry more pods than they have devices."""

    by_workload: dict[int, list[Held]]
    uncounted: frozenset[int]
    """Workloads with a pod that holds devices somewhere we cannot count."""
    overfull: frozenset[int]


def hold(pods: Iterable[PodRow], nodes: Mapping[int, Node]) -> Holdings:
    """Find the devices of every pod."""
    by_node: dict[int, list[PodRow]] = defaultdict(list)
    uncounted: set[int] = set()
    for pod in pods:
        if pod.node_id is None or pod.node_id not in nodes:
            uncounted.add(pod.workload_id)
        else:
            by_node[pod.node_id].append(pod)
    by_workload: dict[int, list[Held]] = defaultdict(list)
    overfull: set[int] = set()
    for node_id in sorted(by_node):
        found = _on_node(nodes[node_id], by_node[node_id])
        for held in found:
            by_workload[held.pod.workload_id].append(held)
        if len(found) < len(by_node[node_id]):
            overfull.add(node_id)
            placed = {held.pod.pk for held in found}
            uncounted |= {pod.workload_id for pod in by_node[node_id] if pod.pk not in placed}
    return Holdings(dict(by_workload), frozenset(uncounted), frozenset(overfull))


def whole(gpu_milli: int) -> int:
    """An amount a task can have: above one device only whole ones, rounded up."""
    return gpu_milli if gpu_milli <= DEVICE else devices_of(gpu_milli) * DEVICE


def _on_node(node: Node, pods: list[PodRow]) -> list[Held]:
    """The pods that fit on the node, by id."""
    free = [DEVICE] * node.gpus
    found: list[Held] = []
    asked = [(pod, whole(pod.gpu_milli)) for pod in sorted(pods, key=lambda pod: pod.pk)]
    later: list[tuple[PodRow, int]] = []
    for pod, milli in asked:
        devices = _as_told(pod.devices, milli, free)
        if devices is None:
            later.append((pod, milli))
        else:
            found.append(Held(pod, node, milli, devices))
    for pod, milli in sorted(later, key=lambda entry: (-entry[1], entry[0].pk)):
        devices = _first_fit(milli, free)
        if devices is not None:
            found.append(Held(pod, node, milli, devices))
    return sorted(found, key=lambda held: held.pod.pk)


def _as_told(told: object, milli: int, free: list[int]) -> Devices | None:
    """The devices the cluster named, when they can be true; they are taken from `free`."""
    devices = _pairs(told)
    if not devices or sum(amount for _, amount in devices) != milli:
        return None
    if len({index for index, _ in devices}) < len(devices):
        return None
    if any(index >= len(free) or free[index] < amount for index, amount in devices):
        return None
    return _take(devices, free)


def _pairs(told: object) -> Devices:
    """The list as (index, milli-GPU) pairs; empty when it is anything else."""
    entries = told if isinstance(told, list) else []
    pairs: list[tuple[int, int]] = []
    for entry in entries:
        match entry:
            case [int(index), int(amount)] if index >= 0 and 0 < amount <= DEVICE:
                pairs.append((index, amount))
            case _:
                return ()
    return tuple(sorted(pairs))


def _first_fit(milli: int, free: list[int]) -> Devices | None:
    """The first devices with room; a fraction takes one, whole devices must be untouched."""
    if milli == 0:
        return ()
    amount, count = (milli, 1) if milli < DEVICE else (DEVICE, milli // DEVICE)
    fitting = [index for index, room in enumerate(free) if room >= amount][:count]
    if len(fitting) < count:
        return None
    return _take(tuple((index, amount) for index in fitting), free)


def _take(devices: Devices, free: list[int]) -> Devices:
    for index, amount in devices:
        free[index] -= amount
    return devices
