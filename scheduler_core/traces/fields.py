"""Turn cells of a trace into numbers, and say which column is at fault when they are none."""

import math
import re
from datetime import UTC, datetime
from fractions import Fraction

from scheduler_core.traces.errors import BadRow
from scheduler_core.traces.records import WHOLE_GPU

DIGITS = 15
MOST = 10**DIGITS
"""Amounts stay below this, so that sums over a cluster stay within 64 bits."""
# Bounded, because an exponent of nine digits alone could keep a machine busy for hours.
NUMBER = re.compile(r"-?(\d{1,15}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII)


class Row(dict[str, str]):
    """The cells of one row by column name. A column the file lacks reads as an empty cell."""

    def text(self, column: str) -> str:
        """Return the cell without surrounding space; empty where the column is absent."""
        return self.get(column, "").strip()

    def name(self, column: str) -> str:
        """Return the cell. Raises `BadRow` when it is empty."""
        value = self.text(column)
        if not value:
            raise BadRow(f"{column}: is empty")
        return value

    def number(self, column: str, default: str | None = None) -> Fraction:
        """Return the exact value of a decimal cell, at least 0.

        An empty cell gives `default`. Raises `BadRow` when there is none, and for anything that
        is no plain number of at most 15 digits before the point, or below 0.
        """
        value = self.text(column) or default
        if value is None:
            raise BadRow(f"{column}: is empty")
        if not NUMBER.fullmatch(value):
            raise BadRow(f"{column}: {value[:40]!r} is no number")
        number = Fraction(value)
        if number < 0:
            raise BadRow(f"{column}: {value!r} is below 0")
        if number >= MOST:
            raise BadRow(f"{column}: {value!r} is more than anything has")
        return number

    def whole(self, column: str, default: str | None = None) -> int:
        """Return a whole number, at least 0; 3.0 passes for 3, while 3.5 raises `BadRow`."""
        value = self.text(column)
        if value.isascii() and value.isdigit() and len(value) <= DIGITS:
            return int(value)
        number = self.number(column, default)
        if number.denominator != 1:
            raise BadRow(f"{column}: {value!r} is no whole number")
        return int(number)

    def integer(self, column: str, default: str | None = None) -> int:
        """Return a whole number that may be below 0; raises `BadRow` as `whole` does."""
        value = self.text(column)
        if value.startswith("-"):
            return -Row({column: value[1:]}).whole(column)
        return self.whole(column, default)

    def seconds(self, column: str, default: str | None = None) -> int:
        """Return seconds rounded to the nearest whole one; raises `BadRow` as `number` does."""
        value = self.text(column)
        if value.isascii() and value.isdigit() and len(value) <= DIGITS:
            return int(value)
        return round(self.number(column, default))

    def seconds_or_none(self, column: str) -> int | None:
        """Return seconds as above, or None for an empty cell."""
        return self.seconds(column) if self.text(column) else None

    def moment(self, column: str) -> int:
        """Return the epoch second of an ISO date and time; a time without a zone is UTC."""
        value = self.name(column)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise BadRow(f"{column}: {value!r} is no date and time") from None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    def moment_or_none(self, column: str) -> int | None:
        """Return the moment as above, or None for a cell that says there is none."""
        absent = self.text(column).lower() in {"", "none", "null", "unknown", "n/a"}
        return None if absent else self.moment(column)

    def flag(self, column: str, default: bool) -> bool:
        """Return yes or no for true/false, yes/no or 1/0; an empty cell gives `default`."""
        value = self.text(column).lower()
        if not value:
            return default
        if value in {"true", "yes", "1"}:
            return True
        if value in {"false", "no", "0"}:
            return False
        raise BadRow(f"{column}: {value!r} is neither true nor false")

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of a cell that joins them by bars, in their order."""
        return tuple(name for name in self.text(column).split("|") if name)


def per_task_milli(gpus: Fraction) -> int:
    """Return milli-GPU of one task that asks for this many GPUs.

    Below one device the share is rounded up to a thousandth; above one it is rounded up to whole
    devices, because a task that holds 1.5 GPUs cannot be told to share exactly one of its two.
    """
    if gpus <= 1:
        return math.ceil(gpus * WHOLE_GPU)
    return math.ceil(gpus) * WHOLE_GPU


def over_tasks(total: int, tasks: int) -> tuple[int, int]:
    """Return (tasks, whole GPUs of each) for a job of `total` GPUs said to span `tasks` machines.

    Where the GPUs do not divide evenly the job is taken as one task, since how they lay is unknown.
    """
    if tasks > 1 and total % tasks == 0 and total >= tasks:
        return tasks, total // tasks
    return 1, total
