"""Traces as they come in and go out: unpacked under a limit, checked, kept in pieces.

An uploaded file is never whole in memory. Its text lies in the database, in pieces that are each
compressed, so that web and workers need no folder in common and a backup holds it too.
"""

import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO, cast

from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Invalid
from portal.studies.models import Trace, TraceChunk
from scheduler_core.traces import READERS, Job, TraceError

PIECE = 1 << 20
IN_MEMORY = 4 << 20
MOST_JOBS = 300_000
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Read:
    """What a trace turned out to hold."""

    size: int
    jobs: int
    bad_rows: int
    first_second: int
    last_second: int


def unpack(pieces: Iterable[bytes], *, most: int) -> IO[bytes]:
    """The text of an upload, plain or gzip, in a temporary file. Raises `Invalid` above `most`."""
    text = cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115
    size = 0
    try:
        for piece in _unpacked(pieces):
            size += len(piece)
            if size > most:
                raise _too_big(most)
            text.write(piece)
    except zlib.error as error:
        text.close()
        raise Invalid(
            _("The file is packed, and damaged."), fields={"file": _("Damaged.")}
        ) from error
    except BaseException:
        text.close()
        raise
    text.seek(0)
    return text


def _too_big(most: int) -> Invalid:
    told = _("The trace is larger than %(mib)s MiB unpacked. Cut it to the days you need.")
    return Invalid(
        told % {"mib": formats.number(most >> 20)}, fields={"file": _("Too large.")},
        details={"most_bytes": most},
    )  # fmt: skip


def _unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Text piece by piece; a packed piece never becomes more than one piece of text at once."""
    packed: bool | None = None
    inflate = zlib.decompressobj(31)
    for piece in pieces:
        if packed is None and piece:
            packed = piece.startswith(GZIP)
        if not packed:
            yield piece
            continue
        rest = piece
        while rest:
            yield inflate.decompress(rest, PIECE)
            rest = inflate.unconsumed_tail
            if inflate.eof and not rest:
                rest, inflate = inflate.unused_data, zlib.decompressobj(31)


def check(text: IO[bytes], form: str) -> Read:
    """Read all of it once. Raises `Invalid` in the reader's words where it is no such trace."""
    jobs, first, last = 0, None, 0
    try:
        reading = READERS[form].jobs(cast(BinaryIO, text))
        for job in reading:
            jobs += 1
            if jobs > MOST_JOBS:
                break
            first = job.submitted_at if first is None else min(first, job.submitted_at)
            last = max(last, job.submitted_at)
    except TraceError as error:
        told = _("This cannot be read as %(form)s: %(why)s") % {"form": form, "why": error}
        raise Invalid(told, fields={"file": told}) from error
    if first is None:
        raise Invalid(_("The trace holds no jobs."), fields={"file": _("No jobs.")})
    if jobs > MOST_JOBS:
        told = _("The trace holds more than %(n)s jobs. Cut it to the days you need.") % {
            "n": formats.number(MOST_JOBS)
        }
        raise Invalid(told, fields={"file": told})
    size = text.seek(0, 2)
    text.seek(0)
    return Read(size, jobs, reading.bad, first, last)


def put(trace: Trace, text: IO[bytes]) -> None:
    """Keep the text of a trace."""
    for number, piece in enumerate(iter(lambda: text.read(PIECE), b"")):
        TraceChunk.objects.create(trace=trace, number=number, data=zlib.compress(piece))


def read_jobs(trace: Trace) -> list[Job]:
    """The jobs of a kept trace, in file order."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as text:
        numbers = trace.chunks.order_by("number").values_list("number", flat=True)
        for number in numbers:
            text.write(zlib.decompress(trace.chunks.get(number=number).data))
        text.seek(0)
        return list(READERS[trace.form].jobs(cast(BinaryIO, text)))
