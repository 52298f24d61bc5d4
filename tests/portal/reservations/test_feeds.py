"""The iCalendar feed: behind a token of its own, right in any zone, gone once revoked."""

import re
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from portal.common import clock
from portal.common.errors import Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Pool
from portal.reservations import feeds, services
from portal.reservations.models import CalendarFeed, Reservation
from portal.teams.models import Role, Team
from tests import builders

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def team() -> Team:
    return builders.a_team()


@pytest.fixture
def pool() -> Pool:
    return builders.a_pool(nodes=2)


def hold(team: Team, pool: Pool, now: datetime, purpose: str = "", first: int = 1) -> Reservation:
    return services.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=2, starts_at=now + first * HOUR,
        ends_at=now + (first + 1) * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        purpose=purpose,
    )  # fmt: skip


def opened(team: Team, now: datetime) -> tuple[CalendarFeed, str]:
    return feeds.open_feed(team_id=team.pk, name="Wall display", actor_id=None, now=now)


def test_a_feed_holds_the_teams_reservations_and_nobody_elses(
    team: Team, pool: Pool, now: datetime
) -> None:
    mine = hold(team, pool, now)
    hold(builders.a_team("speech"), pool, now)
    off = hold(team, pool, now, first=5)
    services.cancel(reservation_id=off.pk, actor_id=None, now=now)
    text = feeds.get_calendar(token=opened(team, now)[1], now=now)
    assert re.findall(r"UID:(\S+)", text) == [f"reservation-{mine.pk}@evenshare"]
    # The second of November, nine in Seoul is midnight in UTC; an hour later it begins.
    assert "DTSTART:20261102T010000Z\r\nDTEND:20261102T020000Z\r\n" in text
    assert f"SUMMARY:2 GPUs of h100 (R-{mine.pk})\r\n" in text


def test_lines_are_folded_and_text_is_escaped_as_the_standard_has_it(
    team: Team, pool: Pool, now: datetime
) -> None:
    hold(team, pool, now, purpose="학습; 평가, 그리고\n" + "가" * 60)
    text = feeds.get_calendar(token=opened(team, now)[1], now=now)
    assert text.startswith("BEGIN:VCALENDAR\r\n")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    whole = text.replace("\r\n ", "")
    assert "학습\\; 평가\\, 그리고\\n가" in whole


def test_a_token_is_shown_once_and_kept_nowhere(team: Team, now: datetime) -> None:
    feed, token = opened(team, now)
    assert token not in str(list(CalendarFeed.objects.values()))
    assert token not in str(list(AuditEvent.objects.values()))
    assert len(token) >= 40
    assert feed.digest != token


def test_a_revoked_token_leads_nowhere_and_another_still_does(team: Team, now: datetime) -> None:
    first, token = opened(team, now)
    other = opened(team, now)[1]
    for _ in range(2):
        feeds.revoke_feed(feed_id=first.pk, actor_id=None, now=now)
    with pytest.raises(Missing):
        feeds.get_calendar(token=token, now=now)
    assert feeds.get_calendar(token=other, now=now)
    assert AuditEvent.objects.filter(action="reservations.feed_revoked").count() == 1
    for wrong in ("", token[:-1], "x"):
        with pytest.raises(Missing):
            feeds.get_calendar(token=wrong, now=now)


def test_no_log_line_holds_a_token(
    client: Client, team: Team, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    token = opened(team, now)[1]
    with caplog.at_level("INFO", logger="portal.access"):
        client.get(reverse("requests:calendar", args=[token]))
    assert caplog.records
    assert token not in str([record.__dict__ for record in caplog.records])


def test_a_feed_has_a_name_and_a_team_so_many(team: Team, now: datetime) -> None:
    with pytest.raises(Invalid):
        feeds.open_feed(team_id=team.pk, name=" ", actor_id=None, now=now)
    for _ in range(feeds.MOST):
        opened(team, now)
    with pytest.raises(Invalid, match="Revoke one first"):
        opened(team, now)


def test_a_lead_opens_a_feed_a_calendar_reads_it_and_the_lead_revokes_it(
    client: Client, team: Team, pool: Pool, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    hold(team, pool, now)
    client.force_login(builders.a_user("lead", role=Role.LEAD, team=team))
    address = reverse("requests:feeds", args=[team.pk])
    assert client.post(address, {"name": ""}).status_code == 422
    page = client.post(address, {"name": "Phone"}).content.decode()
    found = re.search(r"/calendar/[^/<]+\.ics", page)
    assert found is not None
    assert found.group() not in client.get(address).content.decode()
    program = Client()
    answer = program.get(found.group())
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert b"BEGIN:VEVENT" in answer.content
    feed = CalendarFeed.objects.get()
    client.post(reverse("requests:feed-revoke", args=[feed.pk]), follow=True)
    assert program.get(found.group()).status_code == 404
