"""Readers of public traces and of our own history: a byte stream in, records out.

Belongs here: what the columns of a format mean, and the one rule for rows that cannot be read.
Does not belong here: opening files or fetching them (callers hand over a stream), and what is done
with the jobs (`scheduler_core.simulator`).

A new format is one module and one line in `READERS`.
"""

from typing import BinaryIO, Protocol

from scheduler_core.traces.errors import (
    BadLine,
    NoNodeList,
    NotThisFormat,
    TooManyBadRows,
    TraceError,
)
from scheduler_core.traces.evenshare import Evenshare
from scheduler_core.traces.helios import Helios
from scheduler_core.traces.itp import Itp
from scheduler_core.traces.openb import Openb
from scheduler_core.traces.pai import Pai
from scheduler_core.traces.philly import Philly
from scheduler_core.traces.reading import Reading
from scheduler_core.traces.records import Job, Node
from scheduler_core.traces.sacct import Sacct
from scheduler_core.traces.swf import Swf

__all__ = [
    "READERS",
    "BadLine",
    "Job",
    "NoNodeList",
    "Node",
    "NotThisFormat",
    "Reader",
    "Reading",
    "TooManyBadRows",
    "TraceError",
]


class Reader(Protocol):
    """One trace format. The stream is binary, plain or gzip, and stays the caller's to close."""

    def jobs(self, stream: BinaryIO) -> Reading[Job]:
        """Return the jobs in file order, read as they are asked for. Raises `TraceError`."""
        ...

    def nodes(self, stream: BinaryIO) -> Reading[Node]:
        """Return the machines in file order. Raises `NoNodeList` where the format has none."""
        ...


READERS: dict[str, Reader] = {
    "openb": Openb(),
    "pai": Pai(),
    "philly": Philly(),
    "helios": Helios(),
    "itp": Itp(),
    "swf": Swf(),
    "sacct": Sacct(),
    "evenshare": Evenshare(),
}
