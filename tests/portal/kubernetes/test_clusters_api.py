"""Clusters under /api/v1: the same answers and moves as the pages."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from portal.common import clock
from portal.inventory import services as inventory
from portal.inventory.models import Cluster
from portal.kubernetes import standing
from portal.kubernetes.models import Drift, RayGroup, SyncRun
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.teams.models import Role
from tests import builders
from tests.portal.kubernetes.test_syncing import a_tick, hard, sync
from tests.portal.kubernetes.test_undoing import edit
from tests.portal.kubernetes.world import START


@pytest.fixture
def admin(cluster: Cluster) -> Client:
    client = Client()
    client.force_login(builders.a_user("jihye", role=Role.ADMIN))
    return client


def get(client: Client, path: str) -> Any:
    """The answer's body."""
    response = client.get(f"/api/v1/{path}")
    assert response.status_code == 200, response.content
    return response.json()


def post(client: Client, path: str, **body: object) -> Any:
    """The answer to a write."""
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


def test_a_cluster_tells_how_fresh_it_is(admin: Client, cluster: Cluster) -> None:
    (row,) = get(admin, "clusters")["results"]
    assert (row["name"], row["mode"], row["policies_missing"]) == ("lab", "quota", [])
    assert row["read"] == {"at": None, "real_at": None, "stale": True}
    assert get(admin, f"clusters/{cluster.pk}") == row
    assert admin.get("/api/v1/clusters/987").status_code == 404


def test_drift_is_listed_and_taken_over(
    admin: Client, cluster: Cluster, port: SimulatedCluster
) -> None:
    edit(port, "99")
    sync(cluster, 4)
    (row,) = get(admin, f"clusters/{cluster.pk}/drift?sort_of=field")["results"]
    assert (row["wanted"], row["found"], row["manager"]) == ("7", "99", "kubectl-edit")
    assert get(admin, f"clusters/{cluster.pk}/drift?sort_of=late")["results"] == []
    assert post(admin, f"drift/{row['id']}/take-over").status_code == 200
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "7"
    assert post(admin, f"drift/{row['id']}/take-over").status_code == 404


def test_syncs_tell_each_field_from_what_to_what(admin: Client, cluster: Cluster) -> None:
    newest = get(admin, f"clusters/{cluster.pk}/syncs")["results"][0]
    found = get(admin, f"syncs/{newest['id']}")
    assert found["sync"]["writes"] == 1
    assert found["results"] == [
        {
            "kind": "ResourceQuota", "namespace": "vision", "name": "evenshare-guaranteed-a100",
            "field": "spec.hard[requests.nvidia.com/gpu]", "from": "6", "to": "7",
        }
    ]  # fmt: skip


def test_a_dry_run_writes_nothing(admin: Client, cluster: Cluster, port: SimulatedCluster) -> None:
    a_tick(cluster, 3, a100=(5, 5))
    (line,) = get(admin, f"clusters/{cluster.pk}/dry-run")["writes"]
    assert (line["from"], line["to"]) == ("7", "5")
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "7"


def test_an_undo_is_shown_then_done_once(
    admin: Client, cluster: Cluster, port: SimulatedCluster
) -> None:
    path = f"clusters/{cluster.pk}/undo"
    shown = get(admin, path)
    assert shown["possible"]
    assert post(admin, path).status_code == 422
    assert post(admin, path, sync=shown["sync"]).json()["undoes"] == shown["sync"]
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "6"
    again = post(admin, path, sync=shown["sync"])
    assert (again.status_code, again.json()["code"]) == (409, "undone_already")


def test_a_sync_rests_and_goes_on(admin: Client, cluster: Cluster) -> None:
    assert post(admin, f"clusters/{cluster.pk}/pause").status_code == 422
    said = post(admin, f"clusters/{cluster.pk}/pause", reason="Moving racks").json()
    assert said["pause_reason"] == "Moving racks"
    assert post(admin, f"clusters/{cluster.pk}/resume").json()["paused_at"] is None
    assert not standing.is_paused(cluster_id=cluster.pk)


def test_a_mode_is_changed_by_who_saw_the_one_before(admin: Client, cluster: Cluster) -> None:
    path = f"clusters/{cluster.pk}/mode"
    assert post(admin, path, was="quota", mode="nonsense").status_code == 422
    assert post(admin, path, was="quota", mode="admission").json()["code"] == "one_step_up"
    assert post(admin, path, was="observe", mode="quota").status_code == 409
    assert post(admin, path, was="quota", mode="reclaim").json()["mode"] == "reclaim"


def test_ray_tells_its_repair(admin: Client, cluster: Cluster) -> None:
    RayGroup.objects.create(
        cluster=cluster, uid="r", namespace="vision", name="train", group="gpu", desired=2,
        available=1, pod_gpus=4, ray_gpus=8, since=START,
    )  # fmt: skip
    (row,) = get(admin, f"clusters/{cluster.pk}/ray")["results"]
    assert not row["matches"]
    assert "num-gpus" in row["repair"]


def test_an_auditor_reads_and_changes_nothing(cluster: Cluster) -> None:
    client = Client()
    client.force_login(builders.a_user("wonho", role=Role.AUDITOR))
    assert get(client, "clusters")["count"] == 1
    for what in ("pause", "resume", "undo", "mode"):
        assert post(client, f"clusters/{cluster.pk}/{what}").status_code == 404
    assert not Drift.objects.exists()
    assert SyncRun.objects.count() == 2


def test_a_job_is_checked_and_written_out(db: None, now: datetime) -> None:
    clock.set_anchor(real_at=clock.real_now(), organisation_at=now, speed=1)
    pool = builders.a_pool(nodes=1)
    vision = builders.a_team("vision")
    builders.a_quota(vision, pool, guaranteed=8)
    inventory.register_namespace(
        cluster_id=pool.cluster_id, name="vision", team_id=vision.pk, now=builders.LONG_AGO
    )
    client = Client()
    client.force_login(builders.a_user("junho", role=Role.MEMBER, team=vision))
    found = post(client, "jobs/check", gpus=8, kind="Deployment", name="serve").json()
    assert (found["starts"], found["charge"]) == (True, "guaranteed")
    assert found["manifest"]["kind"] == "Deployment"
    assert found["yaml"].startswith("apiVersion: apps/v1")
    refused = post(client, "jobs/check", gpus=0)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["gpus"])
