"""Nothing is sent twice, nothing is lost: servers down, slow, failing, or luring inside."""

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.core import mail
from pytest_django import Settings

from portal.common import audit, outbox
from portal.common.errors import Invalid
from portal.common.models import Channel, OutboxMessage
from portal.common.outbox import NotSent
from portal.notifications import services
from portal.notifications.models import Hook
from portal.notifications.sending import guard, webhook
from portal.notifications.tasks import SENDERS
from tests.builders import a_team

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)


def _put(key: str = "k", channel: Channel = Channel.MAIL, address: str = "a@example.org") -> None:
    outbox.put(key=key, channel=channel, address=address, subject="s", body="b", real_now=NOW)


class Server:
    """A sender whose fate is set: it counts what it was handed."""

    def __init__(self) -> None:
        self.down = False
        self.taken: list[str] = []

    def __call__(self, message: OutboxMessage) -> None:
        if self.down:
            raise NotSent("connection refused")
        self.taken.append(message.key)


def _deliver(server: Server, at: datetime) -> outbox.Delivered:
    return outbox.deliver_due({"mail": server}, clock=lambda: at)


def test_put_twice_it_is_there_once_and_sent_once() -> None:
    _put()
    _put()
    server = Server()
    _deliver(server, NOW)
    _deliver(server, NOW + timedelta(hours=1))
    assert server.taken == ["k"]


def test_a_server_down_for_an_hour_gets_everything_once_when_it_is_back() -> None:
    server = Server()
    server.down = True
    keys = [f"k{n}" for n in range(20)]
    for key in keys:
        _put(key)
    for minute in range(60):
        _deliver(server, NOW + timedelta(minutes=minute))
    attempts = OutboxMessage.objects.get(key="k0").attempts
    assert 4 <= attempts <= 8, "it backs off instead of knocking every minute"
    server.down = False
    for minute in range(60, 240):
        _deliver(server, NOW + timedelta(minutes=minute))
    assert sorted(server.taken) == sorted(keys)


def test_one_that_fails_stops_no_other() -> None:
    def send(message: OutboxMessage) -> None:
        if message.key == "bad":
            raise NotSent("no such address", final=True)

    _put("bad")
    _put("good")
    assert outbox.deliver_due({"mail": send}, clock=lambda: NOW) == outbox.Delivered(1, 1)
    assert OutboxMessage.objects.get(key="bad").given_up_at == NOW


def test_after_three_days_it_is_given_up_and_can_be_tried_again() -> None:
    server = Server()
    server.down = True
    _put()
    for hour in range(0, 24 * 4, 6):
        _deliver(server, NOW + timedelta(hours=hour))
    row = OutboxMessage.objects.get()
    assert row.given_up_at is not None
    server.down = False
    later = NOW + timedelta(days=5)
    assert _deliver(server, later) == outbox.Delivered()
    assert outbox.try_again(message_id=row.pk, real_now=later)
    _deliver(server, later)
    assert server.taken == ["k"]


def test_what_a_sender_that_died_had_claimed_is_sent_when_its_claim_runs_out() -> None:
    class Killed(BaseException):
        pass

    def dies(message: OutboxMessage) -> None:
        raise Killed

    _put()
    with pytest.raises(Killed):
        outbox.deliver_due({"mail": dies}, clock=lambda: NOW)
    server = Server()
    _deliver(server, NOW + timedelta(minutes=1))
    assert server.taken == [], "it may still be at work"
    _deliver(server, NOW + outbox.CLAIM)
    assert server.taken == ["k"]


def test_a_message_another_sender_claims_meanwhile_is_left_to_it() -> None:
    first, second = Server(), Server()

    def slow(message: OutboxMessage) -> None:
        _deliver(second, NOW)
        first(message)

    _put("one")
    outbox.deliver_due({"mail": slow}, clock=lambda: NOW)
    assert first.taken == ["one"]
    assert second.taken == []


def test_a_mail_has_the_same_id_at_every_attempt_and_no_header_is_smuggled_in() -> None:
    outbox.put(
        key="mail:1:2", channel=Channel.MAIL, address="a@example.org",
        subject="news\r\nBcc: all@example.org", body="b", real_now=NOW,
    )  # fmt: skip
    outbox.deliver_due(SENDERS, clock=lambda: NOW)
    assert len(mail.outbox) == 1
    assert mail.outbox[0].extra_headers["Message-ID"].startswith("<mail.1.2@")
    assert mail.outbox[0].message()["Bcc"] is None


class Receiver(BaseHTTPRequestHandler):
    """A program of somebody else on loopback."""

    got: list[tuple[dict[str, str], bytes]]
    status = 200
    location = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).got.append((dict(self.headers), body))
        self.send_response(self.status)
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def receiver(settings: Settings) -> Iterator[type[Receiver]]:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    Receiver.got, Receiver.status, Receiver.location = [], 200, ""
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Receiver.port = server.server_port  # type: ignore[attr-defined]
    yield Receiver
    server.shutdown()
    server.server_close()


