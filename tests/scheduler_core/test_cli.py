"""The command line keeps its contract: exit codes, one line of error, answers line by line."""

import io
import json
import subprocess
import sys

import pytest

from scheduler_core import cli, document
from scheduler_core.testing import node, snapshot, waiting

SNAPSHOT = document.snapshot_to_json(snapshot([node("n")], {"a": 8000}, [waiting("w", "a")]))


def feed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


class TestPlan:
    def test_prints_a_plan(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        feed(json.dumps(SNAPSHOT), monkeypatch)
        assert cli.main(["plan"]) == 0
        assert json.loads(capsys.readouterr().out)["starts"][0]["workload"] == "w"

    def test_refuses_a_bad_document_with_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        feed(json.dumps({**SNAPSHOT, "now": -1}), monkeypatch)
        assert cli.main(["plan"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err == "now: must be at least 0\n"

    def test_refuses_what_is_not_json(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        feed("{", monkeypatch)
        assert cli.main(["plan"]) == 2
        assert capsys.readouterr() == ("", "is not JSON\n")

    def test_answers_each_line_and_goes_on_after_a_bad_one(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        feed(f"{json.dumps(SNAPSHOT)}\n{{}}\n{json.dumps(SNAPSHOT)}\n", monkeypatch)
        assert cli.main(["plan", "--lines"]) == 0
        first, bad, last = map(json.loads, capsys.readouterr().out.splitlines())
        assert bad == {"error": "now: is required"}
        assert first == last


def test_schema_is_printed_for_all_three_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    assert set(json.loads(capsys.readouterr().out)["$defs"]) == {"snapshot", "plan", "division"}


def test_the_package_runs_as_a_program() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "scheduler_core", "divide"],
        input='{"total": 3, "teams": [{"name": "a", "request": 2}]}',
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == {"shares": {"a": 2}, "left": 1}
