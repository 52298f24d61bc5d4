"""What every page's markup keeps to: no inline style or script, no other host, one of everything."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from portal.requests.models import Request
from portal.teams.models import User
from tests.portal.dashboards.world import World

SKIPPED = ("admin/", "api/", "account/")
FORBIDDEN = {
    "an inline style": r"\sstyle\s*=",
    "a style element": r"<style\b",
    "an inline handler": r"\son\w+\s*=",
    "an inline script": r"<script(?![^>]*\b(?:src=|type=\"application/json\"))",
    "javascript in an address": r"javascript:",
    "another host": r"(?:src|href|action)=\"(?:https?:)?//",
}


def routes(patterns: list[URLPattern | URLResolver] | None = None, prefix: str = "") -> list[str]:
    """Every page's address, with the names of its arguments in it."""
    found: list[str] = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if path.startswith(SKIPPED):
            continue
        if isinstance(pattern, URLResolver):
            found += routes(pattern.url_patterns, path)
        else:
            found.append(path)
    return found


def addresses(world: World) -> list[str]:
    """Those addresses with the ids of rows that exist."""
    asked = Request.objects.create(
        kind="quota", team=world.vision, pool=world.pool, state="submitted", guaranteed=20,
        requested_by=world.people["lead"], created_at=world.now, submitted_at=world.now,
        starts_at=world.now,
    )  # fmt: skip
    ids = {"workload_id": world.waiting.pk, "request_id": asked.pk, "tick_id": world.tick.pk}
    named = [
        re.sub(r"<(?:\w+:)?(\w+)>", lambda m: str(ids.get(m[1], 1)), path) for path in routes()
    ]
    return [f"/{path}" for path in named]


def bodies(world: World, user: User) -> dict[str, str]:
    """Every page that answers this person."""
    client = Client()
    client.force_login(user)
    found: dict[str, str] = {}
    for path in [*addresses(world), "/account/password/change/", "/account/logout/", "/nowhere/"]:
        response = client.get(path)
        assert response.status_code < 500, path
        kind = response.headers.get("Content-Type", "")
        if kind.startswith("text/html") and not response.streaming and response.content:
            found[path] = re.sub(r"\s+", " ", response.content.decode())
    return found


@pytest.mark.parametrize("who", ["admin", "lead", "finance"])
def test_no_page_breaks_the_content_security_policy(world: World, who: str) -> None:
    pages = bodies(world, world.people[who])
    assert len(pages) >= 6
    broken = {
        f"{path}: {what}"
        for path, body in pages.items()
        for what, pattern in FORBIDDEN.items()
        if re.search(pattern, body)
    }
    assert broken == set()


def test_every_page_has_one_heading_a_language_and_no_id_twice(world: World) -> None:
    for path, body in bodies(world, world.people["admin"]).items():
        if "<html" not in body:
            continue
        assert body.count("<h1") == 1, path
        assert '<html lang="en" data-theme="system">' in body, path
        ids = re.findall(r'\sid="([^"]+)"', body)
        assert sorted(ids) == sorted(set(ids)), path


@pytest.mark.django_db
def test_sign_in_answers_in_the_browsers_language_and_keeps_the_policy() -> None:
    body = Client().get("/account/login/", headers={"accept-language": "ko"}).content.decode()
    assert '<html lang="ko"' in body
    assert not [what for what, pattern in FORBIDDEN.items() if re.search(pattern, body)]
    assert "password/reset" not in body


def test_the_theme_is_in_the_first_byte_of_the_page(world: World) -> None:
    user = world.people["member"]
    client = Client()
    client.force_login(user)
    client.post("/preferences/", {"theme": "dark", "next": "/queue/"})
    body = re.sub(r"\s+", " ", client.get("/queue/").content.decode())
    assert 'data-theme="dark"' in body
    assert '<meta name="color-scheme" content="dark">' in body


def test_navigation_shows_only_what_the_role_opens(world: World) -> None:
    def links(who: str) -> set[str]:
        client = Client()
        client.force_login(world.people[who])
        body = client.get("/").content.decode()
        nav = body[body.index("<nav") : body.index("</nav>")]
        return set(re.findall(r'href="([^"]+)"', nav))

    assert "/admin/" in links("admin")
    assert "/admin/" not in links("lead")
    assert "/queue/" not in links("finance")
    assert links("nobody") == {"/", "/inbox/"}


def test_what_is_simulated_is_said_on_every_page(world: World) -> None:
    for path, body in bodies(world, world.people["admin"]).items():
        if 'class="shell"' in body:
            assert "Simulated cluster: lab." in body, path
