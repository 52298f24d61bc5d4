"""Neither names nor secrets are found by trying: same answer, same work, and soon no answer."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from portal.common.models import AuditEvent
from portal.teams import inviting, services
from portal.teams.models import Invitation, Role, User
from portal.teams.selectors import Access, Grant
from tests.builders import a_user
from tests.doors import bare, statements
from tests.portal.teams.test_tokens import totp
from tests.security.conftest import PASSWORD
from tests.world import World

pytestmark = pytest.mark.django_db
LOGIN, CODE = "/account/login/", "/account/two-step/authenticate/"
GUESSES = 12


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Passwords that were hashed: the one thing at sign-in that takes long."""
    done: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        done.append(password)
        return str(encode(self, password, salt))

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    return done


def _work(ask: Callable[[], Any], hashed: list[str]) -> tuple[object, ...]:
    """What somebody sees, and what it took."""
    hashed.clear()
    with CaptureQueriesContext(connection) as sent:
        answer = ask()
    text = re.sub(r'value="[^"]*"', "", bare(answer.content.decode()))
    return answer.status_code, text, statements(sent), len(hashed)


def test_a_name_nobody_has_a_wrong_password_and_a_person_shut_out_are_alike(
    minji: User, hashed: list[str]
) -> None:
    out = a_user("junho")
    out.set_password(PASSWORD)
    out.is_active = False
    out.save()

    def sign_in(name: str) -> Callable[[], Any]:
        return lambda: Client().post(LOGIN, {"login": name, "password": "wrong password"})

    Client().post(LOGIN, {"login": "somebody", "password": "wrong password"})
    first = _work(sign_in("minji"), hashed)
    assert first[0] == 200
    assert first[3] == 1
    assert first == _work(sign_in("nobody"), hashed) == _work(sign_in("junho"), hashed)
    failed = AuditEvent.objects.filter(action="teams.sign_in_failed")
    assert list(failed.values_list("target_id", flat=True)) == [None, minji.pk, None, out.pk]


def test_a_password_cannot_be_reset_or_an_account_made_by_whoever_asks(client: Client) -> None:
    for path in ("password/reset/", "signup/", "email/", "confirm-email/x/"):
        assert client.post(f"/account/{path}", {"email": "a@example.org"}).status_code == 404


def test_links_of_an_invitation_that_open_nothing_are_alike(
    world: World, hashed: list[str], now: datetime
) -> None:
    admin = Access(user_id=None, grants=(Grant(Role.ADMIN, None),))
    links = [
        inviting.invite(
            access=admin, email=f"n{number}@example.org", role=Role.MEMBER,
            team_id=world.ours.team.pk, real_now=now,
        ).link.rpartition("/welcome/")[2]
        for number in range(3)
    ]  # fmt: skip
    used, late, withdrawn = Invitation.objects.order_by("-pk")[:3][::-1]
    Invitation.objects.filter(pk=used.pk).update(accepted_at=now)
    Invitation.objects.filter(pk=late.pk).update(expires_at=now - timedelta(days=1))
    Invitation.objects.filter(pk=withdrawn.pk).update(withdrawn_at=now)
    seen = [
        _work(lambda token=token: Client().get(f"/welcome/{token}"), hashed)  # type: ignore[misc]
        for token in [*links, "x" * 43 + "/"]
    ]
    assert seen[0][0] == 404
    assert seen == seen[:1] * 4


def test_an_invitation_is_made_alike_whether_or_not_somebody_has_the_address(
    world: World, admin: Client
) -> None:
    User.objects.filter(username="admin").update(email="known@example.org")

    def invite(who: str) -> tuple[str, ...]:
        with CaptureQueriesContext(connection) as sent:
            told = admin.post(reverse("teams:people"), {"who": who, "role": "member", "team": ""})
        assert "/welcome/" in told.content.decode()
        return statements(sent)

    invite("first@example.org")
    assert invite("known@example.org") == invite("other@example.org")


def _with_second_factor(user: User) -> tuple[str, list[str]]:
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    return secret, RecoveryCodes.activate(user).get_unused_codes()


def _is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_codes_are_not_found_by_trying_nor_by_signing_in_anew(minji: User) -> None:
    secret, codes = _with_second_factor(minji)
    assert Authenticator.objects.filter(user=minji).count() == 2
    for number in range(GUESSES):
        one = Client()
        one.post(LOGIN, {"login": "minji", "password": PASSWORD})
        one.post(CODE, {"code": f"{number:06d}"})
    for right in (totp(secret), codes[0]):
        late = Client()
        late.post(LOGIN, {"login": "minji", "password": PASSWORD})
        late.post(CODE, {"code": right})
        assert not _is_in(late), "also the right one has to wait"


def test_passwords_are_not_found_by_trying_from_many_browsers(minji: User) -> None:
    for number in range(GUESSES):
        Client().post(LOGIN, {"login": "minji", "password": f"guess number {number}"})
    late = Client()
    late.post(LOGIN, {"login": "minji", "password": PASSWORD})
    assert not _is_in(late)


def test_the_password_is_not_found_by_confirming_it(client: Client, minji: User) -> None:
    """By somebody at a screen left open."""
    client.force_login(minji)
    path = reverse("account_reauthenticate")
    statuses = [client.post(path, {"password": f"no {n}"}).status_code for n in range(GUESSES)]
    assert statuses[-1] == 429


def test_secrets_that_open_are_long_and_kept_as_hashes(world: World, now: datetime) -> None:
    """Nobody tries 2^128 of them; and which are right cannot be read from how long a look takes."""
    admin = Access(user_id=None, grants=(Grant(Role.ADMIN, None),))
    owner = a_user("owner")
    made = [
        services.create_token(user_id=owner.pk, name="x", scopes=["all:read"], days=1),
        inviting.invite(
            access=admin, email="a@example.org", role=Role.MEMBER,
            team_id=world.ours.team.pk, real_now=now,
        ).link.rstrip("/").rpartition("/")[2],
    ]  # fmt: skip
    for secret in made:
        random = secret.removeprefix("evenshare_")
        assert len(set(random)) > 10
        assert len(random) * 4 >= 128
    held = str(list(Invitation.objects.values())) + str(list(owner.auth_token_set.values()))
    assert not [secret for secret in made if secret in held]
