"""Nothing is done on somebody's behalf by a page of somebody else."""

import pytest
from django.test import Client
from django.urls import reverse

from portal.common.models import AuditEvent
from tests.doors import ROUTES, knock
from tests.world import World, a_holder

OTHER = "https://evil.example"
READ_BY_MACHINES = ("healthz", "readyz", "metrics")
"""Answered before a session is looked at, and to read alone."""


def _known(world: World) -> dict[str, object]:
    ids = world.ids(world.ours)
    return {**ids, "token_id": "00000000-0000-4000-8000-000000000000", "key": "x", "uidb64": "x",
            "pk": 1}  # fmt: skip


def test_no_route_takes_a_post_without_the_page_s_token(world: World) -> None:
    """Every one there is, also those of libraries; a page's is refused before anything else."""
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(a_holder("admin", world.ours.team))
    before, opened, asked = AuditEvent.objects.count(), [], 0
    for route, names in ROUTES.items():
        if not set(names) <= set(_known(world)) or route in READ_BY_MACHINES:
            continue
        status = knock(strict, route, "write", _known(world)).status_code
        asked += 1
        # A route of the API that is shut says so first.
        if status != 403 and not (route.startswith("api-") and status == 404):
            opened.append(f"{route}: {status}")
    assert asked > 150
    assert opened == []
    assert AuditEvent.objects.count() == before


@pytest.mark.parametrize("header", ["Origin", "Referer"])
def test_a_right_token_from_another_site_is_not_enough(header: str, world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(a_holder("admin", world.ours.team))
    strict.get(reverse("teams:people"))
    token = strict.cookies["csrftoken"].value
    answer = strict.post(
        reverse("teams:preferences"), {"theme": "dark", "csrfmiddlewaretoken": token},
        headers={header: f"{OTHER}/"}, secure=True,
    )  # fmt: skip
    assert answer.status_code == 403
