"""A trace made into what the engine knows: one pool, its nodes, teams and workloads.

Every team gets a quota of nothing guaranteed and no limit, so that the whole cluster is there to be
borrowed and only the order decides. All work is therefore preemptible: what may not be stopped is
never started on borrowed devices. The snapshot holds no workloads; these come one by one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Return the scenario of a trace under a policy.

    A job wider than any node becomes tasks of whole nodes. Jobs keep their order where they were
    submitted in the same second.
    """
    largest = max((node.gpus for node in nodes), default=0)
    capacity = sum(node.gpus for node in nodes) * DEVICE
    known = [job for job in jobs if job.duration_seconds is not None]
    shaped = [(job, *_tasks(job, largest)) for job in known]
    fitting = [entry for entry in shaped if entry[1] * entry[2].gpu_milli <= capacity]
    fitting.sort(key=lambda entry: entry[0].submitted_at)
    return Scenario(
        snapshot=_snapshot([entry[0] for entry in fitting], nodes, policy),
        workloads=tuple(
            _workload(number, job, tasks, per_task)
            for number, (job, tasks, per_task) in enumerate(fitting)
        ),
        durations=tuple(entry[0].duration_seconds or 0 for entry in fitting),
        ids=tuple(entry[0].id for entry in fitting),
        left_out=len(jobs) - len(known),
        never_fit=len(known) - len(fitting),
    )


def _tasks(job: Job, largest: int) -> tuple[int, model.PerTask]:
    """Return the job's tasks, cut to whole nodes where one task would not fit a node."""
    devices = -(-job.gpu_milli // DEVICE)
    if devices <= largest or not largest:
        return job.tasks, model.PerTask(job.gpu_milli, job.cpu_milli, job.memory_mib)
    parts = -(-devices // largest)
    per_task = model.PerTask(
        largest * DEVICE, -(-job.cpu_milli // parts), -(-job.memory_mib // parts)
    )
    return job.tasks * parts, per_task


def _workload(number: int, job: Job, tasks: int, per_task: model.PerTask) -> model.Workload:
    announced = job.estimate_seconds
    return model.Workload(
        # Of the same width, so that ids sort as the trace does.
        id=f"{number:09d}",
        team=job.team or NOBODY,
        user=job.user or None,
        submitted_at=job.submitted_at,
        tasks=tasks,
        per_task=per_task,
        kind=_kind(job.kind),
        priority=job.priority,
        gpu_models=job.gpu_models,
        duration_seconds=job.duration_seconds if announced is None else announced,
    )


def _kind(kind: str) -> model.Kind:
    return next((known for known in model.KINDS if known == kind), "batch")


def _snapshot(jobs: Sequence[Job], nodes: Sequence[Node], policy: model.Policy) -> model.Snapshot:
    teams = sorted({job.team or NOBODY for job in jobs})
    shares = any(job.gpu_milli % DEVICE for job in jobs)
    return model.Snapshot(
        now=min((job.submitted_at for job in jobs), default=0),
        policy=policy,
        teams=tuple(model.Team(team) for team in teams),
        pools=(model.Pool(POOL, sharing="shared" if shares else "dedicated"),),
        quotas=tuple(model.Quota(team, POOL, guaranteed=0) for team in teams),
        nodes=tuple(
            model.Node(
                name=node.name,
                pool=POOL,
                gpus=node.gpus,
                cpu_milli=node.cpu_milli,
                memory_mib=node.memory_mib,
                gpu_model=node.gpu_model or None,
            )
            for node in nodes
        ),
    )
