"""Planned work: what it does to promises is said before, and stays shown until it is resolved."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal.common.errors import Invalid
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory import services as inventory_services
from portal.inventory.models import MaintenanceWindow, Node
from portal.quotas import bounds
from portal.quotas import services as quotas
from portal.requests import services
from portal.scheduling import freezing
from portal.teams import services as teams
from tests import builders
from tests.portal.requests.world import DAY, HOUR, World, a_submitted

pytestmark = pytest.mark.usefixtures("at_now")


def _text(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def _typed(world: World, now: datetime, **changed: Any) -> dict[str, Any]:
    """All of tomorrow, on the first node of the pool."""
    node = Node.objects.filter(pool=world.pool).order_by("id")[0]
    values = {
        "nodes": [node.pk], "zone": "UTC", "reason": "New driver", "do": "plan",
        "starts_at": f"{now + DAY:%Y-%m-%dT%H:%M}", "ends_at": f"{now + 2 * DAY:%Y-%m-%dT%H:%M}",
    }  # fmt: skip
    return {**values, **changed}


def test_an_admin_sees_what_would_not_add_up_before_planning(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    held = services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    client.force_login(world.admin)
    lines = AuditEvent.objects.count()
    part = client.post(reverse("requests:maintenance-effects"), _typed(world, now))
    # Eight guaranteed and four reserved, of eight that are left.
    assert "pool h100 has 8 GPUs and promised 12: 4 are missing." in _text(part)
    assert f"R-{held.reservation_id} of Vision (4)" in _text(part)
    assert not MaintenanceWindow.objects.exists()
    assert AuditEvent.objects.count() == lines
    done = client.post(reverse("requests:maintenance-plan"), _typed(world, now), follow=True)
    assert "Planned for 1 node." in _text(done)
    assert "4 are missing" in _text(done)
    window = MaintenanceWindow.objects.get()
    back = client.post(reverse("requests:maintenance-cancel", args=[window.pk]), follow=True)
    assert "Every promise is covered by nodes, now and later." in _text(back)


def test_all_chosen_nodes_or_none(client: Client, world: World, now: datetime) -> None:
    client.force_login(world.admin)
    nodes = list(Node.objects.filter(pool=world.pool).values_list("id", flat=True))
    past = _typed(world, now, nodes=nodes, starts_at=f"{now - DAY:%Y-%m-%dT%H:%M}")
    assert client.post(reverse("requests:maintenance-plan"), past).status_code == 422
    assert client.post(reverse("requests:maintenance-plan"), {"zone": "UTC"}).status_code == 422
    assert not MaintenanceWindow.objects.exists()
    client.post(reverse("requests:maintenance-plan"), _typed(world, now, nodes=nodes))
    assert MaintenanceWindow.objects.count() == 2


def test_a_member_reads_what_is_planned(client: Client, world: World, now: datetime) -> None:
    node = Node.objects.filter(pool=world.pool).order_by("id")[0]
    inventory_services.plan_maintenance(
        node_id=node.pk, starts_at=now + DAY, ends_at=now + 2 * DAY, now=now, actor_id=None,
        drain_from=now + HOUR, reason="New driver",
    )  # fmt: skip
    client.force_login(world.member)
    text = _text(client.get(reverse("requests:maintenance")))
    assert "New driver" in text
    assert "Plan it" not in text
    lanes = _text(client.get(reverse("requests:reserve"), {"span": "week"}))
    assert "Draining" in lanes


def test_a_drained_node_takes_nothing_new_and_counts_until_its_work_begins(
    world: World, now: datetime
) -> None:
    node = Node.objects.filter(pool=world.pool).order_by("id")[0]
    inventory_services.plan_maintenance(
        node_id=node.pk, starts_at=now + 5 * HOUR, ends_at=now + 9 * HOUR, now=now, actor_id=None,
        drain_from=now + HOUR,
    )  # fmt: skip
    open_nodes = []
    for hours in (0, 2, 6, 9):
        made = freezing.freeze(cluster_id=world.pool.cluster_id, now=now + hours * HOUR)
        open_nodes.append(sum(n.schedulable for n in made.snapshot.nodes))
    assert open_nodes == [2, 1, 1, 2]
    steps = inventory.capacity_steps(pool_id=world.pool.pk, from_at=now, to_at=now + 10 * HOUR)
    assert [step.gpus for step in steps] == [16, 8, 16]
    with pytest.raises(Invalid):
        inventory_services.plan_maintenance(
            node_id=node.pk, starts_at=now + 5 * HOUR, ends_at=now + 9 * HOUR, now=now,
            actor_id=None, drain_from=now + 6 * HOUR,
        )  # fmt: skip


def test_a_program_plans_lists_and_cancels_work(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    node = Node.objects.filter(pool=world.pool).order_by("id")[0]
    body = {
        "node": node.pk, "starts_at": (now + DAY).isoformat(),
        "ends_at": (now + 2 * DAY).isoformat(), "reason": "New driver",
    }  # fmt: skip
    made = client.post(reverse("api-maintenance-plan"), body, content_type="application/json")
    assert made.status_code == 201
    listed = client.get(reverse("api-maintenance-list")).json()
    assert [row["node"] for row in listed["results"]] == [node.name]
    off = client.post(reverse("api-maintenance-cancel", args=[made.json()["id"]]))
    assert off.status_code == 200
    assert client.get(reverse("api-maintenance-list")).json()["count"] == 0


def test_a_team_moved_under_a_branch_without_room_is_listed_until_it_is_resolved(
    client: Client, world: World, now: datetime
) -> None:
    branch = builders.a_team("research")
    quotas.change(
        team_id=branch.pk, pool_id=world.pool.pk, guaranteed=0, limit=3, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    assert bounds.list_over_limit(now=now) == []
    later = now + timedelta(seconds=1)
    teams.move_team(
        team_id=world.vision.pk, parent_id=branch.pk, weight=1, priority=0, now=later,
        actor_id=None,
    )  # fmt: skip
    found = bounds.list_over_limit(now=later)
    assert [(b.team_id, b.guaranteed, b.limit) for b in found] == [(branch.pk, 4, 3)]
    client.force_login(world.admin)
    listed = client.get(reverse("api-over-limit-list")).json()["results"]
    assert listed == [] or listed[0]["team"]["id"] == branch.pk
    quotas.change(
        team_id=branch.pk, pool_id=world.pool.pk, guaranteed=0, limit=4, valid_from=later,
        actor_id=None, now=later,
    )  # fmt: skip
    assert bounds.list_over_limit(now=later) == []
