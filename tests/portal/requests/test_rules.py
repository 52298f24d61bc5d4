"""The page of rules: all read it, the organisation's admins set it."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal.common.errors import Invalid
from portal.requests import services
from portal.requests.models import ApprovalRule
from portal.reservations import rules as booking
from portal.reservations.rules import Rules
from portal.workloads import classes
from portal.workloads.classes import Class, Door
from tests.portal.requests.world import DAY, World, asked

pytestmark = pytest.mark.usefixtures("at_now")
PAGE, SAVE = "requests:rules", "requests:rules-save"


def _save(client: Client, what: str, **typed: Any) -> Any:
    return client.post(reverse(SAVE), {"do": what, **typed})


def _classes(**changed: Any) -> dict[str, Any]:
    values = {f"c-{kind}-order": 0 for kind in ("training", "inference", "interactive", "batch")}
    return {**values, **changed}


def test_everybody_reads_the_rules_and_only_admins_find_buttons(
    client: Client, world: World
) -> None:
    client.force_login(world.member)
    page = client.get(reverse(PAGE)).content.decode()
    assert 'name="do"' not in page
    assert "disabled" in page
    client.force_login(world.admin)
    assert 'value="doors"' in client.get(reverse(PAGE)).content.decode()


def test_an_admin_adds_a_rule_of_agreement_and_drops_it(client: Client, world: World) -> None:
    client.force_login(world.admin)
    typed = {"pool": world.pool.pk, "min_gpus": 8, "min_cost": 1000, "approvals": 2}
    assert _save(client, "approval", **typed).status_code == 302
    rule = ApprovalRule.objects.get()
    assert (rule.pool_id, rule.min_gpus, rule.min_cost_micro, rule.approvals) == (
        world.pool.pk, 8, 1_000_000_000, 2
    )  # fmt: skip
    assert _save(client, "approval", approvals=9).status_code == 422
    assert _save(client, f"drop-{rule.pk}").status_code == 302
    assert not ApprovalRule.objects.exists()
    assert _save(client, f"drop-{rule.pk}").status_code == 404
    assert _save(client, "nothing").status_code == 422


def test_an_admin_sets_what_a_pool_asks_and_it_binds_the_next_asking(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    prefix = f"b{world.pool.pk}"
    assert _save(client, "booking", **{f"{prefix}-longest_hours": 2}).status_code == 302
    assert booking.get_rules(pool_id=world.pool.pk) == Rules(longest_hours=2)
    with pytest.raises(Invalid) as wrong:
        services.save_draft(asked=asked(world, now), actor_id=world.lead.pk, now=now)
    assert "at most 2 hours" in wrong.value.fields["ends_at"]
    client.force_login(world.lead)
    values: dict[str, Any] = {
        "team": world.vision.pk, "pool": world.pool.pk, "gpus": 1, "source": "pool", "zone": "UTC",
        "starts_at": f"{now + DAY:%Y-%m-%dT%H:%M}", "ends_at": f"{now + DAY + DAY:%Y-%m-%dT%H:%M}",
    }  # fmt: skip
    part = client.get(reverse("requests:check"), values)
    assert "lasts at most 2 hours" in part.content.decode()


def test_an_admin_sets_classes_and_what_pools_take_of_them(client: Client, world: World) -> None:
    client.force_login(world.admin)
    typed = _classes(**{
        "c-inference-preemptible": "no", "c-inference-order": 9, "c-inference-together": "node",
        "c-interactive-idle_hours": 4,
    })  # fmt: skip
    assert _save(client, "classes", **typed).status_code == 302
    known = classes.get_classes()
    assert known.of("inference") == Class(preemptible=False, order=9, together="node")
    assert known.of("interactive") == Class(idle_hours=4)
    prefix = f"d{world.pool.pk}"
    assert (
        _save(client, "doors", **{f"{prefix}-batch": 4, f"{prefix}-interactive": 0}).status_code
        == 302
    )
    known = classes.get_classes()
    assert known.doors[world.pool.pk, "batch"] == Door(min_gpus=4)
    assert not known.takes(world.pool.pk, "interactive", 64_000)
    assert known.takes(world.pool.pk, "training", 1)
    assert _save(client, "classes", **_classes(**{"c-batch-order": "x"})).status_code == 422


def test_a_program_reads_and_sets_the_same(client: Client, world: World) -> None:
    client.force_login(world.admin)

    def post(route: str, body: Any, *args: Any) -> Any:
        return client.post(reverse(route, args=args), body, content_type="application/json")

    rule = post("api-rule-approvals", {"approvals": 2, "min_hours": 48})
    assert rule.status_code == 201
    pool = post(
        "api-rule-pool",
        {"grace_minutes": 30, "classes": {"batch": {"is_open": False}}},
        world.pool.pk,
    )
    assert pool.json()["classes"] == {"batch": {"is_open": False, "min_gpus": None}}
    assert post("api-rule-class", {"order": 5}, "training").json()["order"] == 5
    assert post("api-rule-class", {}, "toy").status_code == 422
    client.force_login(world.member)
    seen = client.get(reverse("api-rule-list")).json()
    assert seen["approvals"][0]["min_hours"] == 48
    assert seen["pools"][0]["grace_minutes"] == 30
    client.force_login(world.admin)
    assert post("api-rule-drop", {}, rule.json()["id"]).status_code == 200
