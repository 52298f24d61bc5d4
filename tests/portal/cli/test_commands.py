"""The command against a portal that answers over a real socket."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.requests.models import Request, RequestState
from tests.portal.cli.conftest import Run, Served

As = Callable[..., Run]
ASKED = (
    "request", "new", "reservation", "--team", "vision", "--pool", "h100", "--gpus", "4",
    "--from", "2026-11-03T09:00+09:00", "--hours", "4", "--for", "Retrain the detector",
)  # fmt: skip


def test_a_request_is_asked_for_decided_and_seen_by_both(served: Served, as_: As) -> None:
    asker = as_(served.world.lead)
    made = asker(*ASKED, "--submit", "--json")
    assert (made.code, made.err) == (0, "")
    number = json.loads(made.out)["id"]
    assert Request.objects.get(pk=number).state == RequestState.SUBMITTED
    decider = as_(served.world.admin)
    waiting = decider("request", "list", "--tab", "waiting")
    assert "submitted  reservation  Vision  h100     4" in waiting.out
    done = decider("request", "approve", str(number), "--gpus", "2", "--note", "Half")
    assert done.code == 0, done.err
    assert "State        approved" in done.out
    shown = as_(served.world.lead)("request", "show", str(number))
    assert "GPUs            2 of 4" in shown.out
    assert "Retrain the detector" in shown.out


def test_a_draft_says_how_to_submit_it_and_can_be_taken_back(served: Served, as_: As) -> None:
    lead = as_(served.world.lead)
    made = lead(*ASKED)
    row = Request.objects.get()
    assert f"evenshare request submit {row.pk}" in made.out
    assert lead("request", "submit", str(row.pk)).code == 0
    assert lead("request", "cancel", str(row.pk)).code == 0
    row.refresh_from_db()
    assert row.state == RequestState.CANCELLED


def test_a_check_ends_with_whether_it_fits_and_writes_nothing(served: Served, as_: As) -> None:
    lead = as_(served.world.lead)
    fits = lead(*ASKED, "--check")
    assert (fits.code, fits.out.splitlines()[0]) == (0, "Fits.")
    words = list(ASKED)
    words[words.index("4")] = "16"
    too_many = lead(*words, "--check")
    assert too_many.code == 1
    assert "What would fit:" in too_many.out
    assert Request.objects.count() == 0


def test_nobody_agrees_to_their_own_and_a_rejection_needs_words(served: Served, as_: As) -> None:
    admin = as_(served.world.admin)
    number = json.loads(admin(*ASKED, "--submit", "--json").out)["id"]
    own = admin("request", "approve", str(number))
    assert own.code == 1
    assert own.err.startswith("evenshare: ")
    assert admin("request", "reject", str(number)).code == 2, "--note is needed"


def test_the_queue_and_why_are_what_the_pages_say(served: Served, as_: As) -> None:
    member = as_(served.world.member)
    queue = member("queue")
    assert {line.split()[2] for line in queue.out.splitlines()[1:]} == {"small", "large"}
    why = member("why", "large")
    assert why.out.splitlines()[0].rstrip(".") in queue.out
    assert f"{served.address}/queue/{served.large.pk}/" in why.out
    told = json.loads(member("why", str(served.large.pk), "--json").out)
    assert told["sentence"]["text"].replace("**", "") == why.out.splitlines()[0]


def test_a_name_that_means_nothing_is_answered_with_those_that_do(served: Served, as_: As) -> None:
    member = as_(served.world.member)
    no_job = member("why", "nothing-like-it")
    assert (no_job.code, no_job.err) == (2, "evenshare: There is no job nothing-like-it.\n")
    no_pool = member("queue", "--pool", "h900")
    assert no_pool.code == 2
    assert "There are: h100" in no_pool.err


def test_forecast_lists_those_that_wait(served: Served, as_: As) -> None:
    found = as_(served.world.member)("forecast")
    assert found.code == 0
    assert "large" in found.out
    assert as_(served.world.member)("forecast", "--scores").code == 0


def test_usage_adds_up_to_what_the_ledger_holds(served: Served, as_: As) -> None:
    """Four GPUs for five hours."""
    member = as_(served.world.member)
    assert "Vision" in member("usage").out
    assert "20.0" in member("usage").out
    rows = json.loads(member("usage", "--by", "pool", "--json").out)["results"]
    assert [row["gpu_milli_seconds"] for row in rows] == [4 * 1000 * 5 * 3600]


def test_whoami_names_roles_and_where(served: Served, as_: As) -> None:
    found = as_(served.world.lead)("whoami")
    assert found.out.splitlines()[-1].split() == ["lead", "Vision"]


def test_korean_by_the_terminal_s_language(
    served: Served, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "ko_KR.UTF-8")
    member = as_(served.world.member)
    missing = member("request", "show", "4711")
    assert missing.code == 1
    assert "없" in missing.err
    assert any("가" <= letter <= "힣" for letter in member("why", "large").out.splitlines()[0])


def test_every_answer_comes_as_json_too(served: Served, as_: As) -> None:
    member = as_(served.world.member)
    for words in ("whoami", "request list", "queue", "why large", "forecast", "usage"):
        done = member(*words.split(), "--json")
        assert done.code == 0, done.err
        assert isinstance(json.loads(done.out), dict)


def test_a_refusal_comes_as_json_too_and_on_stderr(served: Served, as_: As) -> None:
    done = as_(served.world.member)("request", "show", "4711", "--json")
    assert (done.code, done.out) == (1, "")
    assert json.loads(done.err)["status"] == 404


def test_a_token_made_for_less_says_what_it_lacks(served: Served, as_: As) -> None:
    done = as_(served.world.lead, "requests:read", "teams:read", "inventory:read")(*ASKED)
    assert done.code == 1
    assert "requests:write" in done.err
    assert f"{served.address}/account/tokens/" in done.err


def test_the_installed_command_signs_in_asks_and_forgets(served: Served, home: Path) -> None:
    token = served.token(served.world.lead)
    script = Path(sys.executable).with_name("evenshare")
    assert script.exists(), "pip install --editable . puts it there"

    def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [script, *words], input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    signed_in = run("login", served.address, "--token-stdin", stdin=f"{token}\n")
    assert signed_in.returncode == 0, signed_in.stderr
    kept = home / "config" / "evenshare" / "config.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    queue = run("queue")
    assert queue.returncode == 0
    assert "large" in queue.stdout
    assert run("logout").returncode == 0
    assert not kept.exists()
    out = run("queue")
    assert (out.returncode, out.stderr.splitlines()[1]) == (1, "  Run: evenshare login")
    said = "".join(one.stdout + one.stderr for one in (signed_in, queue, out))
    assert token not in said
