"""Walk a trace file row by row, counting what cannot be read.

Here is what all formats share: gzip or plain, byte order mark or none, any line ending, and the
rule for bad rows. What a column means stands in the format's own module.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import BinaryIO, Generic, TypeVar, cast

from scheduler_core.traces.errors import BadLine, BadRow, NoNodeList, NotThisFormat, TooManyBadRows
from scheduler_core.traces.fields import Row
from scheduler_core.traces.records import Node

T = TypeVar("T")
SHOWN = 3
# Below this many rows one bad row cannot be told from a bad file before the end is reached.
EARLY_STOP_ROWS = 10_000

Numbered = tuple[int, Row | BadRow]


class Reading(Generic[T]):
    """The records of one file, read as they are asked for; iterate once.

    After the walk `rows` is the number of data rows seen, `bad` how many of them were skipped and
    `first_bad` the first three of these. A row whose `parse` gives None holds no record by the
    format's own rules (a job step, a job without GPUs) and is neither good nor bad.
    """

    def __init__(self, numbered: Iterable[Numbered], parse: Callable[[Row], T | None]) -> None:
        self.rows = 0
        self.bad = 0
        self.first_bad: tuple[BadLine, ...] = ()
        self._numbered = numbered
        self._parse = parse

    def __iter__(self) -> Iterator[T]:
        """Yield the records in file order.

        Raises `TooManyBadRows` as soon as more than 1 % of a long file, or of the whole file, is
        bad, and `NotThisFormat` where the bytes stop making sense.
        """
        for line, row in self._numbered:
            self.rows += 1
            try:
                record = self._parse(_sound(row))
            except BadRow as why:
                self._skip(BadLine(line, str(why)))
                continue
            if record is not None:
                yield record
        self._refuse_if_bad()

    def _skip(self, bad: BadLine) -> None:
        self.bad += 1
        if len(self.first_bad) < SHOWN:
            self.first_bad += (bad,)
        if self.rows >= EARLY_STOP_ROWS:
            self._refuse_if_bad()

    def _refuse_if_bad(self) -> None:
        if self.bad * 100 > self.rows:
            raise TooManyBadRows(self.bad, self.rows, self.first_bad)


class JobsOnly:
    """The half of a reader whose format lists no machines."""

    def nodes(self, stream: BinaryIO) -> Reading[Node]:
        """Refuse: raises `NoNodeList`."""
        raise NoNodeList("this format lists jobs only; give the size of the cluster instead")


def lines_of(stream: BinaryIO) -> Iterator[str]:
    """Yield the text lines of a plain or gzip stream, without byte order mark or line ending.

    Bytes that are no UTF-8 are replaced, so that one odd name does not cost the file. Raises
    `NotThisFormat` where a gzip stream is damaged or cut short.
    """
    buffered = io.BufferedReader(cast(io.RawIOBase, stream))
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    raw = cast(BinaryIO, gzip.GzipFile(fileobj=buffered)) if packed else cast(BinaryIO, buffered)
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline=None)
    try:
        for line in text:
            yield line.rstrip("\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as damage:
        raise NotThisFormat(f"the gzip stream is damaged: {damage}") from damage
    finally:
        # The stream belongs to the caller: let go of it, do not close it. Left unread, this runs
        # when the generator is thrown away, and the caller may have closed the stream by then.
        if not stream.closed:
            text.detach()
            buffered.detach()


def table(
    stream: BinaryIO, required: Collection[str], *, delimiter: str = ",", quoted: bool = True
) -> Iterator[Numbered]:
    """Yield (line number, row) of a table with a header line; a row maps column to text.

    One line is one row: a stray quote costs one row, not the rest of the file. Blank lines are
    passed over. Raises `NotThisFormat` when the header lacks a `required` column.
    """
    numbered = enumerate(lines_of(stream), start=1)
    header = next((cells for _, cells in _split(numbered, delimiter, quoted)), None)
    if not isinstance(header, list):
        raise NotThisFormat("the file is empty: a header line was expected")
    columns = [name.strip() for name in header]
    lacking = [name for name in required if name not in columns]
    if lacking:
        raise NotThisFormat(f"the header lacks the columns {', '.join(lacking)}")
    return _rows(_split(numbered, delimiter, quoted), columns)


def _rows(
    split: Iterable[tuple[int, list[str] | BadRow]], columns: list[str]
) -> Iterator[Numbered]:
    width = len(columns)
    for line, cells in split:
        if isinstance(cells, BadRow):
            yield line, cells
        elif len(cells) != width:
            yield line, BadRow(f"has {len(cells)} cells where the header has {width}")
        else:
            yield line, Row(zip(columns, cells, strict=True))


def _split(
    numbered: Iterable[tuple[int, str]], delimiter: str, quoted: bool
) -> Iterator[tuple[int, list[str] | BadRow]]:
    for line, text in numbered:
        if not text.strip():
            continue
        if not quoted or '"' not in text:
            yield line, text.split(delimiter)
            continue
        try:
            yield line, next(csv.reader([text], delimiter=delimiter, strict=True))
        except csv.Error as why:
            yield line, BadRow(f"is no valid CSV: {why}")


def _sound(row: Row | BadRow) -> Row:
    if isinstance(row, BadRow):
        raise row
    return row
