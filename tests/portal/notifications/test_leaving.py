"""What does not reach the world is seen by those who look after it, and sent again by them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.test import Client
from pytest_django import Settings

from portal.common import outbox
from portal.common.models import AuditEvent, Channel, OutboxMessage
from portal.notifications.tasks import SENDERS
from portal.operations import checks
from portal.operations.checks import Level
from portal.teams.models import Role
from tests.builders import a_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
NO_SERVER = "django.core.mail.backends.dummy.EmailBackend"


def _put(key: str = "mail:1") -> OutboxMessage:
    outbox.put(
        key=key, channel=Channel.MAIL, address="minji@example.org", subject="Request 7",
        body="https://example.org/secret-link", real_now=NOW,
    )  # fmt: skip
    return OutboxMessage.objects.get(key=key)


def _deliver(at: datetime = NOW) -> outbox.Delivered:
    return outbox.deliver_due(SENDERS, clock=lambda: at)


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(a_user("jihye", role=Role.ADMIN))
    return client


def test_without_a_mail_server_nothing_is_marked_as_sent(settings: Settings) -> None:
    settings.EMAIL_BACKEND = NO_SERVER
    row = _put()
    assert _deliver() == outbox.Delivered(0, 1)
    row.refresh_from_db()
    assert (row.sent_at, row.given_up_at, row.error) == (None, NOW, "no mail server is set")


def test_once_there_is_a_server_it_is_sent_again_from_the_page_and_written_down(
    settings: Settings, admin: Client
) -> None:
    usual, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, NO_SERVER
    _put()
    _deliver()
    page = admin.get("/inbox/outbox/").content.decode()
    assert "There is no mail server." in page
    assert "No mail server is set" in page
    assert "minji@example.org" in page
    assert "secret-link" not in page, "what a message opens is for its reader"
    settings.EMAIL_BACKEND = usual
    admin.post("/inbox/outbox/again/", {"message": OutboxMessage.objects.get().pk})
    assert [one["action"] for one in AuditEvent.objects.values("action")][-1:] == [
        "notifications.tried_again"
    ]
    assert "Request 7" in admin.get("/inbox/outbox/?show=waiting").content.decode()
    _deliver(datetime.now(UTC) + timedelta(seconds=1))
    assert len(mail.outbox) == 1
    assert "Nothing was given up" in admin.get("/inbox/outbox/").content.decode()


def test_all_are_sent_again_at_once_and_what_was_sent_is_left_alone(admin: Client) -> None:
    for number in range(3):
        _put(f"mail:{number}")
    OutboxMessage.objects.filter(key__in=["mail:0", "mail:1"]).update(given_up_at=NOW)
    OutboxMessage.objects.filter(key="mail:2").update(sent_at=NOW)
    admin.post("/inbox/outbox/again/")
    assert OutboxMessage.objects.filter(given_up_at=None, sent_at=None).count() == 2
    assert OutboxMessage.objects.get(key="mail:2").sent_at == NOW
    before = AuditEvent.objects.count()
    admin.post("/inbox/outbox/again/", {"message": "x"})
    admin.post("/inbox/outbox/again/", {"message": "99999"})
    assert AuditEvent.objects.count() == before


def test_programs_see_the_same_and_send_again(admin: Client) -> None:
    row = _put()
    OutboxMessage.objects.update(given_up_at=NOW, error="the server refuses this address")
    found = admin.get("/api/v1/outbox", {"state": "given_up"}).json()["results"]
    assert [(one["id"], one["to"], one["error"]) for one in found] == [
        (row.pk, "minji@example.org", "the server refuses this address")
    ]
    assert admin.get("/api/v1/outbox").json()["count"] == 0
    assert admin.get("/api/v1/outbox", {"state": "x"}).status_code == 422
    again = f"/api/v1/outbox/{row.pk}/again"
    assert admin.post(again, content_type="application/json").json() == {"again": 1}
    assert admin.post(again, content_type="application/json").json() == {"again": 0}


def test_the_doctor_says_what_was_given_up_and_that_there_is_no_server(settings: Settings) -> None:
    [good] = checks.leaving(NOW)
    assert good.level is Level.GOOD
    _put()
    OutboxMessage.objects.update(given_up_at=NOW)
    [found] = checks.leaving(NOW)
    assert (found.level, found.says) == (Level.WARN, "1 messages were given up")
    assert "/inbox/outbox/" in found.do
    settings.EMAIL_BACKEND = NO_SERVER
    [said] = checks.mail(NOW)
    assert said.says == "no server is set: e-mails are not sent"


def test_the_settings_say_that_nothing_is_mailed(settings: Settings, admin: Client) -> None:
    settings.EMAIL_BACKEND = NO_SERVER
    page = admin.get("/inbox/settings/").content.decode()
    assert "this installation has no mail server" in page
