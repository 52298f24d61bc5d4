"""The cluster's own scheduler: spreads pods over nodes, highest priority first.

It filters by pool (the node selector), readiness, whole devices, CPU and memory, and prefers the
node with most devices free. A pod whose class may preempt makes room by evicting pods of lower
priority, on the node where that costs fewest devices. A gang is bound whole or waits.
"""

from dataclasses import dataclass

from portal.kubernetes.simulated import lifecycle
from portal.kubernetes.simulated.records import PREEMPTED, Job, Node, Pod, Spec
from portal.kubernetes.simulated.workshop import Room, State

Rooms = dict[str, Room]


def schedule(state: State, at: int) -> None:
    """Bind what fits in the pools where something changed, in order of priority and age."""
    pools, state.stirred = state.stirred, set()
    smallest: dict[str, int] = {}
    nominated: set[str] = set()
    for job in _pending(state, pools):
        spec, first = job.spec, state.live[job.uid][0]
        asked = spec.gpus * spec.tasks
        # Room only shrinks during this walk, so what asks for more than what failed fails too.
        if not first.preempts and first.message and asked >= smallest.get(spec.pool, asked + 1):
            continue
        if _bind(state, job, at, nominated):
            continue
        if first.preempts:
            _preempt(state, job, at)
        if job.nominated_until > at:
            nominated.update(job.nominated)
        _explain(state, job)
        if not _devices_suffice(state, spec):
            smallest[spec.pool] = min(asked, smallest.get(spec.pool, asked))


def _pending(state: State, pools: set[str]) -> list[Job]:
    jobs = [
        state.jobs[uid]
        for uid, pods in state.live.items()
        if pods and pods[0].scheduled_at is None and pods[0].stopping_at is None
        and not any(pod.gated for pod in pods)
    ]  # fmt: skip
    return sorted(
        (job for job in jobs if job.spec.pool in pools),
        key=lambda job: (-state.live[job.uid][0].priority, job.created_at, job.uid),
    )


def _usable(state: State, pool: str) -> list[Node]:
    return [node for node in state.nodes_in[pool] if node.ready and not node.cordoned]


def _bind(state: State, job: Job, at: int, nominated: set[str]) -> bool:
    """Bind a job's pods if all fit; nodes being cleared for somebody ahead are left alone."""
    pods = state.live[job.uid]
    usable = _usable(state, job.spec.pool)
    rooms = {node.name: state.room[node.name] for node in usable if node.name not in nominated}
    places = _place(job.spec, [chosen_nodes(job, pod) for pod in pods], rooms)
    if places is None:
        return False
    for pod, node in zip(pods, places, strict=True):
        state.bind(pod, job, node, at)
    return True


def chosen_nodes(job: Job, pod: Pod) -> frozenset[str]:
    """The nodes a pod's affinity names, its own before its job's; empty: any."""
    affinity = pod.orders.get("affinity") or job.orders.get("affinity") or {}
    required = affinity.get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    return frozenset(
        value
        for term in required.get("nodeSelectorTerms", [])
        for line in term.get("matchFields", [])
        for value in line.get("values", [])
    )


def _place(spec: Spec, wishes: list[frozenset[str]], rooms: Rooms) -> list[str] | None:
    """Nodes for tasks of these wishes, each the one with most devices free; None without a fit."""
    if len(wishes) == 1:
        name = _roomiest(spec, _only(rooms, wishes[0]))
        return None if name is None else [name]
    trial = {name: room.copy() for name, room in rooms.items()}
    places: list[str] = []
    for wish in wishes:
        name = _roomiest(spec, _only(trial, wish))
        if name is None:
            return None
        trial[name].take(spec)
        places.append(name)
    return places


def _only(rooms: Rooms, wish: frozenset[str]) -> Rooms:
    return {name: rooms[name] for name in wish if name in rooms} if wish else rooms


def _roomiest(spec: Spec, rooms: Rooms) -> str | None:
    best: str | None = None
    most = -1
    for name, room in rooms.items():
        if len(room.devices) > most and room.holds(spec):
            best, most = name, len(room.devices)
    return best


# -- preemption ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Plan:
    """Jobs to evict so that a task fits on one node."""

    node: str
    jobs: list[Job]
    devices: int