def _hook(receiver: type[Receiver], path: str = "/in?x=1") -> str:
    return services.add_hook(
        name="ours", way="webhook", address=f"http://127.0.0.1:{receiver.port}{path}",  # type: ignore[attr-defined]
        kinds=[], team_id=None, actor_id=None, real_now=NOW,
    )  # fmt: skip


def _tell() -> None:
    team = a_team("vision")
    services.spread(now=NOW, real_now=NOW)
    audit.record(
        actor_id=None, action="reservations.opened", target_type="reservation", target_id=7,
        team_id=team.pk,
    )  # fmt: skip
    services.spread(now=NOW, real_now=NOW)


def _send() -> OutboxMessage:
    outbox.deliver_due(SENDERS, clock=lambda: NOW)
    return OutboxMessage.objects.get(channel="webhook")


def test_a_webhook_is_signed_so_that_the_receiver_can_tell(receiver: type[Receiver]) -> None:
    secret = _hook(receiver)
    _tell()
    assert _send().sent_at == NOW
    headers, body = receiver.got[0]
    assert json.loads(body)["text"] == "Reservation 7 of Vision has begun."
    at, signed = (part.partition("=")[2] for part in headers["Evenshare-Signature"].split(","))
    expected = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert signed == expected


@pytest.mark.parametrize("status", [301, 302, 307, 500, 503])
def test_a_webhook_that_fails_or_redirects_is_not_sent_and_not_followed(
    receiver: type[Receiver], status: int
) -> None:
    _hook(receiver)
    _tell()
    receiver.status = status
    receiver.location = f"http://127.0.0.1:{receiver.port}/inside"  # type: ignore[attr-defined]
    row = _send()
    assert row.sent_at is None
    assert row.given_up_at is None
    assert row.error == f"answered {status}"
    assert len(receiver.got) == 1
    assert receiver.got[0][0].get("Host") is not None


def test_a_webhook_that_is_gone_for_good_is_given_up(receiver: type[Receiver]) -> None:
    _hook(receiver)
    _tell()
    receiver.status = 410
    assert _send().given_up_at == NOW


def test_a_webhook_that_never_answers_holds_nobody_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(webhook, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        services.add_hook(
            name="silent", way="webhook", address=f"http://127.0.0.1:{silent.getsockname()[1]}/",
            kinds=[], team_id=None, actor_id=None, real_now=NOW,
        )  # fmt: skip
        _tell()
        row = _send()
    assert "timed out" in row.error.lower() or "timeout" in row.error.lower()


def test_a_retired_hook_is_told_no_more_also_of_what_waited(receiver: type[Receiver]) -> None:
    _hook(receiver)
    _tell()
    services.retire_hook(hook_id=Hook.objects.get().pk, actor_id=None, real_now=NOW)
    assert _send().given_up_at == NOW
    assert receiver.got == []


def test_what_opens_a_chat_or_signs_a_webhook_rests_sealed(receiver: type[Receiver]) -> None:
    secret = _hook(receiver)
    held = Hook.objects.get()
    assert secret not in held.secret
    assert "127.0.0.1" not in held.address


INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
    "100.64.0.1", "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]",
    "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "localhost", "2130706433", "0x7f000001",
]  # fmt: skip


@pytest.mark.parametrize("host", INSIDE)
def test_no_webhook_is_aimed_inside(host: str) -> None:
    with pytest.raises(Invalid):
        guard.check(f"https://{host}/x")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/", "ftp://example.org/", "https://", "https://u:p@93.184.216.34/",
        "https://93.184.216.34:99999/", "file:///etc/passwd", "gopher://93.184.216.34/", "x",
        "https://93.184.216.34/#x",
    ],
)  # fmt: skip
def test_only_plain_https_addresses_are_taken(url: str) -> None:
    with pytest.raises(Invalid):
        guard.check(url)


def test_an_address_outside_is_taken_and_the_checked_address_is_the_one_connected_to() -> None:
    assert guard.check("https://93.184.216.34:8443/hook") == (
        "93.184.216.34",
        8443,
        "93.184.216.34",
    )


def test_a_name_that_resolves_both_outside_and_inside_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolve(*_args: object, **_kw: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (ip, 443)) for ip in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Invalid):
        guard.check("https://rebinding.example.org/")


@pytest.mark.parametrize("address", ["json://127.0.0.1/x", "mailto://a:b@inside", "slack://", "x"])
def test_a_chat_s_address_leads_to_a_service_we_know(address: str) -> None:
    with pytest.raises(Invalid):
        services.add_hook(
            name="c", way="chat", address=address, kinds=[], team_id=None, actor_id=None,
            real_now=NOW,
        )  # fmt: skip
