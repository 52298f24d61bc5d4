"""Collects and bills in fixed steps, and dies where it is told to.

`python -m tests.drills.billing CLUSTER`: the steps of a month's end, each at its own time. How many
are done stands in the file DRILL_STEPS, so that the next process goes on where this one died; a
step that was done but not noted is done again. Points are before and after every statement to the
database; at point DRILL_KILL the process is killed by SIGKILL. Their number stands in DRILL_POINTS.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
NOON = datetime(2026, 11, 2, 0, 30, tzinfo=UTC)
ENDS = datetime(2026, 11, 30, 15, tzinfo=UTC)
"""Of November, as Seoul has it."""
MINUTE = timedelta(minutes=1)


class Points:
    """Where we are, and where it ends."""

    passed = 0
    kill = int(os.environ.get("DRILL_KILL", "0"))

    @classmethod
    def passing(cls) -> None:
        """Go past one point, or no further."""
        cls.passed += 1
        if cls.passed == cls.kill:
            os.kill(os.getpid(), signal.SIGKILL)


def _around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    Points.passing()
    result = execute(sql, params, many, context)
    Points.passing()
    return result


def steps(cluster_id: int) -> Iterator[Callable[[], object]]:
    """Two looks within the month, one after it, reckoning in between, and the close."""
    from portal.finance import services as finance
    from portal.kubernetes import services as kubernetes
    from portal.usage import services as usage

    def reckon(now: datetime) -> None:
        usage.roll_up()
        finance.compute_open(now=now)

    for now in (NOON, NOON + 6 * MINUTE, ENDS + 10 * MINUTE):
        yield lambda now=now: kubernetes.collect(cluster_id=cluster_id, now=now)  # type: ignore[misc]
        yield lambda now=now: reckon(now)  # type: ignore[misc]
    late = ENDS + 12 * MINUTE
    yield lambda: finance.close_month(month_start=NOON, actor_id=None, now=late)
    yield lambda: reckon(late)


def main() -> None:
    """Do what is not done."""
    django.setup()
    from django.db import connection

    noted = Path(os.environ["DRILL_STEPS"])
    done = int(noted.read_text()) if noted.exists() else 0
    with connection.execute_wrapper(_around):
        for number, step in enumerate(steps(int(sys.argv[1]))):
            if number >= done:
                step()
                noted.write_text(str(number + 1))
    Path(os.environ["DRILL_POINTS"]).write_text(str(Points.passed))


if __name__ == "__main__":
    main()
