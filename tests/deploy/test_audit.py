"""The audit fails on what nobody accepted, on what is accepted in vain, and never silently passes."""

from typing import Any

import pytest

from tests import audit

ROWS = [{"code": "B101", "paths": ["portal"]}, {"code": "B603", "paths": ["portal/a.py"]}]


def test_what_was_accepted_is_quiet_and_all_else_is_named() -> None:
    found = [
        ("portal/x/y.py", "B101", "assert"), ("portal/a.py", "B603", "call"),
        ("portal/b.py", "B603", "call"), ("portals.py", "B101", "assert"),
    ]  # fmt: skip
    assert audit.judge(found, ROWS) == ["portal/b.py: B603 call", "portals.py: B101 assert"]


def test_what_is_accepted_and_gone_is_named() -> None:
    found = [("portal/x.py", "B101", "assert")]
    (fault,) = audit.judge(found, ROWS)
    assert fault == "portal/a.py: B603 is accepted and not found any more"


def test_every_accepted_risk_has_a_reason() -> None:
    rows = audit.accepted("bandit") + audit.accepted("pip-audit")
    assert rows
    assert all(len(row["why"]) > 20 for row in rows)


def test_a_known_hole_is_named_with_the_version_that_mends_it() -> None:
    hole = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["5.2.99"]}
    answer: dict[str, Any] = {
        "dependencies": [
            {"name": "django", "version": "5.2.1", "vulns": [hole]},
            {"name": "ours", "skip_reason": "not found"},
        ]
    }
    assert audit.holes(answer, ()) == (["django 5.2.1: PYSEC-1, mended in 5.2.99"], ["ours"])
    assert audit.holes(answer, [{"package": "django", "id": "CVE-1"}])[0] == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("no route to host", "NOT AUDITED, the index cannot be reached: no route to host"),
        (
            {"dependencies": [{"name": "django", "skip_reason": "not found"}]},
            "NOT AUDITED, the index in use tells of no known holes",
        ),
    ],
)
def test_without_an_index_it_says_that_nothing_was_audited(
    answer: dict[str, Any] | str, says: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(audit, "ask", lambda _lines: answer)
    assert audit.of_dependencies() == []
    assert says in capsys.readouterr().out
