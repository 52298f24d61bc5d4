"""The admin writes through services and shows what they refuse."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from portal.common import clock
from portal.common.models import AuditEvent
from portal.inventory.models import (
    Cluster,
    Commitment,
    GPUModel,
    MaintenanceWindow,
    NamespaceOwner,
    Pool,
)
from portal.teams.models import Role
from tests.builders import a_cluster, a_pool, a_team, a_user

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
READ = (
    "inventory/node", "inventory/nodeoutage", "inventory/commitment", "inventory/namespaceowner",
    "quotas/quota", "reservations/reservation", "workloads/workload", "usage/ledgerentry",
    "kubernetes/syncrun", "kubernetes/drift", "kubernetes/stop", "kubernetes/ask", "finance/ratecard", "finance/month",
    "finance/statement",
)  # fmt: skip
WRITTEN = (
    "inventory/cluster", "inventory/pool", "inventory/gpumodel", "inventory/maintenancewindow",
    "inventory/namespace",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _clock_stands(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: now)


@pytest.fixture
def admin(client: Client) -> Client:
    user = a_user("yuna", role=Role.ADMIN)
    user.is_staff = user.is_superuser = True
    user.save()
    client.force_login(user)
    return client


def actions() -> list[str]:
    return list(
        AuditEvent.objects.exclude(action="teams.signed_in").values_list("action", flat=True)
    )


@pytest.mark.parametrize("name", [*READ, *WRITTEN])
def test_every_list_opens(admin: Client, name: str, now: datetime) -> None:
    a_pool(nodes=1)
    assert admin.get(f"/admin/{name}/").status_code == 200


@pytest.mark.parametrize("name", READ)
def test_what_services_write_is_only_to_read(admin: Client, name: str) -> None:
    assert admin.get(f"/admin/{name}/add/").status_code == 403


@pytest.mark.parametrize("name", WRITTEN)
def test_what_can_be_added_has_a_form(admin: Client, name: str) -> None:
    assert admin.get(f"/admin/{name}/add/").status_code == 200


def test_a_cluster_and_a_pool_are_registered_with_audit(admin: Client) -> None:
    admin.post(
        "/admin/inventory/cluster/add/",
        {"name": "lab", "kind": "simulated", "mode": "observe", "stale_after_seconds": 60,
         "settings": "{}"},
    )  # fmt: skip
    cluster = Cluster.objects.get()
    assert (cluster.mode, cluster.stale_after_seconds) == ("observe", 60)
    admin.post("/admin/inventory/gpumodel/add/", {"name": "T4", "memory_mib": 15360})
    response = admin.post(
        "/admin/inventory/pool/add/",
        {"cluster": cluster.pk, "name": "t4", "gpu_model": GPUModel.objects.get().pk,
         "sharing": "dedicated", "resource_name": "nvidia.com/gpu", "gpu_equivalent_milli": 400,
         "topology_levels": "[]", "position": 3, "grace_seconds": 120, "runtime_class": "kata"},
    )  # fmt: skip
    assert response.status_code == 302
    made = Pool.objects.get()
    assert (made.grace_seconds, made.runtime_class) == (120, "kata")
    pool = Pool.objects.get()
    assert (pool.gpu_equivalent_milli, pool.position) == (400, 3)
    assert actions() == [
        "inventory.cluster_registered", "inventory.cluster_changed",
        "inventory.gpu_model_registered", "inventory.pool_registered", "inventory.pool_changed",
    ]  # fmt: skip


def test_maintenance_is_planned_and_called_off(admin: Client, now: datetime) -> None:
    node = a_pool(nodes=1).nodes.get()
    form = {
        "node": node.pk, "starts_at_0": "2026-11-03", "starts_at_1": "09:00:00",
        "ends_at_0": "2026-11-03", "ends_at_1": "12:00:00", "reason": "New driver",
    }  # fmt: skip
    assert admin.post("/admin/inventory/maintenancewindow/add/", form).status_code == 302
    window = MaintenanceWindow.objects.get()
    assert window.starts_at == now + 24 * HOUR  # nine in the morning in Seoul
    admin.post(
        "/admin/inventory/maintenancewindow/",
        {"action": "call_off", "_selected_action": [window.pk]},
    )
    window.refresh_from_db()
    assert window.cancelled_at == now
    assert actions() == ["inventory.maintenance_planned", "inventory.maintenance_cancelled"]


def test_a_refusal_is_shown_above_the_form(admin: Client, now: datetime) -> None:
    node = a_pool(nodes=1).nodes.get()
    form = {
        "node": node.pk, "starts_at_0": "2026-11-01", "starts_at_1": "09:00:00",
        "ends_at_0": "2026-11-03", "ends_at_1": "12:00:00", "reason": "",
    }  # fmt: skip
    response = admin.post("/admin/inventory/maintenancewindow/add/", form, follow=True)
    assert "cannot begin in the past" in response.content.decode()
    assert not MaintenanceWindow.objects.exists()


def test_a_namespace_is_given_to_a_team(admin: Client, now: datetime) -> None:
    cluster, team = a_cluster(), a_team()
    admin.post(
        "/admin/inventory/namespace/add/",
        {"cluster": cluster.pk, "name": "ml", "team": team.pk},
    )
    owner = NamespaceOwner.objects.get()
    assert (owner.team_id, owner.valid_from) == (team.pk, now)
    page = admin.get(f"/admin/inventory/namespace/{owner.namespace_id}/change/")
    assert f'<option value="{team.pk}" selected>' in page.content.decode()
    admin.post(f"/admin/inventory/namespace/{owner.namespace_id}/change/", {"team": ""})
    assert not NamespaceOwner.objects.filter(valid_to=None).exists()


def test_nothing_is_deleted_here(admin: Client) -> None:
    pool = a_pool(nodes=1)
    assert admin.get(f"/admin/inventory/pool/{pool.pk}/delete/").status_code == 403
    assert not Commitment.objects.exists()
