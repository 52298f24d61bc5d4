"""Every conformance case holds, through the command line's own contract."""

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduler_core import cli

CASES = sorted((Path(__file__).parent / "conformance").glob("*.json"))


def answer(
    verb: str, given: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given) + "\n"))
    assert cli.main([verb, "--lines"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "error" not in found, found
    return found


def by_team(names: set[str], case: dict[str, Any], want: dict[str, int]) -> dict[str, int]:
    team_of = {one["id"]: one["team"] for one in case["input"]["workloads"]}
    counted = Counter(team_of[name] for name in names)
    return {team: counted.get(team, 0) for team in want}


def nodes_of(start: dict[str, Any]) -> dict[str, int]:
    tasks: Counter[str] = Counter()
    for placement in start["placements"]:
        tasks[placement["node"]] += placement["tasks"]
    return dict(tasks)


def found_for(key: str, want: Any, case: dict[str, Any], got: dict[str, Any]) -> Any:
    if key in ("shares", "left"):
        return got[key]
    if key in ("available", "factor"):
        return {
            one["team"]: None if one[key] is None else round(one[key], 6)
            for one in got["shares"]
            if one["team"] in want
        }
    started = {one["workload"]: one for one in got["starts"]}
    preempted = {one["workload"] for one in got["preemptions"]}
    waiting = {one["workload"]: one for one in got["waiting"]}
    answers: dict[str, Callable[[], Any]] = {
        "started": lambda: sorted(started),
        "preempted": lambda: sorted(preempted),
        "not_started": lambda: sorted(set(want) - set(started)),
        "started_count": lambda: by_team(set(started), case, want),
        "preempted_count": lambda: by_team(preempted, case, want),
        "planned_start": lambda: {name: waiting[name]["planned_start"] for name in want},
        "reason": lambda: {name: waiting[name]["reason"] for name in want},
        "detail": lambda: {
            name: {word: waiting[name]["detail"].get(word) for word in detail}
            for name, detail in want.items()
        },
        "tasks_on": lambda: {name: nodes_of(started[name]) for name in want},
    }
    return answers[key]()


def cases() -> Iterator[Any]:
    for path in CASES:
        case = json.loads(path.read_text())
        parts = [{**case, **part} for part in case["many"]] if "many" in case else [case]
        for part in parts:
            yield pytest.param(part, id=case["name"])


@pytest.mark.parametrize("case", list(cases()))
def test_the_case_holds(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got = answer(case["verb"], case["input"], monkeypatch, capsys)
    for key, want in case["expect"].items():
        expected = sorted(want) if isinstance(want, list) else want
        assert found_for(key, want, case, got) == expected, key
