"""Alibaba's GPU-sharing cluster of 2023, as published with FGD (Weng et al., ATC'23).

Pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,
deletion_time,scheduled_time`; some lists stop after `gpu_milli`. `gpu_milli` is per GPU and below
1000 only where `num_gpu` is 1; `gpu_spec` joins the models allowed by `|`. The trace knows no
teams, so the class of service stands in for one.
Nodes: `sn,cpu_milli,memory_mib,gpu,model`.
"""

from typing import BinaryIO

from scheduler_core.traces.errors import BadRow
from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job, Node

POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


class Openb:
    """Reads pod lists as jobs of one task, and node lists."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read a pod list; a pod runs from `scheduled_time` (else creation) to its deletion."""
        return Reading(table(stream, POD_COLUMNS), _job)

    def nodes(self, stream: BinaryIO) -> Reading[Node]:
        """Read a node list."""
        return Reading(table(stream, NODE_COLUMNS), _node)


def _job(row: Row) -> Job:
    submitted = row.seconds("creation_time", "0")
    started = row.seconds_or_none("scheduled_time")
    begun = submitted if started is None else started
    ended = row.seconds_or_none("deletion_time")
    if ended is not None and ended < begun:
        raise BadRow(f"deletion_time: {ended} is before the pod began at {begun}")
    return Job(
        id=row.name("name"),
        submitted_at=submitted,
        duration_seconds=None if ended is None else ended - begun,
        gpu_milli=_gpu_milli(row),
        cpu_milli=row.whole("cpu_milli"),
        memory_mib=row.whole("memory_mib"),
        team=row.text("qos"),
        gpu_models=row.names("gpu_spec"),
        waited_seconds=None if started is None else max(0, started - submitted),
    )


def _gpu_milli(row: Row) -> int:
    gpus, each = row.whole("num_gpu"), row.whole("gpu_milli")
    if gpus and not 0 < each <= WHOLE_GPU:
        raise BadRow(f"gpu_milli: {each} is not between 1 and {WHOLE_GPU}")
    if gpus > 1 and each < WHOLE_GPU:
        raise BadRow(f"gpu_milli: {each} of each of {gpus} GPUs cannot be asked for")
    return gpus * each


def _node(row: Row) -> Node:
    return Node(
        name=row.name("sn"),
        gpus=row.whole("gpu"),
        cpu_milli=row.whole("cpu_milli"),
        memory_mib=row.whole("memory_mib"),
        gpu_model=row.text("model"),
    )
