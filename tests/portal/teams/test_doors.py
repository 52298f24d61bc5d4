"""Sign-in, preferences, and what somebody sees who may see nothing."""

import pytest
from django.test import Client

from portal.teams.models import Role, User
from tests.builders import a_user

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


@pytest.fixture
def minji() -> User:
    user = a_user("minji", role=Role.MEMBER)
    user.set_password(PASSWORD)
    user.save()
    return user


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(client: Client) -> None:
    response = client.get("/preferences/")
    assert response.status_code == 302
    assert response["Location"] == "/account/login/?next=%2Fpreferences%2F"


def test_a_live_part_sends_its_page_to_sign_in_and_back(client: Client) -> None:
    asked = {"HX-Request": "true", "HX-Current-URL": "http://testserver/queue/?state=running"}
    response = client.get("/reserve/check/?gpus=2", headers=asked)
    assert response.status_code == 204
    assert response["HX-Redirect"] == "/account/login/?next=%2Fqueue%2F%3Fstate%3Drunning"


def test_the_api_says_so_instead_of_sending_anywhere(client: Client) -> None:
    response = client.get("/api/v1/me")
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"


def test_a_right_password_signs_in(client: Client, minji: User) -> None:
    response = client.post("/account/login/", {"login": "minji", "password": PASSWORD})
    assert response.status_code == 302
    assert client.get("/api/v1/me").json()["username"] == "minji"


def test_a_wrong_password_and_an_unknown_name_read_alike(client: Client, minji: User) -> None:
    wrong = client.post("/account/login/", {"login": "minji", "password": "no"})
    unknown = client.post("/account/login/", {"login": "nobody", "password": "no"})
    assert wrong.status_code == unknown.status_code == 200
    shown = [list(r.context["form"].non_field_errors()) for r in (wrong, unknown)]
    assert shown[0] == shown[1] != []


def test_guessing_is_slowed_down(client: Client, minji: User) -> None:
    for _ in range(5):
        client.post("/account/login/", {"login": "minji", "password": "no"})
    response = client.post("/account/login/", {"login": "minji", "password": PASSWORD})
    assert "_auth_user_id" not in client.session
    assert response.status_code in (200, 429)


def test_nobody_signs_up_by_themselves(client: Client) -> None:
    assert client.get("/account/signup/").status_code == 404


def test_preferences_are_kept_and_lead_back(client: Client, minji: User) -> None:
    client.force_login(minji)
    response = client.post("/preferences/", {"language": "ko", "next": "/queue/"})
    assert response["Location"] == "/queue/"
    minji.refresh_from_db()
    assert minji.language == "ko"
    assert client.get("/api/v1/me")["Content-Language"] == "ko"


def test_preferences_lead_nowhere_else(client: Client, minji: User) -> None:
    client.force_login(minji)
    response = client.post("/preferences/", {"theme": "dark", "next": "https://evil.example/"})
    assert response["Location"] == "/"


@pytest.mark.parametrize("field", [{"zone": "Mars/Olympus"}, {"theme": "pink"}])
def test_nonsense_changes_nothing(client: Client, minji: User, field: dict[str, str]) -> None:
    client.force_login(minji)
    client.post("/preferences/", field)
    minji.refresh_from_db()
    assert (minji.zone, minji.theme) == ("", "system")


def test_every_answer_carries_an_id_and_takes_a_well_formed_one(client: Client) -> None:
    given = client.get("/api/v1/me", headers={"X-Request-Id": "abc-123-def"})
    assert given["X-Request-Id"] == "abc-123-def"
    strange = client.get("/api/v1/me", headers={"X-Request-Id": "<script>"})
    assert strange["X-Request-Id"] != "<script>"


@pytest.mark.parametrize("path", ["/", "/queue/?format=csv", "/api/v1/me", "/requests/77/"])
def test_no_private_answer_is_kept_by_a_browser_or_a_cache(
    client: Client, minji: User, path: str
) -> None:
    client.force_login(minji)
    response = client.get(path)
    kept = response["Cache-Control"]
    assert "private" in kept
    assert "no-store" in kept
    assert "Cookie" in response["Vary"]


def test_the_sign_in_page_is_kept_by_nobody_either(client: Client) -> None:
    assert "no-store" in client.get("/account/login/")["Cache-Control"]
