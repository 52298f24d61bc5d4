"""Microsoft's Philly cluster of 2017 (Jeon et al., ATC'19), in the reduced form one job a line.

Columns: `job_id,submit_time,submit_s,duration_s,num_gpus,vc`. `submit_s` are seconds from the
file's first job; where that column is absent the ISO `submit_time` is used, taken as UTC. The
virtual cluster `vc` is the team. CPU and memory were not recorded.
"""

from typing import BinaryIO

from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import JobsOnly, Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job

COLUMNS = ("job_id", "duration_s", "num_gpus")


class Philly(JobsOnly):
    """Reads the job list; the machines were not published with it."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read a job list."""
        return Reading(table(stream, COLUMNS), _job)


def _job(row: Row) -> Job:
    submitted = row.seconds_or_none("submit_s")
    return Job(
        id=row.name("job_id"),
        submitted_at=row.moment("submit_time") if submitted is None else submitted,
        duration_seconds=row.seconds_or_none("duration_s"),
        gpu_milli=row.whole("num_gpus") * WHOLE_GPU,
        team=row.text("vc"),
    )
