"""An hour with everything wrong at once, over real sockets, by a clock that jumps.

The mail server is down for an hour; one webhook is slow, one answers 500 for a while, one leads
inside. Whatever was to be told is told once in the end, and nothing inside is ever asked.
"""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pytest_django import Settings

from portal.common import audit, outbox
from portal.common.models import OutboxMessage
from portal.notifications import services
from portal.notifications.models import Hook
from portal.notifications.sending import webhook
from portal.notifications.tasks import SENDERS
from portal.teams.models import Role
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Mailbox(socketserver.StreamRequestHandler):
    """A mail server that takes what RFC 5321 says a client sends."""

    got: list[str] = []

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline().decode().strip().upper():
            if line.startswith("DATA"):
                self._say("354 go on")
                lines = []
                while (text := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                    lines.append(text)
                type(self).got.append("\n".join(lines))
            self._say("221 bye" if line.startswith("QUIT") else "250 ok")
            if line.startswith("QUIT"):
                return

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def a_mail_server(port: int) -> Iterator[None]:
    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", port), Mailbox) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield
        server.shutdown()


class Program(BaseHTTPRequestHandler):
    """Programs of others, by path, and one inside that nobody may reach."""

    taken: dict[str, list[str]] = {}
    mended = False

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/slow" and not self.mended:
            time.sleep(3 * webhook.SECONDS)
        failing = self.path == "/failing" and not self.mended
        status = 302 if self.path == "/leads-inside" else 500 if failing else 200
        if status == 200:
            self.taken.setdefault(self.path, []).append(self.headers["Evenshare-Delivery"])
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/inside")
        self.end_headers()

    do_GET = do_POST  # noqa: N815  # as the server looks it up

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def programs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(webhook, "SECONDS", 0.1)
    Program.taken, Program.mended = {}, False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Program)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def mail_port(settings: Settings) -> int:
    """Where a mail server will stand; none does yet."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", port, 2
    Mailbox.got = []
    return port


def _happen(programs: str) -> list[str]:
    """A request is submitted: two admins are mailed, three programs told."""
    team = a_team("vision")
    for name in ("jihye", "seungmin"):
        user = a_user(name, role=Role.ADMIN)
        user.email = f"{name}@example.org"
        user.save()
    for path in ("/slow", "/failing", "/leads-inside"):
        services.add_hook(
            name=path, way="webhook", address=f"{programs}{path}", kinds=[], team_id=None,
            actor_id=None, real_now=NOW,
        )  # fmt: skip
    services.spread(now=NOW, real_now=NOW)
    audit.record(
        actor_id=None, action="requests.submitted", target_type="request", target_id=7,
        team_id=team.pk,
    )  # fmt: skip
    services.spread(now=NOW, real_now=NOW)
    return list(OutboxMessage.objects.values_list("key", flat=True))


def _every_minute(first: int, last: int) -> None:
    for minute in range(first, last):
        at = NOW + minute * MINUTE
        outbox.deliver_due(SENDERS, clock=lambda at=at: at)  # type: ignore[misc]


def test_it_ends_right(programs: str, mail_port: int) -> None:
    assert len(_happen(programs)) == 5
    _every_minute(0, 60)
    assert Mailbox.got == []
    assert set(Program.taken) <= {"/slow"}, "it took what it was too slow to say so"
    errors = dict(OutboxMessage.objects.values_list("address", "error"))
    hooks = {hook.name: errors[str(hook.pk)] for hook in Hook.objects.all()}
    assert "refused" in errors["jihye@example.org"].lower()
    assert "timed out" in hooks["/slow"].lower()
    assert (hooks["/failing"], hooks["/leads-inside"]) == ("answered 500", "answered 302")
    assert set(OutboxMessage.objects.values_list("sent_at", "given_up_at")) == {(None, None)}
    Program.mended = True
    with a_mail_server(mail_port):
        _every_minute(60, 5 * 60)
    assert sorted(text.partition("To: ")[2].split("\n")[0] for text in Mailbox.got) == [
        "jihye@example.org", "seungmin@example.org",
    ]  # fmt: skip
    assert set(Program.taken) == {"/slow", "/failing"}, "nothing inside"
    assert len(Program.taken["/failing"]) == 1
    assert len(set(Program.taken["/slow"])) == 1, "one delivery, however often it was tried"
    left = OutboxMessage.objects.get(sent_at=None)
    assert left.attempts >= 5
    outbox.deliver_due(SENDERS, clock=lambda: NOW + outbox.GIVE_UP + timedelta(hours=7))
    left.refresh_from_db()
    assert left.given_up_at is not None
    assert set(Program.taken) == {"/slow", "/failing"}
