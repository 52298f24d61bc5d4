"""Single sign-on against a real provider on loopback: who comes in, and what their groups bring."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import requests
from django.test import Client
from pytest_django import Settings

from portal.teams import services
from portal.teams.models import GroupRule, Role, RoleAssignment, Team, User
from tests.builders import a_team, a_user
from tests.portal.teams import provider as providers
from tests.portal.teams.provider import Provider

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, tzinfo=UTC)
LOGIN = "/account/sso/oidc/login/"


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with providers.running() as running:
        app = {
            "provider_id": "oidc", "name": "Hanbit", "client_id": providers.CLIENT,
            "secret": providers.SECRET, "settings": {"server_url": running.url},
        }  # fmt: skip
        settings.SOCIALACCOUNT_PROVIDERS = {
            "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
        }
        running.person = {
            "sub": "248289761001", "preferred_username": "haru", "given_name": "Haru",
            "family_name": "Kim", "email": "haru@example.org", "groups": ["vision-leads"],
        }  # fmt: skip
        yield running


@pytest.fixture
def vision() -> Team:
    team = a_team("vision")
    GroupRule.objects.create(group="vision-leads", role=Role.LEAD, team=team)
    return team


def _sign_in(browser: Client) -> str:
    """Walk the whole way as a browser does; return where it ends."""
    away = browser.post(LOGIN)["Location"]
    back = requests.get(away, allow_redirects=False, timeout=5).headers["Location"]
    answer = browser.get(back.replace("http://testserver", ""))
    return str(answer.headers.get("Location", answer.status_code))


def _roles(username: str = "haru") -> set[tuple[str, int | None]]:
    return set(
        RoleAssignment.objects.filter(user__username=username).values_list("role", "team_id")
    )


def test_who_comes_for_the_first_time_has_an_account_and_what_the_groups_bring(
    provider: Provider, client: Client, vision: Team
) -> None:
    assert _sign_in(client) == "/"
    haru = User.objects.get(username="haru")
    assert str(haru) == "Haru Kim"
    assert not haru.has_usable_password()
    assert _roles() == {("lead", vision.pk)}
    assert client.get("/api/v1/me").json()["username"] == "haru"


def test_a_group_left_takes_its_role_along_and_leaves_what_was_given_by_hand(
    provider: Provider, vision: Team
) -> None:
    _sign_in(Client())
    haru = User.objects.get(username="haru")
    search = a_team("search")
    services.grant_role(
        user_id=haru.pk, role=Role.MEMBER, team_id=search.pk, now=NOW, actor_id=None
    )
    provider.person = {**provider.person, "groups": ["somebody-elses"]}
    _sign_in(Client())
    assert _roles() == {("member", search.pk)}
    assert User.objects.filter(username__startswith="haru").count() == 1


def test_a_role_held_by_hand_stays_by_hand_when_a_group_brings_the_same(
    provider: Provider, vision: Team
) -> None:
    provider.person = {**provider.person, "groups": []}
    _sign_in(Client())
    haru = User.objects.get(username="haru")
    services.grant_role(user_id=haru.pk, role=Role.LEAD, team_id=vision.pk, now=NOW, actor_id=None)
    for groups in (["vision-leads"], []):
        provider.person = {**provider.person, "groups": groups}
        _sign_in(Client())
    assert _roles() == {("lead", vision.pk)}


def test_the_last_admin_is_not_lost_with_a_group(provider: Provider) -> None:
    GroupRule.objects.create(group="admins", role=Role.ADMIN)
    provider.person = {**provider.person, "groups": "admins"}
    _sign_in(Client())
    provider.person = {**provider.person, "groups": []}
    _sign_in(Client())
    assert _roles() == {("admin", None)}


def test_an_account_of_the_same_name_or_address_is_not_taken_over(
    provider: Provider, client: Client
) -> None:
    admin = a_user("haru", role=Role.ADMIN)
    User.objects.filter(pk=admin.pk).update(email="haru@example.org")
    _sign_in(client)
    assert client.session["_auth_user_id"] != str(admin.pk)
    assert client.get("/api/v1/me").json()["roles"] == []


def test_who_the_provider_refuses_stays_outside(provider: Provider, client: Client) -> None:
    provider.denies = True
    assert _sign_in(client) == "/account/sso/login/cancelled/"
    assert "_auth_user_id" not in client.session


def test_an_answer_meant_for_another_browser_opens_nothing(
    provider: Provider, client: Client
) -> None:
    away = Client().post(LOGIN)["Location"]
    back = requests.get(away, allow_redirects=False, timeout=5).headers["Location"]
    client.get(back.replace("http://testserver", ""))
    assert "_auth_user_id" not in client.session


def test_who_is_shut_out_here_stays_out_though_the_provider_vouches(
    provider: Provider, client: Client
) -> None:
    _sign_in(Client())
    User.objects.filter(username="haru").update(is_active=False)
    _sign_in(client)
    assert "_auth_user_id" not in client.session


def test_coming_in_by_a_link_alone_is_not_possible(provider: Provider, client: Client) -> None:
    """A GET would let another site sign somebody in as somebody else."""
    answer = client.get(LOGIN)
    assert answer.status_code == 200
    assert "Location" not in answer.headers


def test_without_a_provider_nothing_is_offered(client: Client) -> None:
    assert "/account/sso/" not in client.get("/account/login/").content.decode()
    assert client.post(LOGIN).status_code == 404


def test_with_one_its_name_is_offered(provider: Provider, client: Client) -> None:
    page = client.get("/account/login/").content.decode()
    assert "Hanbit" in page
    assert LOGIN in page
