"""Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

A job is a line of 18 numbers: job, submit, wait, run time, processors allocated, CPU time used,
memory used, processors requested, time requested, memory requested (KiB a processor), status, user,
group, executable, queue, partition, preceding job, think time. -1 means unknown. Lines that begin
with `;` are the header. **A processor is read as one whole GPU**: logs of GPU clusters are written
that way, and a log of CPUs keeps its shape. The group is the team.
"""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from scheduler_core.traces.errors import BadRow, NotThisFormat
from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import Numbered, Reading, lines_of
from scheduler_core.traces.records import WHOLE_GPU, Job, Node

COLUMNS = (
    "job",
    "submit",
    "wait",
    "run_time",
    "processors",
    "cpu_time",
    "memory",
    "processors_requested",
    "time_requested",
    "memory_requested",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think_time",
)
UNKNOWN = "-1"
MOST_NODES = 1_000_000


class Swf:
    """Reads the job lines, and equal nodes out of the header's MaxNodes and MaxProcs."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read the job lines."""
        return Reading(_rows(lines_of(stream)), _job)

    def nodes(self, stream: BinaryIO) -> Reading[Node]:
        """Read the header. Raises `NotThisFormat` when it does not give the size."""
        header = _header(lines_of(stream))
        try:
            processors = int(header["MaxProcs"])
            count = int(header.get("MaxNodes", "1"))
        except (KeyError, ValueError):
            raise NotThisFormat("the header gives no MaxProcs") from None
        if not 1 <= count <= MOST_NODES or processors % count:
            raise NotThisFormat(f"{processors} processors do not divide over {count} nodes")
        rows = [(1, Row(name=f"node-{index}")) for index in range(count)]
        return Reading(rows, lambda row: Node(row["name"], processors // count, 0, 0))


def _header(lines: Iterable[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        if not line.startswith(";"):
            break
        key, _, value = line.lstrip("; ").partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def _rows(lines: Iterable[str]) -> Iterator[Numbered]:
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        if not cells or cells[0].startswith(";"):
            continue
        if len(cells) != len(COLUMNS):
            yield number, BadRow(f"has {len(cells)} cells where the format has {len(COLUMNS)}")
            continue
        known = ("" if cell == UNKNOWN else cell for cell in cells)
        yield number, Row(zip(COLUMNS, known, strict=True))


def _job(row: Row) -> Job:
    wanted = "processors_requested" if row.text("processors_requested") else "processors"
    processors = row.whole(wanted)
    kib = row.whole("memory_requested", "0") * processors
    return Job(
        id=row.name("job"),
        submitted_at=row.seconds("submit"),
        duration_seconds=row.seconds_or_none("run_time"),
        gpu_milli=processors * WHOLE_GPU,
        memory_mib=-(-kib // 1024),
        team=row.text("group"),
        user=row.text("user"),
        estimate_seconds=row.seconds_or_none("time_requested"),
        waited_seconds=row.seconds_or_none("wait"),
    )
