"""People, invitations, one's own settings, hooks and the audit trail, asked for by programs."""

from typing import Any

import pytest
from django.test import Client

from portal.common.models import IdempotencyKey
from portal.teams import services as teams
from portal.teams.models import Role, RoleAssignment, Team, User
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
API = "/api/v1"


@pytest.fixture
def team() -> Team:
    return a_team()


@pytest.fixture
def lead(team: Team) -> User:
    return a_user("minji", role=Role.LEAD, team=team)


def _post(client: Client, path: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(API + path, body, content_type="application/json", headers=headers)


def test_a_lead_makes_members_of_their_team_and_takes_it_back(
    client: Client, lead: User, team: Team
) -> None:
    a_user("junho")
    client.force_login(lead)
    body = {"username": "junho", "role": "member", "team": team.pk}
    assert _post(client, "/people/roles", body).status_code == 201
    people = client.get(f"{API}/people").json()["results"]
    junho = next(person for person in people if person["username"] == "junho")
    assert [(held["role"], held["team"]) for held in junho["roles"]] == [("member", team.pk)]
    taken = _post(client, f"/people/roles/{junho['roles'][0]['id']}/revoke", {})
    assert taken.status_code == 200
    assert not RoleAssignment.objects.filter(user__username="junho").exists()


@pytest.mark.parametrize(
    ("role", "where"), [("admin", "ours"), ("member", "everywhere"), ("member", "nowhere")]
)
def test_nobody_gives_more_than_they_may(
    client: Client, lead: User, team: Team, role: str, where: str
) -> None:
    a_user("junho")
    client.force_login(lead)
    team_id = {"ours": team.pk, "everywhere": None, "nowhere": 987654}[where]
    body = {"username": "junho", "role": role, "team": team_id}
    assert _post(client, "/people/roles", body).status_code in (404, 422)
    assert RoleAssignment.objects.filter(user__username="junho").count() == 0


def test_an_invitations_link_is_shown_once_and_kept_nowhere(
    client: Client, lead: User, team: Team
) -> None:
    client.force_login(lead)
    body = {"email": "new@example.org", "role": "member", "team": team.pk}
    first = _post(client, "/invitations", body, key="k").json()
    assert "/welcome/" in first["link"]
    assert _post(client, "/invitations", body, key="k").json() == {**first, "link": None}
    remembered = IdempotencyKey.objects.get()
    assert "/welcome/" not in str(remembered.answer)
    assert client.get(f"{API}/invitations").json()["count"] == 1
    assert _post(client, f"/invitations/{first['id']}/withdraw", {}).status_code == 200
    assert client.get(f"{API}/invitations").json()["count"] == 0


def test_a_role_with_a_key_nobody_knows_is_refused(client: Client, lead: User) -> None:
    client.force_login(lead)
    body = {"username": "minji", "role": "member", "team": None, "is_superuser": True}
    answer = _post(client, "/people/roles", body)
    assert answer.status_code == 400
    assert "is_superuser" in answer.json()["fields"]


def test_one_sets_ones_own_language_and_zone(client: Client, lead: User) -> None:
    client.force_login(lead)
    path = f"{API}/me/preferences"
    body = {"language": "ko", "zone": "Asia/Seoul"}
    changed = client.put(path, body, content_type="application/json")
    assert changed.json() == {"language": "ko", "theme": "system", "zone": "Asia/Seoul"}
    assert client.get(path).json() == changed.json()
    wrong = client.put(path, {"zone": "Mars/Olympus"}, content_type="application/json")
    assert wrong.status_code == 422


def test_one_sees_and_ends_only_ones_own_tokens(client: Client, lead: User) -> None:
    other = a_user("junho")
    for owner in (lead, other):
        teams.create_token(user_id=owner.pk, name="ci", scopes=["all:read"], days=7)
    client.force_login(lead)
    tokens = client.get(f"{API}/me/tokens").json()["results"]
    assert [token["name"] for token in tokens] == ["ci"]
    client.force_login(other)
    _post(client, f"/me/tokens/{tokens[0]['id']}/revoke", {})
    client.force_login(lead)
    assert client.get(f"{API}/me/tokens").json()["count"] == 1
    _post(client, f"/me/tokens/{tokens[0]['id']}/revoke", {})
    assert client.get(f"{API}/me/tokens").json()["count"] == 0


def test_news_by_mail_is_wanted_kind_by_kind(client: Client, lead: User) -> None:
    client.force_login(lead)
    path = f"{API}/notifications/settings"
    changed = client.put(path, {"bill": "never"}, content_type="application/json").json()
    assert changed["bill"] == "never"
    assert client.get(path).json() == changed
    wrong = client.put(path, {"weather": "now"}, content_type="application/json")
    assert wrong.status_code == 400


def test_a_chat_is_told_and_told_no_more(client: Client) -> None:
    client.force_login(a_user("jihye", role=Role.ADMIN))
    body = {"name": "ops", "way": "chat", "address": "slack://TokenA/TokenB/TokenC/#ops"}
    assert _post(client, "/hooks", body).status_code == 201
    (hook,) = client.get(f"{API}/hooks").json()["results"]
    assert "TokenC" not in str(hook)
    assert _post(client, f"/hooks/{hook['id']}/retire", {}).status_code == 200
    assert client.get(f"{API}/hooks").json()["count"] == 0


def test_the_audit_trail_is_read_and_narrowed(client: Client) -> None:
    admin = a_user("jihye", role=Role.ADMIN)
    client.force_login(admin)
    teams.create_token(user_id=admin.pk, name="ci", scopes=["all:read"], days=7)
    found = client.get(f"{API}/audit", {"room": "teams", "q": "token"}).json()
    assert [line["action"] for line in found["results"]] == ["teams.token_created"]
    assert len(found["results"][0]["hash"]) == 64
    assert client.get(f"{API}/audit", {"room": "finance"}).json()["count"] == 0
    assert client.get(f"{API}/audit", {"since": "yesterday"}).status_code == 422
