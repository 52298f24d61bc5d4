"""Refusals of the trace readers.

    TraceError
    ├── NotThisFormat     the file is not what the reader expects (header, gzip, encoding)
    ├── NoNodeList        the format describes jobs only
    └── TooManyBadRows    more than one row in a hundred cannot be read

`BadRow` is not among them: a reader raises it for one row, and `Reading` counts it and goes on.
"""

from dataclasses import dataclass


class TraceError(ValueError):
    """A trace cannot be read; the message says why in one line."""


class NotThisFormat(TraceError):
    """The file does not look like the format it was said to be."""


class NoNodeList(TraceError):
    """The format has no list of machines, so the cluster must be described another way."""


class BadRow(ValueError):
    """One row cannot be read; the message names the column."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A row that was skipped: its line in the file, counted from 1, and what is wrong with it."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class TooManyBadRows(TraceError):
    """More than 1 % of the rows are bad; `first` holds the first three of them."""

    def __init__(self, bad: int, rows: int, first: tuple[BadLine, ...]) -> None:
        self.bad = bad
        self.rows = rows
        self.first = first
        shown = "; ".join(map(str, first))
        super().__init__(f"{bad} of {rows} rows are bad, more than 1 %: {shown}")
