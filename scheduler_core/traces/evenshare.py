"""Our own history export, so that any installation can be replayed and compared.

Jobs, one row a workload:

| column | meaning |
|---|---|
| `id`, `team`, `user` | opaque numbers or names, as the export was asked for |
| `kind` | `training`, `inference`, `interactive` or `batch` (default) |
| `priority` | the workload's own, 0 by default |
| `preemptible` | `true` (default) or `false` |
| `submitted_at`, `started_at` | epoch seconds; `started_at` empty if it never started |
| `ran_seconds` | time it ran in all, preempted and resumed parts together; empty while unfinished |
| `estimate_seconds` | what was announced beforehand, may be empty |
| `tasks` | number of equal tasks, 1 by default |
| `gpu_milli`, `cpu_milli`, `memory_mib` | of one task |
| `gpu_models` | allowed models joined by bars, empty = any |
| `pool` | the only pool it may run in, empty = any |
| `min_tasks` | fewer tasks that will do; empty = all of them |
| `save_seconds`, `restore_seconds` | what a checkpoint costs; no `save_seconds`: it cannot save |

Required are `id`, `submitted_at`, `ran_seconds` and `gpu_milli`.
Nodes: `name,gpus,cpu_milli,memory_mib,gpu_model`.
"""

import csv
from collections.abc import Iterable
from typing import BinaryIO, TextIO

from scheduler_core.traces.errors import BadRow
from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job, Node

COLUMNS = ("id", "submitted_at", "ran_seconds", "gpu_milli")
WRITTEN = (
    *("id", "team", "user", "kind", "priority", "preemptible", "submitted_at", "started_at"),
    *("ran_seconds", "estimate_seconds", "tasks", "gpu_milli", "cpu_milli", "memory_mib"),
    *("gpu_models", "pool", "min_tasks", "save_seconds", "restore_seconds"),
)
NODES_WRITTEN = ("name", "gpus", "cpu_milli", "memory_mib", "gpu_model")
NODE_COLUMNS = ("name", "gpus", "cpu_milli", "memory_mib")
KINDS = ("training", "inference", "interactive", "batch")


class Evenshare:
    """Reads the history of workloads and the list of nodes."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read the workloads."""
        return Reading(table(stream, COLUMNS), _job)

    def nodes(self, stream: BinaryIO) -> Reading[Node]:
        """Read the nodes."""
        return Reading(table(stream, NODE_COLUMNS), _node)


def _job(row: Row) -> Job:
    submitted = row.whole("submitted_at")
    started = row.seconds_or_none("started_at")
    kind = row.text("kind") or "batch"
    if kind not in KINDS:
        raise BadRow(f"kind: {kind!r} is none of {', '.join(KINDS)}")
    return Job(
        id=row.name("id"),
        submitted_at=submitted,
        duration_seconds=row.seconds_or_none("ran_seconds"),
        gpu_milli=_gpu_milli(row),
        tasks=_tasks(row),
        cpu_milli=row.whole("cpu_milli", "0"),
        memory_mib=row.whole("memory_mib", "0"),
        team=row.text("team"),
        user=row.text("user"),
        gpu_models=row.names("gpu_models"),
        estimate_seconds=row.seconds_or_none("estimate_seconds"),
        waited_seconds=None if started is None else max(0, started - submitted),
        kind=kind,
        priority=row.integer("priority", "0"),
        preemptible=row.flag("preemptible", default=True),
        pool=row.text("pool"),
        min_tasks=_min_tasks(row),
        save_seconds=row.seconds_or_none("save_seconds"),
        restore_seconds=row.seconds_or_none("restore_seconds"),
    )


def _min_tasks(row: Row) -> int | None:
    if not row.text("min_tasks"):
        return None
    fewest = row.whole("min_tasks")
    if not 1 <= fewest <= _tasks(row):
        raise BadRow(f"min_tasks: {fewest} is not between 1 and the number of tasks")
    return fewest


def _tasks(row: Row) -> int:
    tasks = row.whole("tasks", "1")
    if tasks < 1:
        raise BadRow("tasks: must be at least 1")
    return tasks


def _gpu_milli(row: Row) -> int:
    milli = row.whole("gpu_milli")
    if milli > WHOLE_GPU and milli % WHOLE_GPU:
        raise BadRow(f"gpu_milli: {milli} is above one device and no multiple of {WHOLE_GPU}")
    return milli


def _node(row: Row) -> Node:
    return Node(
        name=row.name("name"),
        gpus=row.whole("gpus"),
        cpu_milli=row.whole("cpu_milli"),
        memory_mib=row.whole("memory_mib"),
        gpu_model=row.text("gpu_model"),
    )


def write_jobs(jobs: Iterable[Job], stream: TextIO) -> None:
    """Write workloads so that `Evenshare.jobs` reads them back unchanged."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(WRITTEN)
    rows.writerows(map(_cells, jobs))


def _cells(job: Job) -> tuple[object, ...]:
    started = "" if job.waited_seconds is None else job.submitted_at + job.waited_seconds
    return (
        *(job.id, job.team, job.user, job.kind, job.priority),
        *("true" if job.preemptible else "false", job.submitted_at, started),
        *(_or_empty(job.duration_seconds), _or_empty(job.estimate_seconds), job.tasks),
        *(job.gpu_milli, job.cpu_milli, job.memory_mib, "|".join(job.gpu_models), job.pool),
        *map(_or_empty, (job.min_tasks, job.save_seconds, job.restore_seconds)),
    )


def _or_empty(value: int | None) -> int | str:
    return "" if value is None else value


def write_nodes(nodes: Iterable[Node], stream: TextIO) -> None:
    """Write machines so that `Evenshare.nodes` reads them back unchanged."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(NODES_WRITTEN)
    rows.writerows((n.name, n.gpus, n.cpu_milli, n.memory_mib, n.gpu_model) for n in nodes)
