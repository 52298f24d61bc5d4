"""What a benchmark tells, and how a row is run: alone in a process, so that its memory is its own."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain

LIMIT = 600
"""Wall seconds after which a row is given up."""
MEBIBYTE = 1024
"""The kernel counts a process's peak in KiB."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished piece of work: CPU seconds of one core, and how many decisions it took.

    `goal` says what was to be reached, `found` what came out, so that speed is not all there is.
    """

    seconds: float
    decisions: int
    found: str = ""
    goal: str = ""


@dataclass(slots=True)
class Watch:
    """CPU seconds between entering and leaving."""

    seconds: float = field(default=0.0)


@contextmanager
def watching() -> Iterator[Watch]:
    """Measure CPU seconds; reading files and building inputs stay outside."""
    watch = Watch()
    begun = time.process_time()
    yield watch
    watch.seconds = time.process_time() - begun


Bench = Callable[[], Done]

TITLES = ("work", "CPU s", "peak MiB", "decisions/s", "found", "goal")


def run(module: str, name: str) -> tuple[str, ...]:
    """Run one row in a process of its own and return its cells."""
    command = [sys.executable, "-m", module, "--row", name]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return (name, "", "", "", f"not done in {LIMIT} s", "")
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
        return (name, "", "", "", last, "")
    told = json.loads(ended.stdout.splitlines()[-1])
    speed = told["decisions"] / told["seconds"] if told["seconds"] else 0.0
    cells = (f"{told['seconds']:.2f}", f"{told['peak_mib']:,.0f}", f"{speed:,.0f}")
    return (name, *cells, told["found"], told["goal"])


def tell(done: Done) -> None:
    """Print a row for `run`, with the most memory this process ever held."""
    usage = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    sys.stdout.write(json.dumps({**asdict(done), "peak_mib": usage / MEBIBYTE}) + "\n")


def show(rows: Iterator[tuple[str, ...]]) -> None:
    """Print a table row by row, as each is done."""
    widths = (62, 8, 8, 11, 34, 0)
    for row in chain([TITLES], rows):
        name, *cells = row
        line = name.ljust(widths[0])
        for place, cell in enumerate(cells, start=1):
            line += "  " + (cell.ljust(widths[place]) if place > 3 else cell.rjust(widths[place]))
        sys.stdout.write(line.rstrip() + "\n")
        sys.stdout.flush()
