"""SenseTime's Helios clusters of 2020 (Hu et al., SC'21): `cluster_log.csv`.

Columns: `job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,
queue`. Times are dates without a zone, taken as UTC; `duration` and `queue` (the wait) are seconds.
A job that never started has no `start_time`. `gpu_num` and `cpu_num` are of all nodes together.
"""

from typing import BinaryIO

from scheduler_core.traces.fields import Row, over_tasks
from scheduler_core.traces.reading import JobsOnly, Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job

COLUMNS = ("job_id", "vc", "gpu_num", "submit_time", "duration")


class Helios(JobsOnly):
    """Reads the job log: one task a node where the GPUs divide evenly. The VC is the team."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read a job log."""
        return Reading(table(stream, COLUMNS), _job)


def _job(row: Row) -> Job:
    tasks, gpus = over_tasks(row.whole("gpu_num"), row.whole("node_num", "1"))
    started = not row.text("start_time") or row.moment_or_none("start_time") is not None
    return Job(
        id=row.name("job_id"),
        submitted_at=row.moment("submit_time"),
        duration_seconds=row.seconds_or_none("duration") if started else None,
        gpu_milli=gpus * WHOLE_GPU,
        tasks=tasks,
        cpu_milli=row.whole("cpu_num", "0") * 1000 // tasks,
        team=row.text("vc"),
        user=row.text("user"),
        waited_seconds=row.seconds_or_none("queue") if started else None,
    )