def _preempt(state: State, job: Job, at: int) -> None:
    """Evict lower classes so that this job fits once they are gone; nothing if it would not."""
    if job.nominated_until > at:
        return
    pods = state.live[job.uid]
    rooms = {n.name: state.room[n.name].copy() for n in _usable(state, job.spec.pool)}
    _count_those_leaving(state, rooms)
    victims: dict[str, Job] = {}
    places: list[str] = []
    for pod in pods:
        open_to_it = _only(rooms, chosen_nodes(job, pod))
        name = _roomiest(job.spec, open_to_it)
        if name is None:
            plan = _cheapest(state, job, pod, open_to_it, victims)
            if plan is None:
                return
            name = plan.node
            for victim in plan.jobs:
                victims[victim.uid] = victim
                _give_back(state, victim, rooms)
        rooms[name].take(job.spec)
        places.append(name)
    for victim in victims.values():
        lifecycle.stop(state, victim, at, PREEMPTED, by=job.uid)
    job.nominated = places
    job.nominated_until = at + max(
        [state.rules.grace_seconds, *(lifecycle.grace(state, v) for v in victims.values())]
    )
    state.touch(job)


def _count_those_leaving(state: State, rooms: Rooms) -> None:
    """Devices of pods already on their way out are as good as free."""
    for uid, pods in state.live.items():
        for pod in pods:
            if pod.stopping_at is not None and pod.node in rooms:
                rooms[pod.node].give(state.jobs[uid].spec, pod.devices)


def _give_back(state: State, victim: Job, rooms: Rooms) -> None:
    for pod in state.live[victim.uid]:
        if pod.node in rooms:
            rooms[pod.node].give(victim.spec, pod.devices)


def _cheapest(
    state: State, job: Job, pod: Pod, rooms: Rooms, chosen: dict[str, Job]
) -> _Plan | None:
    plans = [
        plan
        for name, room in rooms.items()
        if (plan := _clear(state, job.spec, pod.priority, name, room, chosen)) is not None
    ]
    return min(plans, key=lambda plan: (plan.devices, len(plan.jobs), plan.node), default=None)


def _clear(
    state: State, spec: Spec, priority: int, name: str, room: Room, chosen: dict[str, Job]
) -> _Plan | None:
    """Jobs of lower priority to take from one node, latest started first, until a task fits."""
    trial = room.copy()
    plan = _Plan(node=name, jobs=[], devices=0)
    for victim, pods in _lower(state, name, priority, chosen):
        for pod in pods:
            trial.give(victim.spec, pod.devices)
        plan.jobs.append(victim)
        plan.devices += victim.spec.gpus * victim.spec.tasks
        if trial.holds(spec):
            return plan
    return None


def _lower(
    state: State, node: str, priority: int, chosen: dict[str, Job]
) -> list[tuple[Job, list[Pod]]]:
    found: list[tuple[Job, list[Pod]]] = []
    for uid, pods in state.live.items():
        here = [pod for pod in pods if pod.node == node and pod.stopping_at is None]
        if here and here[0].priority < priority and uid not in chosen:
            found.append((state.jobs[uid], here))
    found.sort(key=lambda pair: (pair[1][0].priority, -(pair[1][0].scheduled_at or 0), pair[0].uid))
    return found


# -- in words --------------------------------------------------------------------------------------


def _devices_suffice(state: State, spec: Spec) -> bool:
    """Whether devices alone would have sufficed on some node."""
    return any(
        len(state.room[node.name].devices) >= spec.gpus for node in _usable(state, spec.pool)
    )


def _explain(state: State, job: Job) -> None:
    """Say on the pods why they are not bound, as kube-scheduler does."""
    message = sentence(state, job)
    for pod in state.live[job.uid]:
        if pod.message != message:
            pod.message = message
            state.touch(pod)


def sentence(state: State, job: Job) -> str:
    """The scheduler's sentence: how many nodes fail for which reason."""
    spec = job.spec
    counts: dict[str, int] = {}
    for node in state.nodes.values():
        for reason in _reasons(state, node, spec):
            counts[reason] = counts.get(reason, 0) + 1
    parts = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(state.nodes)} nodes are available: {parts}."


def _reasons(state: State, node: Node, spec: Spec) -> list[str]:
    if node.pool != spec.pool:
        return ["node(s) didn't match Pod's node affinity/selector"]
    if not node.ready:
        return ["node(s) had untolerated taint(s)"]
    if node.cordoned:
        return ["node(s) were unschedulable"]
    room = state.room[node.name]
    short = {
        f"Insufficient {node.resource}": len(room.devices) < spec.gpus,
        "Insufficient cpu": room.cpu_milli < spec.cpu_milli,
        "Insufficient memory": room.memory_mib < spec.memory_mib,
    }
    return [reason for reason, is_short in short.items() if is_short]
