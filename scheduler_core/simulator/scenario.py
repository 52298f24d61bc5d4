"""A trace made into what the engine knows: pools, their nodes, teams and workloads.

On nodes alone there is one pool, and every team gets a quota of nothing guaranteed and no limit, so
that the whole cluster is there to be borrowed and only the order decides. All work is then
preemptible: what may not be stopped is never started on borrowed devices. On a cluster with terms
of its own (`on_terms`) teams keep what they are promised; teams it does not know only borrow. The
snapshot holds no workloads; these come one by one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler_core import model
from scheduler_core.resources import DEVICE
from scheduler_core.traces import Job, Node

POOL = "trace"
NOBODY = "none"
PLENTY = 10**12
"""CPU or memory that never runs short."""

CLUSTER = re.compile(r"([1-9]\d{0,6})x([1-9]\d{0,4})")


class BadCluster(ValueError):
    """A cluster is not written as nodes x GPUs."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Jobs that can be replayed, and the cluster they run on.

    `workloads` stand in the order of submission and carry the owner's estimate as their duration,
    or the real one where none was given; `durations` are real. `left_out` counts jobs whose
    duration is unknown, `never_fit` those that ask for more than the cluster has.
    """

    snapshot: model.Snapshot
    workloads: tuple[model.Workload, ...]
    durations: tuple[int, ...]
    ids: tuple[str, ...]
    left_out: int
    never_fit: int

    @property
    def capacity_milli(self) -> int:
        """GPU of all nodes, in milli-GPU."""
        return sum(node.gpus for node in self.snapshot.nodes) * DEVICE


def equal_nodes(text: str) -> list[Node]:
    """Return the nodes of "64x8": 64 of 8 GPUs each, with CPU and memory enough for all.

    Raises `BadCluster` for any other form.
    """
    match = CLUSTER.fullmatch(text)
    if match is None:
        raise BadCluster(f"{text!r} is no cluster: write nodes x GPUs, such as 64x8")
    count, gpus = int(match[1]), int(match[2])
    return [Node(f"node-{number:05d}", gpus, PLENTY, PLENTY) for number in range(count)]


def scenario(jobs: Sequence[Job], nodes: Sequence[Node], policy: model.Policy) -> Scenario:
    """Return the scenario of a trace on nodes, under a policy.

    A job wider than any node becomes tasks of whole nodes. Jobs keep their order where they were
    submitted in the same second.
    """
    shares = any(job.gpu_milli % DEVICE for job in jobs)
    terms = model.Snapshot(
        now=0,
        policy=policy,
        pools=(model.Pool(POOL, sharing="shared" if shares else "dedicated"),),
        nodes=tuple(_node(node) for node in nodes),
    )
    return on_terms(jobs, terms)


def on_terms(jobs: Sequence[Job], terms: model.Snapshot) -> Scenario:
    """Return the scenario of a trace in a cluster as it is, under its policy.

    Taken are policy, teams, pools, nodes and the quotas valid at its `now`; what ran or was
    reserved there is not.
    """
    known = [job for job in jobs if job.duration_seconds is not None]
    rooms = _rooms(terms)
    shaped = [_shaped(job, rooms) for job in known]
    fitting = [entry for entry in shaped if entry is not None]
    fitting.sort(key=lambda entry: entry[0].submitted_at)
    base = _base([job for job, _, _ in fitting], terms)
    own = frozenset(team.name for team in terms.teams)
    return Scenario(
        snapshot=base,
        workloads=tuple(
            _workload(number, job, tasks, per_task, own, rooms)
            for number, (job, tasks, per_task) in enumerate(fitting)
        ),
        durations=tuple(job.duration_seconds or 0 for job, _, _ in fitting),
        ids=tuple(job.id for job, _, _ in fitting),
        left_out=len(jobs) - len(known),
        never_fit=len(known) - len(fitting),
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """A pool's size in milli-GPU, and the most devices on one of its nodes."""

    capacity: int
    largest: int


def _rooms(terms: model.Snapshot) -> dict[str, _Room]:
    """Return what fits each pool; "" is any pool, so the largest of all."""
    sizes = {pool.name: [0] for pool in terms.pools}
    for node in terms.nodes:
        sizes[node.pool].append(node.gpus)
    rooms = {name: _Room(sum(gpus) * DEVICE, max(gpus)) for name, gpus in sizes.items()}
    rooms[""] = _Room(
        max((room.capacity for room in rooms.values()), default=0),
        max((room.largest for room in rooms.values()), default=0),
    )
    return rooms


def _shaped(job: Job, rooms: dict[str, _Room]) -> tuple[Job, int, model.PerTask] | None:
    """Return the job with its tasks, None where it asks for more than there is.

    Where one task would not fit a node, it is cut to whole nodes.
    """
    room = rooms.get(job.pool, rooms[""])
    tasks, per_task = job.tasks, model.PerTask(job.gpu_milli, job.cpu_milli, job.memory_mib)
    devices = -(-job.gpu_milli // DEVICE)
    if devices > room.largest > 0:
        parts = -(-devices // room.largest)
        per_task = model.PerTask(
            room.largest * DEVICE, -(-job.cpu_milli // parts), -(-job.memory_mib // parts)
        )
        tasks = job.tasks * parts
    return (job, tasks, per_task) if tasks * per_task.gpu_milli <= room.capacity else None


def _workload(
    number: int,
    job: Job,
    tasks: int,
    per_task: model.PerTask,
    own: frozenset[str],
    rooms: dict[str, _Room],
) -> model.Workload:
    announced = job.estimate_seconds
    saves = job.save_seconds
    return model.Workload(
        # Of the same width, so that ids sort as the trace does.
        id=f"{number:09d}",
        team=job.team or NOBODY,
        user=job.user or None,
        pool=job.pool if job.pool in rooms and job.pool else None,
        submitted_at=job.submitted_at,
        tasks=tasks,
        per_task=per_task,
        min_tasks=job.min_tasks if tasks == job.tasks else None,
        kind=_kind(job.kind),
        priority=job.priority,
        gpu_models=job.gpu_models,
        duration_seconds=job.duration_seconds if announced is None else announced,
        # Who is promised nothing could never run what may not be stopped.
        preemptible=job.preemptible or job.team not in own,
        checkpoint=None if saves is None else model.Checkpoint(saves, job.restore_seconds or 0),
    )


def _kind(kind: str) -> model.Kind:
    return next((known for known in model.KINDS if known == kind), "batch")


def _base(jobs: Sequence[Job], terms: model.Snapshot) -> model.Snapshot:
    """Return the empty cluster at the first submission, with a quota for every team."""
    own = {team.name for team in terms.teams}
    others = sorted({job.team or NOBODY for job in jobs} - own)
    return model.Snapshot(
        now=min((job.submitted_at for job in jobs), default=0),
        policy=terms.policy,
        teams=(
            *(replace(team, used_gpu_seconds=0) for team in terms.teams),
            *(model.Team(team) for team in others),
        ),
        pools=terms.pools,
        quotas=(
            *(
                replace(quota, valid_from=None, valid_to=None)
                for quota in terms.quotas
                if quota.valid_at(terms.now)
            ),
            *(model.Quota(team, pool.name, 0) for team in others for pool in terms.pools),
        ),
        nodes=terms.nodes,
    )


def _node(node: Node) -> model.Node:
    return model.Node(
        name=node.name,
        pool=POOL,
        gpus=node.gpus,
        cpu_milli=node.cpu_milli,
        memory_mib=node.memory_mib,
        gpu_model=node.gpu_model or None,
    )
