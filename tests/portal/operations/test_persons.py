"""A person is told in full, or made nobody, and the audit trail stays whole."""

import json
from datetime import datetime

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import models
from django.test import Client
from django.urls import reverse

from portal.common import audit, clock, outbox
from portal.common.errors import Conflict
from portal.common.models import AuditEvent, Channel, OutboxMessage
from portal.notifications.models import Notification
from portal.operations import persons
from portal.requests.models import Comment, Request
from portal.teams import services
from portal.teams.models import ApiToken, Role, RoleAssignment, User
from portal.workloads.models import Workload
from tests.builders import a_user
from tests.world import World, a_world

PASSWORD = "a long enough password"


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.fixture
def jihye(world: World) -> User:
    return a_user("jihye", role=Role.ADMIN)


@pytest.fixture
def minji(world: World, now: datetime) -> User:
    """Somebody who has left something wherever a person can."""
    user: User = world.ours.request.requested_by
    User.objects.filter(pk=user.pk).update(
        username="minji", first_name="Minji", last_name="Lee", email="minji@example.org"
    )
    user.refresh_from_db()
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.create(user=user, email=user.email)
    services.create_token(user_id=user.pk, name="report", scopes=["all:read"], days=1)
    Comment.objects.create(request=world.ours.request, author=user, at=now, text="please")
    Notification.objects.create(user=user, event_id=1, kind="request", action="x", at=now)
    Workload.objects.filter(pk=world.ours.workload.pk).update(person="minji")
    outbox.put(key="mail:1", channel=Channel.MAIL, address=user.email, subject="Minji's",
               body="b", real_now=now)  # fmt: skip
    audit.record(actor_id=user.pk, action="requests.submitted", target_type="request",
                 target_id=world.ours.request.pk)  # fmt: skip
    return user


def _told(user: User) -> dict[str, object]:
    return {one.table: one.rows for one in persons.held(user)}


def test_what_stands_about_a_person_is_told_from_every_table(minji: User) -> None:
    told = _told(minji)
    wanted = {
        "teams.user", "teams.roleassignment", "teams.apitoken", "account.emailaddress",
        "requests.request", "requests.comment", "notifications.notification",
        "common.outboxmessage", "common.auditevent", "workloads.workload",
    }  # fmt: skip
    assert wanted <= set(told)
    text = json.dumps(told, default=str)
    assert ApiToken.objects.get(user=minji).digest not in text
    assert minji.password not in text


def test_every_column_that_points_at_a_person_is_looked_at() -> None:
    """Also one that is added tomorrow: by a foreign key, or as the id alone."""
    named_by_id = {
        field.name
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.BigIntegerField)
        and not isinstance(field, models.BigAutoField)
        and (field.name.endswith("_by_id") or field.name in ("user_id", "actor_id", "author_id"))
    }
    assert named_by_id <= set(persons.BY_ID)


def test_a_forgotten_person_is_nobody_and_the_chain_is_whole(
    minji: User, jihye: User, client: Client, world: World, now: datetime
) -> None:
    client.post("/account/login/", {"login": "minji", "password": PASSWORD})
    assert client.get("/api/v1/me").status_code == 200
    lines = AuditEvent.objects.count()
    called = persons.forget(user_id=minji.pk, actor_id=jihye.pk, now=now)
    assert AuditEvent.objects.count() == lines + 1
    minji.refresh_from_db()
    assert str(minji) == called == f"forgotten-{minji.pk}"
    assert client.get("/api/v1/me").status_code == 401
    client.post("/account/login/", {"login": "minji", "password": PASSWORD})
    assert client.get("/api/v1/me").status_code == 401
    for model in (RoleAssignment, ApiToken, Notification, UserSession, EmailAddress):
        assert not model._default_manager.filter(user=minji).exists(), model
    everything = json.dumps(
        [list(m._default_manager.values()) for m in apps.get_models()], default=str
    )
    assert "minji@example.org" not in everything
    assert "Minji" not in everything
    assert audit.first_broken() is None
    assert Request.objects.get(pk=world.ours.request.pk).requested_by_id == minji.pk
    assert Comment.objects.get().text == "please"
    assert Workload.objects.get(pk=world.ours.workload.pk).person == called


def test_twice_is_once(minji: User, jihye: User, now: datetime) -> None:
    persons.forget(user_id=minji.pk, actor_id=jihye.pk, now=now)
    lines = AuditEvent.objects.count()
    persons.forget(user_id=minji.pk, actor_id=jihye.pk, now=now)
    assert AuditEvent.objects.count() == lines


def test_the_last_admin_stays_and_nobody_forgets_themselves(jihye: User, now: datetime) -> None:
    with pytest.raises(Conflict) as last:
        persons.forget(user_id=jihye.pk, actor_id=None, now=now)
    assert last.value.code == "last_admin"
    a_user("seungmin", role=Role.ADMIN)
    with pytest.raises(Conflict) as own:
        persons.forget(user_id=jihye.pk, actor_id=jihye.pk, now=now)
    assert own.value.code == "own"


def test_an_admin_forgets_in_the_browser_by_typing_the_name(
    minji: User, jihye: User, client: Client
) -> None:
    client.force_login(jihye)
    page = reverse("person-forget", args=[minji.pk])
    assert page in client.get(reverse("teams:people")).content.decode()
    assert "Forget for good" in client.get(page).content.decode()
    client.post(page, {"username": "somebody"})
    assert User.objects.get(pk=minji.pk).username == "minji"
    done = client.post(page, {"username": "minji"}, follow=True)
    assert f"forgotten-{minji.pk}" in done.content.decode()
    assert client.get(reverse("person-forget", args=[987654])).status_code == 404


def test_an_admin_takes_all_that_stands_about_somebody_and_that_is_written_down(
    minji: User, jihye: User, client: Client
) -> None:
    client.force_login(jihye)
    answer = client.post(reverse("person-export", args=[minji.pk]))
    assert answer.json()["teams.user"][0]["email"] == "minji@example.org"
    newest = AuditEvent.objects.order_by("-pk")[0]
    assert (newest.action, newest.actor_id, newest.target_id) == (
        "teams.person_exported", jihye.pk, minji.pk,
    )  # fmt: skip


def test_both_are_commands_too(
    minji: User, jihye: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("export_person", "minji")
    assert json.loads(capsys.readouterr().out)["teams.user"][0]["username"] == "minji"
    call_command("forget_person", "minji", "--yes")
    assert f"forgotten-{minji.pk}" in capsys.readouterr().out
    assert not OutboxMessage.objects.filter(address="minji@example.org").exists()
    with pytest.raises(CommandError):
        call_command("forget_person", "minji", "--yes")
    with pytest.raises(CommandError, match="last admin"):
        call_command("forget_person", "jihye", "--yes")
