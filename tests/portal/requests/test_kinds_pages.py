"""Every kind of request through its pages and for programs, and the page of SLAs."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal.requests.models import Request, RequestState
from portal.slas import services as slas
from portal.slas.models import Breach, Sla, Tier
from portal.teams.models import User
from tests import builders
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_tier,
    held,
    signed_in,
    text_of,
)

S = RequestState
MINUTE = timedelta(minutes=1)


@pytest.mark.usefixtures("at_now")
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_pages_ask_for_every_kind(
    client: Client, world: World, now: datetime, language: str
) -> None:
    row, tier = held(world, now), a_tier()
    User.objects.update(language=language)
    client.force_login(world.lead)
    common = {"zone": "UTC", "reason": "Because", "do": "submit"}
    ends = f"{now + 8 * HOUR:%Y-%m-%dT%H:%M}"
    for route, typed in (
        ("requests:extension", {"reservation": row.pk, "ends_at": ends}),
        ("requests:sla", {"team": world.vision.pk, "pool": world.pool.pk, "tier": tier.pk}),
        ("requests:give-back", {"reservation": row.pk, "ends_at": f"{now + 3 * HOUR:%Y-%m-%dT%H:%M}"}),
    ):  # fmt: skip
        assert client.get(reverse(route)).status_code == 200
        looked = client.post(reverse(route), {**common, **typed, "do": "check"})
        assert looked.status_code == 200, route
        assert b'class="verdict' in looked.content
        done = client.post(reverse(route), {**common, **typed}, follow=True)
        assert done.status_code == 200, route
    assert [r.state for r in Request.objects.order_by("id")] == [
        S.SUBMITTED,
        S.SUBMITTED,
        S.APPROVED,
    ]
    client.force_login(world.admin)
    for asked_for in Request.objects.filter(state=S.SUBMITTED).order_by("-id"):
        assert client.get(reverse("requests:detail", args=[asked_for.pk])).status_code == 200
        client.post(
            reverse("requests:approve", args=[asked_for.pk]),
            {"granted_gpus": asked_for.gpus or "", "version": asked_for.version, "note": ""},
        )
    assert not Request.objects.filter(state=S.SUBMITTED).exists()
    assert client.get(reverse("requests:list")).status_code == 200


@pytest.mark.usefixtures("at_now")
def test_a_program_asks_for_every_kind(client: Client, world: World, now: datetime) -> None:
    row, tier = held(world, now), a_tier()
    client.force_login(world.lead)

    def post(body: dict[str, Any], route: str = "api-request-list") -> Any:
        return client.post(reverse(route), body, content_type="application/json")

    body = {
        "kind": "extension", "reservation": row.pk, "ends_at": (now + 8 * HOUR).isoformat(),
        "reason": "More",
    }  # fmt: skip
    assert post(body, "api-request-check").json()["fits"] is True
    made = post(body)
    assert made.status_code == 201
    assert made.json()["about"] == row.pk
    sla = post({"kind": "sla", "team": world.vision.pk, "pool": world.pool.pk, "tier": tier.pk})
    assert sla.json()["tier"] == tier.pk
    assert post({**body, "reservation": 987654}).status_code == 422


@pytest.mark.usefixtures("at_now")
def test_the_page_of_slas_shows_what_was_kept_and_takes_answers(
    client: Client, world: World, now: datetime
) -> None:
    tier = a_tier()
    client.force_login(world.admin)
    given = {"team": world.vision.pk, "pool": "", "tier": tier.pk, "zone": "UTC"}
    client.post(reverse("requests:sla-set"), given)
    Sla.objects.update(valid_from=now - DAY)
    for number, waited in enumerate((10, 20, 40)):
        builders.a_workload(
            world.vision, world.pool, f"job-{number}", submitted_at=now - 2 * HOUR,
            scheduled_at=now - 2 * HOUR + waited * MINUTE, state="running",
        )  # fmt: skip
    builders.a_workload(world.vision, world.pool, "stuck", submitted_at=now - 2 * HOUR)
    slas.find_breaches(now=now)
    client.force_login(world.lead)
    page = client.get(reverse("requests:slas")).content.decode()
    assert "50.0 %" in page
    assert "stuck" in page
    breach = Breach.objects.get(workload__name="stuck")
    done = client.post(
        reverse("requests:breach", args=[breach.pk]),
        {"note": "The pool was full", "owner": "", "version": breach.version}, follow=True,
    )  # fmt: skip
    assert "The pool was full" in done.content.decode()
    rows = client.get(reverse("requests:slas"), {"format": "csv"})
    assert "stuck" in b"".join(rows.streaming_content).decode()  # type: ignore[attr-defined]
    client.force_login(world.finance)
    assert "stuck" not in client.get(reverse("requests:slas")).content.decode()


@pytest.mark.usefixtures("at_now")
def test_an_admin_names_and_retires_tiers(client: Client, world: World) -> None:
    client.force_login(world.admin)
    typed = {"name": "gold", "wait_minutes": 30, "goal": "99.5", "answer_hours": 8}
    client.post(reverse("requests:tiers"), typed)
    tier = Tier.objects.get()
    assert (tier.target_wait_seconds, tier.goal_permille, tier.answer_seconds) == (1800, 995, 28800)
    assert client.post(reverse("requests:tiers"), typed).status_code == 422
    client.post(reverse("requests:tiers"), {"retire": tier.pk})
    tier.refresh_from_db()
    assert tier.retired_at is not None


@pytest.mark.usefixtures("at_now")
def test_a_quota_is_asked_for_from_what_the_team_has(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    page = client.get(reverse("requests:quota"))
    assert re.search(r'name="guaranteed"[^>]*value="4"', page.content.decode())
    answer = client.post(
        reverse("requests:quota"),
        {
            "team": world.vision.pk, "pool": world.pool.pk, "guaranteed": 6, "limit": 16,
            "zone": "Asia/Seoul", "reason": "We grew", "do": "submit",
        },
        follow=True,
    )  # fmt: skip
    assert "Submitted." in text_of(answer)
    row = Request.objects.get()
    assert (row.kind, row.guaranteed, row.limit) == ("quota", 6, 16)
    assert "4 → 6" in text_of(answer)
    signed_in(client, world.admin)
    done = client.post(reverse("requests:approve", args=[row.pk]), {"granted_gpus": 6}, follow=True)
    assert "Approved: 6 GPUs guaranteed." in text_of(done)
