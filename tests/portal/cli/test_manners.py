"""What keeps the token safe, and what is said when a portal is busy, gone, or none at all."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from portal.cli import calling, drawing, keeping, words
from portal.cli.calling import Portal
from portal.cli.faults import Fault, NotReached, Refused
from portal.cli.keeping import Account
from tests.portal.cli.conftest import Run

TOKEN = "evenshare_" + "k" * 40
Reply = tuple[int, dict[str, str], bytes]
FOUND = {"id": 7, "state": "submitted"}


def a_reply(status: int, body: object = None, **headers: str) -> Reply:
    """An answer; header names are written with low lines."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, named, text


@dataclass
class Host:
    """A host that answers what it is told, in turn, and remembers what it was asked."""

    replies: list[Reply] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    address: str = ""
    waits: list[float] = field(default_factory=list)

    @property
    def portal(self) -> Portal:
        """As the command speaks to it, without the waiting."""
        return Portal(Account(self.address, TOKEN), sleep=self.waits.append)


@pytest.fixture
def host() -> Iterator[Host]:
    told = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            told.asked.append((self.command, self.path, dict(self.headers)))
            status, headers, body = told.replies.pop(0)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    told.address = f"http://127.0.0.1:{server.server_port}"
    yield told
    server.shutdown()
    server.server_close()


def test_a_busy_portal_is_left_alone_for_as_long_as_it_says(host: Host) -> None:
    host.replies = [a_reply(429, {"title": "Slowly."}, Retry_After="7"), a_reply(200, FOUND)]
    assert host.portal.write("requests", {"gpus": 1}) == FOUND
    assert host.waits == [7.0]
    keys = [headers["Idempotency-Key"] for _verb, _path, headers in host.asked]
    assert len(keys) == 2
    assert len(set(keys)) == 1, "the second try is the same write"


def test_one_that_wants_more_patience_than_a_minute_is_told_of(host: Host) -> None:
    host.replies = [a_reply(429, {"title": "Slowly."}, Retry_After="3600")]
    with pytest.raises(Refused) as told:
        host.portal.get("me")
    assert host.waits == []
    assert told.value.hint == "Try again in 3600 seconds."


def test_every_write_has_a_key_of_its_own_and_a_read_has_none(host: Host) -> None:
    host.replies = [a_reply(200, FOUND)] * 3
    host.portal.write("requests/1/submit")
    host.portal.write("requests/1/submit")
    host.portal.get("me")
    keys = [headers.get("Idempotency-Key") for _verb, _path, headers in host.asked]
    assert keys[0] != keys[1]
    assert keys[2] is None


def test_a_redirect_takes_the_token_nowhere(host: Host) -> None:
    other = f"{host.address}/elsewhere"
    host.replies = [a_reply(302, Location=other)]
    with pytest.raises(NotReached, match="sends you elsewhere"):
        host.portal.get("me")
    assert [path for _verb, path, _headers in host.asked] == ["/api/v1/me"]


@pytest.mark.parametrize(
    ("reply", "ends_with", "says"),
    [
        (a_reply(500, b"<h1>oops</h1>", X_Request_Id="abc"), 3, "request abc"),
        (a_reply(500, {"title": "Something is wrong."}), 3, "Something is wrong."),
        (a_reply(200, b"<html>hello"), 3, "is not Evenshare"),
        (a_reply(404, b"nginx"), 3, "is not Evenshare"),
        (a_reply(401, {"title": "Sign in."}), 1, "/account/tokens/"),
        (a_reply(412, {"title": "Changed."}), 1, "Look at it again"),
        (a_reply(422, {"title": "No.", "fields": {"gpus": ["Too many."]}}), 1, "gpus: Too many."),
        (a_reply(409, {"title": "Overcommitted: 3 are free."}), 1, "3 are free"),
    ],
)  # fmt: skip
def test_what_went_wrong_is_a_sentence_with_what_to_do(
    host: Host, reply: Reply, ends_with: int, says: str
) -> None:
    host.replies = [reply]
    with pytest.raises(Fault) as told:
        host.portal.get("requests/1")
    assert told.value.ends_with == ends_with
    assert says in f"{told.value.message}\n{told.value.hint}"


