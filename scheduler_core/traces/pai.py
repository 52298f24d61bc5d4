"""Alibaba's PAI cluster of 2020 (Weng et al., NSDI'22), as its own simulator reads it.

Columns: `job_id,user,submit_time,duration,num_inst,num_gpu,num_cpu,gpu_type` and, as estimates
from the past, `user_dur,group_dur,group_gpu_dur`. `num_gpu` and `num_cpu` are devices and cores of
one instance and may be fractions; of several estimates the most particular one is taken.
"""

from typing import BinaryIO

from scheduler_core.traces.fields import Row, per_task_milli
from scheduler_core.traces.reading import JobsOnly, Reading, table
from scheduler_core.traces.records import Job

COLUMNS = ("job_id", "submit_time", "duration", "num_gpu")
ESTIMATES = ("group_gpu_dur", "group_dur", "user_dur")
NO_MODEL = {"", "CPU"}


class Pai(JobsOnly):
    """Reads the job list: an instance is a task."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read a job list."""
        return Reading(table(stream, COLUMNS), _job)


def _job(row: Row) -> Job:
    model = row.text("gpu_type")
    estimates = (row.seconds_or_none(column) for column in ESTIMATES)
    return Job(
        id=row.name("job_id"),
        submitted_at=row.seconds("submit_time"),
        duration_seconds=row.seconds_or_none("duration"),
        gpu_milli=per_task_milli(row.number("num_gpu")),
        tasks=max(1, row.whole("num_inst", "1")),
        cpu_milli=round(row.number("num_cpu", "0") * 1000),
        user=row.text("user"),
        gpu_models=() if model in NO_MODEL else (model,),
        estimate_seconds=next((guess for guess in estimates if guess is not None), None),
    )
