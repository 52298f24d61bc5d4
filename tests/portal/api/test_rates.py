"""Nobody asks too often: counted by token, by person and by address, and told in headers."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from portal.common import clock, rates
from portal.teams import services as teams
from portal.teams.models import Role, User
from tests.builders import a_user

pytestmark = pytest.mark.django_db
ME = "/api/v1/me"


@pytest.fixture(autouse=True)
def _few(settings: Settings, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    settings.API_READS, settings.API_WRITES = 3, 2
    settings.API_STRANGERS, settings.TOKEN_MINTS = 2, 1
    monkeypatch.setattr(clock, "real_now", lambda: now)


@pytest.fixture
def person() -> User:
    return a_user(role=Role.ADMIN)


def _token(person: User) -> dict[str, str]:
    secret = teams.create_token(user_id=person.pk, name="ci", scopes=["all:write"], days=30)
    return {"Authorization": f"Bearer {secret}"}


def test_each_answer_says_how_many_are_left(client: Client, person: User) -> None:
    headers = _token(person)
    left = [client.get(ME, headers=headers)["RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    assert client.get(ME, headers=headers)["RateLimit-Limit"] == "3"


def test_beyond_it_a_problem_says_when_to_go_on(client: Client, person: User) -> None:
    headers = _token(person)
    refused = [client.get(ME, headers=headers) for _ in range(4)][-1]
    assert refused.status_code == 429
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["code"] == "too_many_requests"
    assert refused["Retry-After"] == refused["RateLimit-Reset"] == "60"


def test_a_minute_later_all_are_there_again(
    client: Client, person: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = _token(person)
    assert [client.get(ME, headers=headers) for _ in range(4)][-1].status_code == 429
    monkeypatch.setattr(clock, "real_now", lambda: now + timedelta(seconds=60))
    assert client.get(ME, headers=headers).status_code == 200


def test_writes_are_fewer_and_count_by_themselves(client: Client, person: User) -> None:
    client.force_login(person)
    send = [
        client.post("/api/v1/notifications/read", "{}", content_type="application/json")
        for _ in range(3)
    ]
    assert [answer.status_code for answer in send] == [200, 200, 429]
    assert client.get(ME).status_code == 200


def test_another_token_of_the_same_person_has_its_own(client: Client, person: User) -> None:
    one, other = _token(person), _token(person)
    for _ in range(4):
        client.get(ME, headers=one)
    assert client.get(ME, headers=other).status_code == 200


def test_who_guesses_tokens_is_refused_before_the_token_is_looked_at(
    client: Client, person: User
) -> None:
    guesses = [
        client.get(ME, headers={"Authorization": f"Bearer evenshare_{n:064x}"}) for n in range(3)
    ]
    assert [answer.status_code for answer in guesses] == [401, 401, 429]
    assert client.get(ME, headers=_token(person)).status_code == 429
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert elsewhere.get(ME, headers=_token(person)).status_code == 200


def test_who_signed_in_is_not_shut_out_by_neighbours(client: Client, person: User) -> None:
    for _ in range(3):
        Client().get(ME)
    client.force_login(person)
    assert client.get(ME).status_code == 200


def test_pages_are_not_counted_but_making_tokens_is(client: Client, person: User) -> None:
    client.force_login(person)
    assert {client.get("/account/tokens/").status_code for _ in range(9)} == {200}
    made = [client.post("/account/tokens/") for _ in range(2)]
    assert made[0].status_code != 429
    assert made[1].status_code == 429
    assert int(made[1]["Retry-After"]) == 3600


def test_behind_a_proxy_the_address_it_saw_counts(client: Client, settings: Settings) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for _ in range(2):
        client.get(ME, headers={"X-Forwarded-For": "198.51.100.1, 203.0.113.5"})
    refused = client.get(ME, headers={"X-Forwarded-For": "198.51.100.2, 203.0.113.5"})
    assert refused.status_code == 429
    other = client.get(ME, headers={"X-Forwarded-For": "203.0.113.5, 203.0.113.6"})
    assert other.status_code == 401


def test_looking_does_not_count() -> None:
    assert [rates.count("x", 2, by=0).used for _ in range(3)] == [0, 0, 0]
    assert [rates.count("x", 2).is_over for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/pools/abc", "/api/v1/pools/²"])
def test_an_address_nobody_serves_is_a_problem_too(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"


def test_a_page_nobody_serves_is_a_page(client: Client) -> None:
    assert client.get("/nothing/")["Content-Type"].startswith("text/html")