def test_nobody_at_home_is_not_reached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "TRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("EVENSHARE_ADDRESS", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("EVENSHARE_TOKEN", TOKEN)
    ended = run("queue")
    assert ended.code == 3
    assert "does not answer" in ended.err


def test_a_portal_that_repeats_the_token_does_not_make_us_say_it(
    host: Host, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.replies = [a_reply(409, {"title": f"What is {TOKEN}?"})]
    monkeypatch.setenv("EVENSHARE_ADDRESS", host.address)
    monkeypatch.setenv("EVENSHARE_TOKEN", TOKEN)
    ended = run("queue")
    assert ended.err.splitlines()[0] == "evenshare: What is ***?"
    assert TOKEN not in repr(host.portal)


@pytest.mark.parametrize(
    ("address", "insecure", "kept"),
    [
        ("gpu.example.org", False, "https://gpu.example.org"),
        ("https://gpu.example.org/", False, "https://gpu.example.org"),
        ("https://gpu.example.org/api/v1/", False, "https://gpu.example.org"),
        ("http://localhost:8000", False, "http://localhost:8000"),
        ("http://127.0.0.5:8000", False, "http://127.0.0.5:8000"),
        ("http://[::1]:8000", False, "http://[::1]:8000"),
        ("http://gpu.example.org", True, "http://gpu.example.org"),
        ("http://gpu.example.org", False, None),
        ("http://127.0.0.1.example.org", False, None),
        ("http://localhost@gpu.example.org", False, None),
        ("https://u:p@gpu.example.org", False, None),
        ("file:///etc/passwd", False, None),
        ("ftp://gpu.example.org", False, None),
        ("https://gpu.example.org:99999", False, None),
        ("", False, None),
    ],
)
def test_a_token_goes_only_where_nobody_reads_along(
    address: str, insecure: bool, kept: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "C")
    if kept is None:
        with pytest.raises(Fault) as told:
            keeping.account(address, TOKEN, insecure=insecure)
        assert told.value.ends_with == 2
    else:
        assert keeping.account(address, TOKEN, insecure=insecure).address == kept


@pytest.mark.parametrize("token", ["", "short", "with space " * 4, TOKEN + "\r\nX: y"])
def test_what_is_no_token_is_refused_and_never_repeated(token: str) -> None:
    with pytest.raises(Fault) as told:
        keeping.account("https://gpu.example.org", token, insecure=False)
    assert not token or token not in f"{told.value.message}{told.value.hint}"


def test_a_file_others_can_read_is_not_trusted(run: Run, home: Path) -> None:
    path = keeping.keep(Account("https://gpu.example.org", TOKEN))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o644)
    ended = run("queue")
    assert ended.code == 2
    assert "Others can read the token" in ended.err
    assert TOKEN not in ended.err


def test_a_file_that_holds_nonsense_is_said_to(run: Run, home: Path) -> None:
    path = keeping.keep(Account("https://gpu.example.org", TOKEN))
    path.write_text("{", encoding="utf-8")
    assert run("queue").code == 2


def test_the_token_is_no_word_of_the_command_line(run: Run) -> None:
    ended = run("login", "https://gpu.example.org", "--token", TOKEN)
    assert ended.code == 2


@pytest.mark.parametrize(
    ("environment", "spoken"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"), ({"LANG": "de_DE.UTF-8"}, "en"), ({}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"), ({"LANGUAGE": "de:ko"}, "ko"),
        ({"LANG": "C"}, "en"), ({"LANG": "ko"}, "ko"),
    ],
)  # fmt: skip
def test_the_terminal_says_which_language(environment: dict[str, str], spoken: str) -> None:
    assert words.language(environment) == spoken


def test_korean_stands_in_line_and_a_terminal_is_given_no_orders() -> None:
    text = drawing.table(["팀", "GPUS"], [["비전", 8], ["a\x1b[2Jb", 16]], right=" r")
    assert text == "팀     GPUS\n비전      8\na[2Jb    16"


def test_it_loads_nothing_of_the_portal_or_its_framework() -> None:
    import subprocess
    import sys

    code = (
        "import sys, portal.cli.main; "
        "print([m for m in sys.modules if m.partition('.')[0] in ('django', 'celery', 'requests') "
        "or m.startswith('portal.') and not m.startswith('portal.cli')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
