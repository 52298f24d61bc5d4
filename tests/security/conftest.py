"""The small whole organisation, its admin, and somebody with a second factor."""

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import Settings

from portal.common import clock
from portal.teams.models import Role, User
from tests.builders import a_user
from tests.world import World, a_holder, a_world

PASSWORD = "a long enough password"


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """Hashing is slow on purpose, and no part of what is shown here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.fixture
def admin(world: World, client: Client) -> Client:
    """Signed in as an admin of the organisation, so that nothing is shut for want of a role."""
    client.force_login(a_holder("admin", world.ours.team))
    return client


@pytest.fixture
def minji(db: None) -> User:
    return a_person()


def a_person() -> User:
    """An admin who signs in with a password."""
    user = a_user("minji", role=Role.ADMIN)
    user.set_password(PASSWORD)
    user.save()
    return user
