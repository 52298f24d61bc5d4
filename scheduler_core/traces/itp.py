"""Microsoft's ITP clusters of 2021, published with ElasticFlow (Gu et al., ASPLOS'23).

The ten published files have `job_id,submission_time,duration,num_gpu`; a file that joins them has
`job_id,cluster,submit_s,duration_s,num_gpus`. Both are read, and the cluster, where named, is the
team. A submission is either seconds or a date without a zone, taken as UTC.
"""

from typing import BinaryIO

from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import JobsOnly, Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job


class Itp(JobsOnly):
    """Reads the job lists."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read a job list in either form."""
        return Reading(table(stream, ("job_id",)), _job)


def _job(row: Row) -> Job:
    joined = "submit_s" in row
    return Job(
        id=row.name("job_id"),
        submitted_at=row.seconds("submit_s") if joined else _seconds_or_date(row),
        duration_seconds=row.seconds_or_none("duration_s" if joined else "duration"),
        gpu_milli=row.whole("num_gpus" if joined else "num_gpu") * WHOLE_GPU,
        team=row.text("cluster"),
    )


def _seconds_or_date(row: Row) -> int:
    is_date = row.text("submission_time").count("-") == 2
    return row.moment("submission_time") if is_date else row.seconds("submission_time")
