"""No address we answer to leads elsewhere, and no name but ours is answered to."""

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from portal.common.models import OutboxMessage
from portal.teams.models import User
from tests.security.conftest import PASSWORD
from tests.world import World

pytestmark = pytest.mark.django_db
ELSEWHERE = [
    "https://evil.example/", "//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil.example",
    "http:evil.example", "https:/evil.example", "javascript:alert(1)", "data:text/html,x",
    "/\t/evil.example", " //evil.example", "https://testserver@evil.example/", "http://testserver.evil.example/",
]  # fmt: skip


def _is_ours(address: str) -> bool:
    """A path of ours, as browsers read it: they take a backslash for a slash."""
    return address.startswith("/") and address[1:2] not in ("/", "\\") and "\t" not in address


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_no_next_leads_elsewhere(elsewhere: str, client: Client, minji: User) -> None:
    login = {"login": "minji", "password": PASSWORD, "next": elsewhere}
    met = [client.post(f"{reverse('account_login')}?next={elsewhere}", login)]
    assert client.get("/api/v1/me").status_code == 200
    met.append(client.get(reverse("account_login"), {"next": elsewhere}))
    confirm = {"password": PASSWORD, "next": elsewhere}
    met.append(client.post(reverse("account_reauthenticate"), confirm))
    met.append(client.post(reverse("teams:preferences"), {"theme": "dark", "next": elsewhere}))
    met.append(client.post(reverse("account_logout"), {"next": elsewhere}))
    leading = [answer["Location"] for answer in met if answer.status_code == 302]
    assert len(leading) == len(met)
    assert [address for address in leading if not _is_ours(address)] == []


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_part_s_page_is_ours(elsewhere: str, client: Client) -> None:
    answer = client.get(
        reverse("dashboards:queue"), headers={"HX-Request": "true", "HX-Current-URL": elsewhere}
    )
    assert _is_ours(answer["HX-Redirect"])
    assert "evil" not in answer["HX-Redirect"].partition("?")[0]


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_refused_undo_leads_back_to_a_page_of_ours(
    elsewhere: str, world: World, admin: Client
) -> None:
    address = reverse("requests:quota-undo", args=[world.ours.quota.pk])
    answer = admin.post(address, headers={"Referer": elsewhere})
    assert answer.status_code == 302
    assert _is_ours(answer["Location"])


@pytest.mark.parametrize("name", ["evil.example", "testserver.evil.example", "testserver:x", ""])
def test_another_host_s_name_is_not_answered_to(name: str, client: Client) -> None:
    for path in ("/account/login/", "/api/v1/me", "/admin/"):
        assert client.get(path, headers={"Host": name}).status_code == 400


def test_what_a_proxy_was_told_counts_for_nothing_unless_we_stand_behind_one(
    client: Client,
) -> None:
    answer = client.get(
        "/queue/", headers={"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    )
    assert answer.status_code == 302
    assert "evil" not in answer["Location"]
    assert not answer.wsgi_request.is_secure()


def test_a_link_by_mail_leads_to_the_site_as_it_is_set(world: World, admin: Client) -> None:
    """Whatever name the page was asked under."""
    admin.post(
        reverse("teams:people"), {"who": "new@example.com", "role": "member", "team": ""},
        headers={"Host": "localhost"},
    )  # fmt: skip
    body = OutboxMessage.objects.filter(channel="mail").latest("id").body
    assert "http://127.0.0.1:8000/welcome/" in body
    assert mail.outbox == [], "nothing leaves within a request"
