"""How much the portal does in a cluster: pausing and resuming a sync, going up and down in modes."""

from pathlib import Path
from unittest import mock

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import ports, services, standing
from portal.kubernetes.models import Drift, SyncRun, SyncStanding
from portal.kubernetes.port import Right
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes import world
from tests.portal.kubernetes.test_syncing import a_tick, hard, sync
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    return world.a_registered(folder, world.a_plan())[0]


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return world.reopened(cluster)


def pause(cluster: Cluster) -> None:
    """Let its sync rest."""
    standing.pause(cluster_id=cluster.pk, reason="a look", actor_id=None, now=START)


def actions() -> list[str]:
    """What the audit says."""
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


def test_a_sync_that_rests_writes_nothing_and_goes_on_when_told(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    pause(cluster)
    assert sync(cluster, 1) is None
    assert port.quotas().items == ()
    standing.resume(cluster_id=cluster.pk, actor_id=None, now=START + minutes(2))
    assert sync(cluster, 3) is not None
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "6"


def test_drift_is_looked_for_while_a_sync_rests(cluster: Cluster, port: SimulatedCluster) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    pause(cluster)
    hostile = {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "evenshare-total", "namespace": "vision"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "99"}},
    }  # fmt: skip
    port.apply(hostile, manager="kubectl-edit", force=True)
    sync(cluster, 2)
    assert Drift.objects.get(closed_at=None).manager == "kubectl-edit"
    assert SyncRun.objects.count() == 1


def test_a_sync_with_nothing_to_write_is_known_to_have_been(cluster: Cluster) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    sync(cluster, 2)
    assert SyncStanding.objects.get().checked_at == START + minutes(2)


def test_pausing_twice_is_one_line_in_the_audit(cluster: Cluster) -> None:
    before = len(actions())
    pause(cluster)
    pause(cluster)
    standing.resume(cluster_id=cluster.pk, actor_id=None, now=START)
    standing.resume(cluster_id=cluster.pk, actor_id=None, now=START)
    assert actions()[before:] == ["kubernetes.sync_paused", "kubernetes.sync_resumed"]


def test_a_field_is_not_taken_over_while_the_sync_rests(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    test_drift_is_looked_for_while_a_sync_rests(cluster, port)
    drift = Drift.objects.get(closed_at=None)
    with pytest.raises(Conflict, match="paused"):
        services.take_over(drift_id=drift.pk, actor_id=0, now=START + minutes(3))


def test_a_quota_in_a_spelling_nobody_counts_is_shown_with_its_owner(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    idle = {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "by-hand", "namespace": "vision"},
        "spec": {"hard": {"nvidia.com/gpu": "4", "limits.nvidia.com/gpu": "4", "pods": "9"}},
    }  # fmt: skip
    port.apply(idle, manager="kubectl")
    sync(cluster, 1)
    rows = Drift.objects.filter(name="by-hand").order_by("field")
    assert [(row.field, row.wanted, row.found, row.manager) for row in rows] == [
        ("spec.hard[limits.nvidia.com/gpu]", None, "4", "kubectl"),
        ("spec.hard[nvidia.com/gpu]", None, "4", "kubectl"),
    ]


def change(cluster: Cluster, was: str, mode: str) -> None:
    """Change the mode as one who saw `was`."""
    standing.change_mode(
        cluster_id=cluster.pk, was=ClusterMode(was), mode=ClusterMode(mode), actor_id=None,
        now=START,
    )  # fmt: skip


def test_a_cluster_goes_up_one_mode_at_a_time_and_down_any(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="one mode at a time"):
        change(cluster, "quota", "admission")
    change(cluster, "quota", "reclaim")
    change(cluster, "reclaim", "admission")
    change(cluster, "admission", "observe")
    with pytest.raises(Invalid):
        change(cluster, "observe", "reclaim")
    cluster.refresh_from_db()
    assert cluster.mode == "observe"


def test_a_mode_is_not_changed_by_who_saw_another(cluster: Cluster) -> None:
    change(cluster, "quota", "reclaim")
    with pytest.raises(Conflict, match="changed meanwhile"):
        change(cluster, "quota", "observe")


def test_an_unknown_cluster_is_missing() -> None:
    with pytest.raises(Missing):
        standing.pause(cluster_id=9, reason="", actor_id=None, now=START)
    with pytest.raises(Missing):
        standing.resume(cluster_id=9, actor_id=None, now=START)
    with pytest.raises(Missing):
        standing.set_mode(
            cluster_id=9, was=ClusterMode.QUOTA, mode=ClusterMode.OBSERVE, actor_id=None
        )


def test_a_mode_our_account_has_no_rights_for_is_refused_by_name(cluster: Cluster) -> None:
    lacking = [Right("create", "", "pods/eviction")]
    with (
        mock.patch.object(SimulatedCluster, "denied", return_value=lacking),
        pytest.raises(Conflict, match="pods/eviction") as refused,
    ):
        change(cluster, "quota", "reclaim")
    assert refused.value.code == "rights_missing"
    change(cluster, "quota", "observe")


def test_a_cluster_that_does_not_answer_goes_down_and_not_up(cluster: Cluster) -> None:
    ports.forget(ports.simulated_file(cluster))
    Cluster.objects.update(settings={"file": "gone.cluster"})
    with pytest.raises(Conflict, match="cannot be asked"):
        change(cluster, "quota", "reclaim")
    change(cluster, "quota", "observe")
