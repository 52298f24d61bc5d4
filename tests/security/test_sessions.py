"""A session is nobody's before sign-in, changes its key where it comes to mean more, and ends."""

import time

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.test import Client
from django.urls import reverse

from portal.teams.models import User
from tests.portal.teams.test_tokens import totp
from tests.security.conftest import PASSWORD, a_person

pytestmark = pytest.mark.django_db
SIGN_IN = {"login": "minji", "password": PASSWORD}


def _key(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _sign_in(client: Client) -> None:
    assert client.post(reverse("account_login"), SIGN_IN).status_code == 302


def _is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def _confirm(client: Client) -> None:
    client.post(f"{reverse('account_reauthenticate')}?next=/", {"password": PASSWORD})


def test_a_key_somebody_else_planted_is_worth_nothing_after_sign_in(
    client: Client, minji: User
) -> None:
    client.get(reverse("account_login"))
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    planted = _key(client)
    _sign_in(client)
    assert _key(client) != planted
    thief = Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = planted
    assert not _is_in(thief)
    assert _is_in(client)


def test_a_key_nobody_gave_out_is_not_taken(client: Client, minji: User) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = "k" * 32
    _sign_in(client)
    assert _key(client) != "k" * 32


def test_the_key_changes_with_the_second_factor_and_the_session_is_still_listed(
    client: Client, committed_database: str
) -> None:
    """Each time, once it is committed."""
    a_person()
    _sign_in(client)
    _confirm(client)
    before = _key(client)
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": totp(secret)})
    added = _key(client)
    assert added != before
    assert list(UserSession.objects.values_list("session_key", flat=True)) == [added]
    _old_is_out(before)
    client.post(reverse("mfa_deactivate_totp"))
    assert _key(client) != added
    _old_is_out(added)
    assert _is_in(client)


def test_the_key_changes_with_the_password_and_every_other_session_ends(
    client: Client, minji: User
) -> None:
    _sign_in(client)
    other = Client()
    _sign_in(other)
    before = _key(client)
    new = "another long enough password"
    done = client.post(
        reverse("account_change_password"),
        {"oldpassword": PASSWORD, "password1": new, "password2": new},
    )
    assert done.status_code == 302
    assert _is_in(client)
    assert _key(client) != before
    assert not _is_in(other)
    _old_is_out(before)


def test_signing_out_ends_the_session_for_whoever_else_has_its_key(
    client: Client, minji: User
) -> None:
    _sign_in(client)
    key = _key(client)
    client.post(reverse("account_logout"))
    _old_is_out(key)


def test_a_link_does_not_sign_anybody_out(client: Client, minji: User) -> None:
    _sign_in(client)
    client.get(reverse("account_logout"))
    assert _is_in(client)


def test_whoever_is_shut_out_is_out_of_sessions_begun_before(client: Client, minji: User) -> None:
    _sign_in(client)
    User.objects.update(is_active=False)
    assert not _is_in(client)


def test_a_session_listed_can_be_ended_from_another(client: Client, minji: User) -> None:
    _sign_in(client)
    other = Client()
    _sign_in(other)
    client.post(reverse("usersessions_list"))
    assert _is_in(client)
    assert not _is_in(other)


def _old_is_out(key: str) -> None:
    thief = Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = key
    assert not _is_in(thief)


def test_codes_are_used_once(client: Client, minji: User) -> None:
    """Also within the half minute in which a code is right."""
    _sign_in(client)
    _confirm(client)
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": totp(secret, time.time() - 30)})
    code = totp(secret)
    first, second = Client(), Client()
    for one in (first, second):
        one.post(reverse("account_login"), SIGN_IN)
        one.post(reverse("mfa_authenticate"), {"code": code})
    assert (_is_in(first), _is_in(second)) == (True, False)
