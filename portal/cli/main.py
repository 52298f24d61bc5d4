"""Reads the command line, runs one command, and shows what came of it."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from portal.cli import keeping, parsing
from portal.cli.calling import Portal
from portal.cli.faults import Fault
from portal.cli.shown import Shown

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the number it ends with; see the package for what they mean."""
    typed = parsing.finish(parsing.parser().parse_args(arguments))
    try:
        return _show(_run(typed), as_json=typed.json)
    except Fault as fault:
        return _tell(fault, as_json=typed.json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our lines has seen enough, such as `head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(typed: Namespace) -> Shown:
    shown = typed.run(typed) if getattr(typed, "alone", False) else typed.run(_portal(), typed)
    assert isinstance(shown, Shown)
    return shown


def _portal() -> Portal:
    return Portal(keeping.held())


def _show(shown: Shown, *, as_json: bool) -> int:
    if as_json:
        text = json.dumps(shown.data, ensure_ascii=False, indent=2)
    else:
        text = shown.text
        if shown.notes:
            sys.stderr.write(f"{shown.notes}\n")
            sys.stderr.flush()
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return shown.ends_with


def _tell(fault: Fault, *, as_json: bool) -> int:
    if as_json:
        told = fault.problem or {"title": fault.message, "code": type(fault).__name__.lower()}
        text = json.dumps({**told, "hint": fault.hint} if fault.hint else told, ensure_ascii=False)
    else:
        text = "\n".join([f"evenshare: {fault.message}", *_lines(fault.hint)])
    sys.stderr.write(f"{text}\n")
    return fault.ends_with


def _lines(hint: str) -> list[str]:
    return [f"  {hint}"] if hint else []
