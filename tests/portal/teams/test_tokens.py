"""API tokens and the second factor they are made behind."""

import base64
import hmac
import struct
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from portal.common.models import AuditEvent
from portal.teams import services
from portal.teams.models import ApiToken, Role, User
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


def totp(secret: str, at: float | None = None) -> str:
    """RFC 6238 with SHA-1, six digits, thirty seconds; written from the document."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    counter = struct.pack(">Q", int(time.time() if at is None else at) // 30)
    digest = hmac.new(key, counter, "sha1").digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"


def test_the_codes_of_these_tests_are_those_of_the_standard() -> None:
    secret = base64.b32encode(b"12345678901234567890").decode()
    assert totp(secret, at=59) == "287082"
    assert totp(secret, at=1111111109) == "081804"


@pytest.fixture
def minji() -> User:
    user = a_user("minji", role=Role.LEAD, team=a_team("vision"))
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def secret(client: Client, minji: User) -> str:
    """Minji signs in, turns the second factor on and has given a code just now."""
    client.post(reverse("account_login"), {"login": "minji", "password": PASSWORD})
    confirm = reverse("account_reauthenticate")
    client.post(f"{confirm}?next=/", {"password": PASSWORD})
    page = client.get(reverse("mfa_activate_totp"))
    secret = str(page.context["form"].secret)
    done = client.post(reverse("mfa_activate_totp"), {"code": totp(secret)})
    assert done.status_code == 302, done.context["form"].errors
    return secret


def _confirm(client: Client, secret: str) -> None:
    cache.clear()  # the same code twice within its half minute is refused, and tests are quick
    client.post(reverse("mfa_reauthenticate"), {"code": totp(secret)})


def _make(client: Client, *scopes: str) -> str:
    page = client.post(reverse("teams:tokens"), {"name": "report", "scopes": scopes, "days": "30"})
    assert page.status_code == 200
    return str(page.context["secret"])


def _get(token: str, path: str = "/api/v1/me") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return int(Client().get(path, headers=headers).status_code)


def test_the_second_factor_rests_encrypted(secret: str, minji: User) -> None:
    held = Authenticator.objects.get(user=minji, type=Authenticator.Type.TOTP)
    assert secret not in str(held.data)


def test_a_password_alone_no_longer_signs_in(secret: str) -> None:
    other = Client()
    other.post(reverse("account_login"), {"login": "minji", "password": PASSWORD})
    assert "_auth_user_id" not in other.session
    cache.clear()
    other.post(reverse("mfa_authenticate"), {"code": totp(secret)})
    assert "_auth_user_id" in other.session


def test_without_a_second_factor_no_token_is_made(client: Client, minji: User) -> None:
    client.force_login(minji)
    page = client.post(reverse("teams:tokens"), {"name": "x", "scopes": "all:read", "days": "7"})
    assert "secret" not in page.context
    assert not ApiToken.objects.exists()


def test_without_a_fresh_code_one_is_asked_for(client: Client, secret: str) -> None:
    page = client.post(reverse("teams:tokens"), {"name": "x", "scopes": "all:read", "days": "7"})
    assert page.status_code == 302
    assert page["Location"].startswith(reverse("mfa_reauthenticate"))
    assert not ApiToken.objects.exists()


def test_a_token_asks_in_its_owner_s_name(client: Client, secret: str) -> None:
    _confirm(client, secret)
    token = _make(client, "all:read")
    assert token.startswith("evenshare_")
    answer = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["username"] == "minji"


def test_a_token_is_kept_as_a_hash_and_shown_once(client: Client, secret: str) -> None:
    _confirm(client, secret)
    token = _make(client, "all:read")
    held = ApiToken.objects.get()
    assert token not in str(held.__dict__)
    assert token not in client.get(reverse("teams:tokens")).content.decode()
    assert token not in str(list(AuditEvent.objects.values()))


@pytest.mark.parametrize(
    ("scope", "does", "path", "status"),
    [
        ("requests:read", "get", "/api/v1/requests", 200),
        ("requests:read", "post", "/api/v1/requests", 403),
        ("requests:write", "get", "/api/v1/requests", 200),
        ("quotas:write", "get", "/api/v1/requests", 403),
        ("all:read", "get", "/api/v1/requests", 200),
        ("all:read", "post", "/api/v1/requests", 403),
        ("teams:read", "get", "/api/v1/me", 200),
    ],
)
def test_a_scope_only_takes_away(
    minji: User, scope: str, does: str, path: str, status: int
) -> None:
    token = services.create_token(user_id=minji.pk, name="x", scopes=[scope], days=1)
    headers = {"Authorization": f"Bearer {token}"}
    answer = getattr(Client(), does)(path, headers=headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "scope_missing"


def test_a_token_never_does_more_than_its_owner_may(minji: User) -> None:
    token = services.create_token(user_id=minji.pk, name="x", scopes=["all:write"], days=1)
    roles = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).json()["roles"]
    assert [role["role"] for role in roles] == ["lead"]


def test_a_token_that_ended_was_revoked_or_is_made_up_opens_nothing(minji: User) -> None:
    ended, revoked = (
        services.create_token(user_id=minji.pk, name=name, scopes=["all:read"], days=1)
        for name in ("ended", "revoked")
    )
    assert _get(ended) == _get(revoked) == 200
    ApiToken.objects.filter(name="ended").update(expiry=datetime.now(UTC) - timedelta(seconds=1))
    services.revoke_token(
        user_id=minji.pk, public_id=ApiToken.objects.get(name="revoked").public_id
    )
    made_up = "evenshare_" + "0" * 64
    assert [_get(token) for token in (ended, revoked, made_up, "", "a b", "\xff")] == [401] * 6


def test_who_is_shut_out_is_out_with_their_tokens(minji: User) -> None:
    token = services.create_token(user_id=minji.pk, name="x", scopes=["all:read"], days=1)
    User.objects.filter(pk=minji.pk).update(is_active=False)
    assert _get(token) == 401


def test_a_token_opens_no_page(minji: User) -> None:
    token = services.create_token(user_id=minji.pk, name="x", scopes=["all:write"], days=1)
    assert _get(token, "/account/tokens/") == 302


def test_a_token_needs_no_csrf_and_a_session_still_does(minji: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    token = services.create_token(user_id=minji.pk, name="x", scopes=["all:write"], days=1)
    send = partial(strict.post, "/api/v1/requests", {}, content_type="application/json")
    assert send(headers={"Authorization": f"Bearer {token}"}).status_code == 422
    strict.force_login(minji)
    assert send().status_code == 403


def test_nobody_revokes_another_s_token(minji: User) -> None:
    token = services.create_token(user_id=minji.pk, name="x", scopes=["all:read"], days=1)
    other = Client()
    other.force_login(a_user("junho", role=Role.ADMIN))
    public_id = ApiToken.objects.get().public_id
    other.post(reverse("teams:revoke-token", kwargs={"token_id": public_id}))
    assert _get(token) == 200


def test_making_and_revoking_stand_on_the_audit_chain(minji: User) -> None:
    services.create_token(user_id=minji.pk, name="x", scopes=["all:read"], days=1)
    services.revoke_token(user_id=minji.pk, public_id=ApiToken.objects.get().public_id)
    actions = AuditEvent.objects.values_list("action", flat=True)
    assert list(actions) == ["teams.token_created", "teams.token_revoked"]


def test_an_admin_lets_somebody_in_who_lost_app_and_codes(
    client: Client, secret: str, minji: User
) -> None:
    services.reset_second_factor(user_id=minji.pk, actor_id=None)
    assert client.get("/account/tokens/").status_code == 302, "their sessions have ended"
    client.post(reverse("account_login"), {"login": "minji", "password": PASSWORD})
    assert "_auth_user_id" in client.session
