"""When nodes fail and are repaired in a replay: as a file says, or at random."""

import argparse
from collections.abc import Callable, Sequence
from random import Random
from typing import BinaryIO

from scheduler_core.simulator.events import Event, Rank
from scheduler_core.traces import Job
from scheduler_core.traces.errors import BadRow
from scheduler_core.traces.fields import Row
from scheduler_core.traces.reading import table

HOUR = 3600
LEAST_HOURS, MOST_HOURS = 0.1, 1e6
COLUMNS = ("node", "failed_at", "repaired_at")


class Refusal(ValueError):
    """The arguments do not go together, or a file does not say what it should."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments about failures."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--failures", metavar="FILE", help="CSV of node, failed_at, repaired_at in trace seconds"
    )
    how.add_argument(
        "--mtbf-hours", type=float, help="nodes fail at random, each so often on average"
    )
    parser.add_argument(
        "--repair-hours", type=float, default=1.0, help="how long a repair then takes on average"
    )


def events(
    arguments: argparse.Namespace,
    open_file: Callable[[str], BinaryIO],
    nodes: Sequence[str],
    jobs: Sequence[Job],
) -> list[Event]:
    """Return failures and repairs; none unless asked for. Raises `Refusal` or `TraceError`."""
    if arguments.failures is not None:
        with open_file(arguments.failures) as stream:
            return _of_file(arguments.failures, stream, nodes)
    if arguments.mtbf_hours is None:
        return []
    for name, hours in (("mtbf", arguments.mtbf_hours), ("repair", arguments.repair_hours)):
        if not LEAST_HOURS <= hours <= MOST_HOURS:
            raise Refusal(f"--{name}-hours: must be from {LEAST_HOURS} to {MOST_HOURS:,.0f}")
    draw = Random(arguments.seed)  # noqa: S311 - a simulation, no secret
    until = max(job.submitted_at + (job.duration_seconds or 0) for job in jobs)
    since = min(job.submitted_at for job in jobs)
    found: list[Event] = []
    for node in range(len(nodes)):
        at = since + draw.expovariate(1 / arguments.mtbf_hours) * HOUR
        while at < until:
            back = at + draw.expovariate(1 / arguments.repair_hours) * HOUR
            found += _outage(node, int(at), max(int(at) + 1, int(back)))
            at = back + draw.expovariate(1 / arguments.mtbf_hours) * HOUR
    return found


def _outage(node: int, failed_at: int, repaired_at: int) -> list[Event]:
    return [
        Event(failed_at, Rank.FAILURE, 0, node),
        Event(repaired_at, Rank.REPAIR, 0, node),
    ]


def _of_file(path: str, stream: BinaryIO, nodes: Sequence[str]) -> list[Event]:
    place = {name: number for number, name in enumerate(nodes)}
    found: list[Event] = []
    for line, row in table(stream, COLUMNS):
        try:
            found += _row(row, place)
        except BadRow as why:
            raise Refusal(f"{path} line {line}: {why}") from None
    return found


def _row(row: Row | BadRow, place: dict[str, int]) -> list[Event]:
    if isinstance(row, BadRow):
        raise row
    node, failed_at, repaired_at = (
        place.get(row.name("node")), row.seconds("failed_at"), row.seconds("repaired_at"),
    )  # fmt: skip
    if node is None:
        raise BadRow(f"node: unknown node {row.name('node')}")
    if failed_at >= repaired_at:
        raise BadRow("failed_at: must be before the repair")
    return _outage(node, failed_at, repaired_at)
