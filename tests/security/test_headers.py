"""What every answer tells a browser: no frames, no guessing, no keeping, no other host."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from portal.common.models import AuditEvent
from tests.doors import knock, table
from tests.security.conftest import PASSWORD
from tests.world import World

ROOT = Path(__file__).parents[2]
WANTED = {
    "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip
POLICY = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "base-uri": "'none'",
    "frame-ancestors": "'none'", "connect-src": "'self'", "font-src": "'self'",
}  # fmt: skip


def test_every_page_says_how_it_may_be_used_and_no_reading_changes_anything(
    world: World, admin: Client
) -> None:
    """A link is all it takes to read, from wherever it comes; so nothing may come of it."""
    before, wrong = AuditEvent.objects.count(), []
    for (route, does), row in table().items():
        if does != "read" or not row["admin"]:
            continue
        answer = knock(admin, route, "read", world.ids(world.ours))
        said = {name: answer.headers.get(name) for name in WANTED}
        policy = _parts(answer.headers.get("Content-Security-Policy", ""))
        if said != WANTED or not POLICY.items() <= policy.items():
            wrong.append((route, answer.status_code, said, policy))
    assert wrong == []
    assert AuditEvent.objects.count() == before


def _parts(policy: str) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in policy.split(";") if part.strip())
    return {name: value for name, _space, value in parts}


@pytest.mark.parametrize("path", ["/account/login/", "/api/v1/me", "/nothing-here/"])
def test_so_do_answers_to_nobody(path: str, client: Client, db: None) -> None:
    answer = client.get(path)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "unsafe" not in answer.headers.get("Content-Security-Policy", "")


def test_cookies_are_for_the_server_and_for_this_site(client: Client, minji: object) -> None:
    client.get("/account/login/")
    client.post("/account/login/", {"login": "minji", "password": PASSWORD})
    session = client.cookies[settings.SESSION_COOKIE_NAME]
    assert session["httponly"] is True
    assert session["samesite"] == client.cookies[settings.CSRF_COOKIE_NAME]["samesite"] == "Lax"
    assert session["domain"] == "", "no other host of the domain gets it"


def test_an_installation_for_real_sends_them_over_https_alone() -> None:
    code = (
        "import json; from django.conf import settings as s; print(json.dumps({n: getattr(s, n) for n in ("
        "'SESSION_COOKIE_SECURE', 'CSRF_COOKIE_SECURE', 'SECURE_SSL_REDIRECT', 'SECURE_HSTS_SECONDS',"
        "'SECURE_HSTS_INCLUDE_SUBDOMAINS', 'DEBUG')}))"
    )
    environment = {
        "PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "portal.settings",
        "EVENSHARE_SECRET_KEY": "s" * 60, "EVENSHARE_HOSTS": "gpu.example.org",
        "EVENSHARE_BROKER": "redis://127.0.0.1:6379/0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said.pop("DEBUG") is False
    assert said.pop("SECURE_HSTS_SECONDS") >= 31_536_000
    assert set(said.values()) == {True}
