"""Looks for what lets in who should stay out; run by `make audit`, which `make test` runs.

bandit reads our code; pip-audit asks for known holes in the versions we install. What was accepted
stands with its reason in `accepted_risks.toml`. Where the index that pip-audit asks cannot be
reached, or knows nothing of holes, this says so and goes on: no audit is no pass, and is not called
one.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "tests/accepted_risks.toml"
SOURCES = ("portal", "scheduler_core", "deploy")
PROBE = "django"
Found = tuple[str, str, str]
"""Path, code, and what the tool says."""


def accepted(tool: str) -> list[dict[str, Any]]:
    """What was accepted of a tool's findings."""
    rows: list[dict[str, Any]] = tomllib.loads(ACCEPTED.read_text()).get(tool, [])
    return rows


def of_code() -> list[Found]:
    """All that bandit finds."""
    done = subprocess.run(
        [sys.executable, "-m", "bandit", "--quiet", "--format", "json", "--recursive", *SOURCES,
         "--exclude", "*/migrations/*"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    told = json.loads(done.stdout)
    if told["errors"]:
        sys.exit(f"bandit could not read everything: {told['errors']}")
    return [
        (row["filename"].removeprefix("./"), row["test_id"],
         f"line {row['line_number']}: {row['issue_text']}")
        for row in told["results"]
    ]  # fmt: skip


def judge(found: Iterable[Found], rows: Iterable[dict[str, Any]]) -> list[str]:
    """What was found and not accepted, and what was accepted and is gone."""
    unused = {(row["code"], path) for row in rows for path in row["paths"]}
    known, faults = set(unused), []
    for path, code, says in found:
        names = {(c, p) for c, p in known if c == code and (path == p or path.startswith(f"{p}/"))}
        unused -= names
        if not names:
            faults.append(f"{path}: {code} {says}")
    return faults + [f"{path}: {code} is accepted and not found any more" for code, path in unused]


def ask(requirements: str) -> dict[str, Any] | str:
    """pip-audit's answer for these lines, or why there is none."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", file.name, "--no-deps",
             "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "5"],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1]
    return answer


def holes(answer: dict[str, Any], rows: Iterable[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Known holes that are not accepted, and packages nothing is known of."""
    fine = {(row["package"], row["id"]) for row in rows}
    faults, unknown = [], []
    for package in answer["dependencies"]:
        if "skip_reason" in package:
            unknown.append(package["name"])
        for hole in package.get("vulns", ()):
            names = {hole["id"], *hole.get("aliases", ())}
            if not any((package["name"], name) in fine for name in names):
                better = ", ".join(hole["fix_versions"]) or "no version yet"
                faults.append(
                    f"{package['name']} {package['version']}: {hole['id']}, mended in {better}"
                )
    return faults, unknown


def of_dependencies() -> list[str]:
    """Faults of what we depend on; says on the way what could not be asked."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    probe = ask("\n".join(line for line in lines if line.lower().startswith(f"{PROBE}==")))
    if isinstance(probe, str):
        _say(f"pip-audit: NOT AUDITED, the index cannot be reached: {probe}")
        return []
    if holes(probe, ())[1]:
        _say("pip-audit: NOT AUDITED, the index in use tells of no known holes")
        return []
    answer = ask("\n".join(lines))
    if isinstance(answer, str):
        _say(f"pip-audit: NOT AUDITED: {answer}")
        return []
    faults, unknown = holes(answer, accepted("pip-audit"))
    _say(f"pip-audit: {len(lines) - len(unknown)} packages, {len(faults)} known holes")
    if unknown:
        _say(f"pip-audit: nothing is known of {', '.join(unknown)}")
    return faults


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Return 1 where something was found that nobody accepted."""
    found = of_code()
    faults = judge(found, accepted("bandit"))
    _say(f"bandit: {len(found)} findings, {len(faults)} of them open")
    faults += of_dependencies()
    for fault in faults:
        _say(f"  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
