"""The command line: documents in on standard input, answers out on standard output.

The only input and output of the engine, and its only clock (of CPU time). A bad document ends the program with exit code 2 and one
line on standard error; with `--lines` it is answered in its place instead.
"""

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from scheduler_core import division, document, planner
from scheduler_core.simulator import command as replaying
from scheduler_core.simulator import writing
from scheduler_core.simulator.breaks import Refusal
from scheduler_core.traces import TraceError

Answer = Callable[[object], document.Json]


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand: what it is for, its arguments, and what runs it."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _plan(given: object) -> document.Json:
    return document.plan_to_json(planner.plan(document.parse_snapshot(given)))


def _divide(given: object) -> document.Json:
    return document.shares_to_json(division.divide(document.parse_division(given)))


def _read(text: str) -> object:
    if not text.isascii() and not document.is_unicode(text):
        raise document.Fault("", "is not UTF-8")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise document.Fault("", "is not JSON") from None


def _speak_utf_8() -> None:
    """JSON is UTF-8 whatever the locale says; bytes that are not are let in, to be refused."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def _write(answer: document.Json) -> None:
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n")


def _answer_lines(answer: Answer) -> int:
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            _write(answer(_read(line)))
        except document.Fault as fault:
            _write({"error": str(fault)})
    return 0


def _answer_one(answer: Answer) -> int:
    try:
        found = answer(_read(sys.stdin.read()))
    except document.Fault as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    _write(found)
    return 0


def _answering(summary: str, answer: Answer) -> Command:
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--lines", action="store_true", help="one document a line in, one answer a line out"
        )

    def run(arguments: argparse.Namespace) -> int:
        return (_answer_lines if arguments.lines else _answer_one)(answer)

    return Command(summary, add_arguments, run)


def _print_schema(_: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(document.schema_to_json(), indent=2) + "\n")
    return 0


def _open(path: str) -> BinaryIO:
    return Path(path).open("rb")


def _new(path: str) -> TextIO:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Path(path).open("w", encoding="utf-8")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _keep_still(line: str) -> None:
    """Tell nobody."""


def _add_replay_arguments(parser: argparse.ArgumentParser) -> None:
    replaying.add_arguments(parser)
    parser.add_argument(
        "--progress", action="store_true", help="say on standard error how far it is; on a terminal"
        " it always does"
    )  # fmt: skip


def _replay(arguments: argparse.Namespace) -> int:
    is_told = arguments.progress or sys.stderr.isatty()
    tell = _tell if is_told else _keep_still
    outside = replaying.Outside(_open, _new, time.process_time, tell)
    try:
        answered = list(replaying.answers(arguments, outside))
    except (Refusal, TraceError, document.Fault, OSError) as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 2
    if arguments.json:
        sys.stdout.write(json.dumps(answered, indent=2) + "\n")
    elif arguments.csv:
        writing.write_summary(answered, sys.stdout)
    else:
        sys.stdout.write(replaying.table(answered))
    return 0


COMMANDS: dict[str, Command] = {
    "plan": _answering("Plan one cycle of a snapshot.", _plan),
    "divide": _answering("Divide a total among teams.", _divide),
    "replay": Command("Replay a trace and compare policies.", _add_replay_arguments, _replay),
    "schema": Command("Print the JSON Schema.", lambda parser: None, _print_schema),
}
"""Every subcommand; another is one more line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code."""
    parser = argparse.ArgumentParser(prog="scheduler_core", description="The scheduling engine.")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        command.add_arguments(
            subparsers.add_parser(name, help=command.summary, description=command.summary)
        )
    arguments = parser.parse_args(argv)
    _speak_utf_8()
    return COMMANDS[arguments.command].run(arguments)
