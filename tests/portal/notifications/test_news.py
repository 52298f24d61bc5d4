"""News follow from the audit chain: who is told, once, in their language, as they wish."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from portal.common import audit
from portal.common.models import AuditEvent, OutboxMessage
from portal.notifications import services
from portal.notifications.kinds import NEWS
from portal.notifications.models import Notification
from portal.teams.models import Role, Team, User
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)


def _line(action: str, actor: User | None, team: Team | None, **more: object) -> AuditEvent:
    values: dict[str, object] = {"target_type": "request", "target_id": 7, **more}
    return audit.record(
        actor_id=actor.pk if actor else None, action=action,
        team_id=team.pk if team else None, **values,  # type: ignore[arg-type]
    )  # fmt: skip


def _spread(now: datetime = NOW) -> int:
    return services.spread(now=now, real_now=now)


def _told(user: User) -> list[str]:
    rows = Notification.objects.filter(user=user).order_by("event_id")
    return [row.action for row in rows]


@pytest.fixture(autouse=True)
def _from_the_beginning(db: None) -> None:
    _spread()


@pytest.fixture
def vision() -> Team:
    return a_team("vision", parent=a_team("research"))


@pytest.fixture
def minji(vision: Team) -> User:
    return a_user("minji", role=Role.LEAD, team=vision)


def test_an_admin_of_the_branch_hears_of_a_request_and_one_of_another_branch_does_not(
    vision: Team, minji: User
) -> None:
    above = Team.objects.get(slug="research")
    ours = a_user("jihye", role=Role.ADMIN, team=above)
    theirs = a_user("seungmin", role=Role.ADMIN, team=a_team("search"))
    everywhere = a_user("boss", role=Role.ADMIN)
    _line("requests.submitted", minji, vision)
    _spread()
    assert _told(ours) == _told(everywhere) == ["requests.submitted"]
    assert _told(theirs) == _told(minji) == []


def test_whoever_took_part_hears_what_became_of_it_but_not_their_own_deeds(
    vision: Team, minji: User
) -> None:
    jihye = a_user("jihye", role=Role.ADMIN)
    _line("requests.submitted", minji, vision)
    _line("requests.commented", jihye, vision)
    _line("requests.approved", jihye, vision)
    _spread()
    assert _told(minji) == ["requests.commented", "requests.approved"]
    assert _told(jihye) == ["requests.submitted"]


def test_who_was_shut_out_hears_nothing(vision: Team, minji: User) -> None:
    _line("requests.submitted", minji, vision)
    User.objects.filter(pk=minji.pk).update(is_active=False)
    _line("requests.approved", None, vision)
    _line("reservations.opened", None, vision)
    _spread()
    assert _told(minji) == []


def test_news_of_an_account_reach_its_owner_also_of_their_own_hand(minji: User) -> None:
    _line("teams.token_created", minji, None, target_type="user", target_id=minji.pk)
    _spread()
    assert _told(minji) == ["teams.token_created"]


def test_reading_twice_tells_once(vision: Team, minji: User) -> None:
    _line("reservations.opened", None, vision)
    assert _spread() == 1
    assert _spread() == 0
    assert _told(minji) == ["reservations.opened"]


def test_an_installation_with_a_past_tells_nobody_of_it(vision: Team, minji: User) -> None:
    from portal.notifications.models import Progress

    Progress.objects.all().delete()
    _line("reservations.opened", None, vision)
    _spread()
    assert _told(minji) == []


def test_every_action_that_is_news_is_written_somewhere() -> None:
    """A kind of news for a line nobody writes would be a promise not kept."""
    from pathlib import Path

    root = Path(__file__).resolve().parents[3] / "portal"
    written = "".join(
        path.read_text() for path in root.rglob("*.py") if "notifications" not in path.parts
    )
    verbs = {action: action.split(".")[1] for action in NEWS}
    assert [a for a, verb in verbs.items() if a not in written and f'"{verb}"' not in written] == []


class TestMail:
    def test_what_is_wanted_at_once_is_mailed_at_once_in_the_person_s_language(
        self, vision: Team, minji: User
    ) -> None:
        User.objects.filter(pk=minji.pk).update(email="minji@example.org", language="ko")
        _line("requests.submitted", minji, vision)
        _line("requests.approved", a_user("jihye", role=Role.ADMIN), vision)
        _spread()
        mail = OutboxMessage.objects.get(channel="mail")
        assert mail.address == "minji@example.org"
        assert "승인" in mail.subject
        assert "/requests/7/" in mail.body

    def test_what_is_wanted_daily_comes_together_after_eight_in_their_zone_once_a_day(
        self, vision: Team, minji: User
    ) -> None:
        """06:00 UTC is 15:00 in Seoul and 01:00 in New York."""
        User.objects.filter(pk=minji.pk).update(email="minji@example.org", zone="America/New_York")
        for action in ("reservations.opened", "reservations.completed"):
            _line(action, None, vision)
        _spread()
        assert services.send_digests(real_now=NOW) == 0
        assert services.send_digests(real_now=NOW + timedelta(hours=8)) == 1
        assert services.send_digests(real_now=NOW + timedelta(hours=9)) == 0
        mail = OutboxMessage.objects.get(channel="mail")
        assert mail.body.count("Reservation 7") == 2
        _line("reservations.extended", None, vision)
        _spread()
        assert services.send_digests(real_now=NOW + timedelta(hours=10)) == 0, "once a day"
        assert services.send_digests(real_now=NOW + timedelta(hours=32)) == 1

    def test_what_was_read_or_is_not_wanted_is_not_mailed(self, vision: Team, minji: User) -> None:
        User.objects.filter(pk=minji.pk).update(email="minji@example.org")
        services.set_preferences(user_id=minji.pk, mailing={"request": "never"})
        _line("requests.submitted", minji, vision)
        _line("requests.approved", None, vision)
        _line("reservations.opened", None, vision)
        _spread()
        services.mark_read(user_id=minji.pk, notification_id=None, real_now=NOW)
        assert services.send_digests(real_now=NOW) == 0
        assert not OutboxMessage.objects.exists()


class TestInbox:
    def test_one_sees_one_s_own_news_and_marks_only_them(
        self, client: Client, vision: Team, minji: User
    ) -> None:
        junho = a_user("junho", role=Role.LEAD, team=vision)
        _line("reservations.opened", None, vision)
        _spread()
        theirs = Notification.objects.get(user=junho)
        client.force_login(minji)
        client.post("/inbox/read/", {"notification": theirs.pk})
        client.post("/inbox/read/")
        theirs.refresh_from_db()
        assert theirs.read_at is None
        assert not Notification.objects.filter(user=minji, read_at=None).exists()

    def test_the_api_gives_the_same_news_as_sentences(
        self, client: Client, vision: Team, minji: User
    ) -> None:
        _line("reservations.opened", None, vision)
        _spread()
        client.force_login(minji)
        answer = client.get("/api/v1/notifications?unread=true").json()
        assert [row["text"] for row in answer["results"]] == ["Reservation 7 of Vision has begun."]
        read = client.post("/api/v1/notifications/read", {}, content_type="application/json")
        assert read.json() == {"unread": 0}


class TestExactlyOnce(TestCase):
    """However the chain is read in pieces, each person is told of each line exactly once."""

    @settings(max_examples=25, deadline=None)
    @given(pieces=st.lists(st.integers(0, 4), min_size=1, max_size=6))
    def test_in_any_pieces(self, pieces: list[int]) -> None:
        vision = a_team("vision")
        minji = a_user("minji", role=Role.LEAD, team=vision)
        _spread()
        for count in pieces:
            for _ in range(count):
                _line("reservations.opened", None, vision)
            _spread()
        assert len(_told(minji)) == sum(pieces)
