"""Slurm's accounting, as `sacct -P` prints it.

    sacct -aXP -o JobID,User,Account,Submit,Start,ElapsedRaw,TimelimitRaw,NNodes,ReqTRES,AllocTRES

Columns may stand in any order and others are ignored. `ElapsedRaw` is seconds and `TimelimitRaw`
minutes; `Elapsed` and `Timelimit` (`[days-]hours:minutes:seconds`) serve where they are absent.
What a job asked for is read from `ReqTRES`, else `AllocTRES`. The account is the team. Times carry
no zone and are taken as UTC. Steps (`123.batch`) belong to their job and give no record.
"""

import re
from fractions import Fraction
from typing import BinaryIO

from scheduler_core.traces.errors import BadRow
from scheduler_core.traces.fields import Row, over_tasks
from scheduler_core.traces.reading import JobsOnly, Reading, table
from scheduler_core.traces.records import WHOLE_GPU, Job

COLUMNS = ("JobID", "Submit")
SPAN = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})(?:\.\d+)?", re.ASCII)
MEMORY = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)[nc]?", re.ASCII)
COUNT = re.compile(r"\d{1,12}", re.ASCII)
MIB = {
    "K": Fraction(1, 1024),
    "": Fraction(1),
    "M": Fraction(1),
    "G": Fraction(1024),
    "T": Fraction(1024**2),
    "P": Fraction(1024**3),
}
MODEL_KEY = "gres/gpu:"


class Sacct(JobsOnly):
    """Reads jobs, one task a node where the GPUs divide evenly."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Read the jobs, leaving out their steps."""
        return Reading(table(stream, COLUMNS, delimiter="|", quoted=False), _job)


def _job(row: Row) -> Job | None:
    name = row.name("JobID")
    if "." in name:
        return None
    asked = _tres(row.text("ReqTRES") or row.text("AllocTRES"))
    held = asked if "gres/gpu" in asked else asked | _tres(row.text("AllocTRES"))
    tasks, gpus = over_tasks(_count(held, "gres/gpu"), _nodes(row, held))
    submitted = row.moment("Submit")
    started = row.moment_or_none("Start")
    return Job(
        id=name,
        submitted_at=submitted,
        duration_seconds=None if started is None else _seconds(row, "ElapsedRaw", "Elapsed", 1),
        gpu_milli=gpus * WHOLE_GPU,
        tasks=tasks,
        cpu_milli=_count(held, "cpu") * 1000 // tasks,
        memory_mib=_mebibytes(held.get("mem", "0")) // tasks,
        team=row.text("Account"),
        user=row.text("User"),
        gpu_models=tuple(sorted(key[len(MODEL_KEY) :] for key in held if MODEL_KEY in key)),
        estimate_seconds=_seconds(row, "TimelimitRaw", "Timelimit", 60),
        waited_seconds=None if started is None else max(0, started - submitted),
        priority=row.whole("Priority", "0"),
    )


def _tres(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key: value for key, _, value in pairs}


def _count(tres: dict[str, str], key: str) -> int:
    value = tres.get(key, "0")
    if not COUNT.fullmatch(value):
        raise BadRow(f"TRES: {key}={value} is no whole number")
    return int(value)


def _nodes(row: Row, tres: dict[str, str]) -> int:
    return row.whole("NNodes") if row.text("NNodes") else _count(tres, "node")


def _mebibytes(text: str) -> int:
    match = MEMORY.fullmatch(text)
    if match is None:
        raise BadRow(f"TRES: mem={text} is no amount of memory")
    return int(Fraction(match[1]) * MIB[match[2]])


def _seconds(row: Row, raw: str, spelled: str, unit: int) -> int | None:
    for column in (raw, spelled):
        value = row.text(column)
        if value in {"", "UNLIMITED", "Partition_Limit", "INVALID"}:
            continue
        if column == raw:
            return row.seconds(column) * unit
        match = SPAN.fullmatch(value)
        if match is None:
            raise BadRow(f"{column}: {value!r} is no span of time")
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return None
