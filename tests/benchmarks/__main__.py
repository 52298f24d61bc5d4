"""`python -m tests.benchmarks`: how fast the engine is here, beside its goals and its peers.

Every row runs alone, one after the other, on one core. `--only TEXT` runs the rows whose names hold
the text. What peers need stands in `peers`; without their folders they are skipped by name.
"""

import argparse
from collections.abc import Iterator

from tests.benchmarks import cycles, peers, replay, rows

BENCHES = {**cycles.BENCHES, **replay.BENCHES}


def main() -> None:
    """Run one row, or print the table of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", choices=BENCHES, help="run this one here and print it as JSON")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names hold this")
    peers.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.row:
        rows.tell(BENCHES[arguments.row]())
    else:
        rows.show(_all(arguments))


def _all(arguments: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    for name in BENCHES:
        if arguments.only in name:
            yield rows.run("tests.benchmarks", name)
    yield from peers.table(arguments)


if __name__ == "__main__":
    main()
