"""The newest tick's shares become quotas, drift is shown, and a cycle without change writes nothing."""

from datetime import timedelta
from pathlib import Path

import pytest

from portal.common import clock
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import manifests, services
from portal.kubernetes.models import Drift, SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import MANAGER, Manifest
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.scheduling.models import Share, Tick, TickState
from portal.teams.models import Team
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    return world.a_registered(folder, world.a_plan())[0]


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return world.reopened(cluster)


def a_tick(cluster: Cluster, minute: float, fence: int = 3, **figures: tuple[int, int]) -> Tick:
    """A tick that gives vision (guaranteed, burst) of pools, and speech nothing."""
    tick = Tick.objects.create(
        cluster=cluster, at=START + minutes(minute), state=TickState.DONE, fence=fence,
        started_real_at=clock.real_now(),
    )  # fmt: skip
    vision = Team.objects.get(slug="vision")
    for name, (guaranteed, burst) in figures.items():
        Share.objects.create(
            tick=tick, team=vision, pool=world.pool_of(cluster, name),
            guaranteed=1000 * guaranteed, reserved=0, fair_share=1000 * (guaranteed + burst),
            allocated=0, borrowed=0, lent=0, available=0, dominant_share=0, satisfaction=0,
            guaranteed_gpus=guaranteed, burst_gpus=burst,
        )  # fmt: skip
    return tick


def sync(cluster: Cluster, minute: float) -> SyncRun | None:
    """One sync."""
    return services.sync_cluster(cluster_id=cluster.pk, now=START + minutes(minute))


def hard(port: SimulatedCluster, namespace: str) -> dict[str, str]:
    """Hard devices of each quota of a namespace."""
    return {
        item["metadata"]["name"]: item["status"]["hard"]["requests.nvidia.com/gpu"]
        for item in port.quotas().items
        if item["metadata"]["namespace"] == namespace
    }


def test_without_a_tick_nothing_is_written(cluster: Cluster, port: SimulatedCluster) -> None:
    assert sync(cluster, 0) is None
    assert port.quotas().items == ()


def test_shares_become_quotas_in_every_namespace_of_the_team(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4), t4=(2, 0))
    run = sync(cluster, 1)

    assert run is not None
    assert (run.state, run.message) == (SyncState.DONE, "")
    assert hard(port, "vision") == {
        "evenshare-guaranteed-a100": "6",
        "evenshare-burst-a100": "10",
        "evenshare-guaranteed-t4": "2",
        "evenshare-burst-t4": "2",
        "evenshare-total": "12",
    }
    assert set(hard(port, "speech").values()) == {"0"}
    labels = {i["metadata"]["name"]: i["metadata"]["labels"] for i in port.namespaces().items}
    assert labels["vision"]["evenshare.io/team"] == "vision"
    written = port.quotas().items[0]["metadata"]
    assert written["annotations"] == {"evenshare.io/fence": "3"}


def test_a_cycle_without_change_writes_nothing_and_leaves_no_row(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    version = port.quotas().version
    a_tick(cluster, 2, fence=4, a100=(6, 4))
    assert sync(cluster, 2) is None
    assert SyncRun.objects.count() == 1
    assert port.quotas().version == version


def test_every_changed_field_is_a_row_from_what_to_what(cluster: Cluster) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    a_tick(cluster, 2, a100=(7, 3))
    run = sync(cluster, 2)

    assert run is not None
    (change,) = SyncWrite.objects.filter(run=run)
    assert (change.namespace, change.name, change.field) == (
        "vision", "evenshare-guaranteed-a100", "spec.hard[requests.nvidia.com/gpu]"
    )  # fmt: skip
    assert (change.was, change.now) == ("6", "7")


def test_burst_waits_for_devices_that_others_still_hold(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(0, 16))
    sync(cluster, 1)
    port.submit(world.a_spec("borrows", gpus=8, work=7200))
    port.submit(world.a_spec("too", gpus=4, work=7200))
    world.allow(port, "speech", guaranteed=0, burst=0)
    tick = a_tick(cluster, 10, a100=(0, 4))
    Share.objects.create(
        tick=tick, team=Team.objects.get(slug="speech"), pool=world.pool_of(cluster, "a100"),
        guaranteed=0, reserved=0, fair_share=12_000, allocated=0, borrowed=0, lent=0, available=0,
        dominant_share=0, satisfaction=0, guaranteed_gpus=0, burst_gpus=12,
    )  # fmt: skip
    sync(cluster, 10)

    # Vision's quota shrinks at once, its 12 devices are still held: 4 of 16 are free for speech.
    assert hard(port, "vision")["evenshare-burst-a100"] == "4"
    assert hard(port, "speech")["evenshare-burst-a100"] == "4"


def test_a_taken_field_is_drift_until_it_is_as_wanted_again(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    hostile = {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "99"}}}
    port.apply(hostile, manager="kubectl-edit", force=True)
    sync(cluster, 2)
    sync(cluster, 3)

    drift = Drift.objects.get()
    assert (drift.name, drift.field, drift.manager) == (
        "evenshare-guaranteed-a100", "spec.hard[requests.nvidia.com/gpu]", "kubectl-edit"
    )  # fmt: skip
    assert (drift.wanted, drift.found, drift.closed_at) == ("6", "99", None)
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "99"

    wanted = {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "6"}}}
    port.apply(wanted, manager="kubectl-edit", force=True)
    sync(cluster, 4)
    assert Drift.objects.get().closed_at == START + minutes(4)


def test_a_faster_writer_wins_and_the_next_sync_plans_again(
    cluster: Cluster, port: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    a_tick(cluster, 2, fence=4, a100=(7, 4))
    real = SimulatedCluster.apply
    lost: list[str] = []

    def race(self: SimulatedCluster, manifest: Manifest, **how: object) -> Manifest:
        if manifest["metadata"]["name"] == "evenshare-total" and not lost:
            lost.append("once")
            faster = {**manifest, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}}
            real(self, faster, manager=MANAGER)
        return real(self, manifest, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedCluster, "apply", race)
    run = sync(cluster, 2)
    assert run is not None
    assert run.state == SyncState.PARTIAL
    assert "the object has been modified" in run.message
    again = sync(cluster, 3)
    assert again is not None
    assert (again.state, again.writes) == (SyncState.DONE, 1)


def test_a_version_that_moved_on_without_the_fields_is_written_all_the_same(
    cluster: Cluster, port: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    a_tick(cluster, 2, fence=4, a100=(7, 4))
    real = SimulatedCluster.apply
    moved: list[str] = []

    def race(self: SimulatedCluster, manifest: Manifest, **how: object) -> Manifest:
        if manifest["metadata"]["name"] == "evenshare-total" and len(moved) < 2:
            # As the server's own controller does when it has counted pods.
            moved.append("again")
            note = {"annotations": {"counted": str(len(moved))}}
            bare = {"apiVersion": "v1", "kind": manifest["kind"]}
            real(self, {**bare, "metadata": {**manifest["metadata"], **note}}, manager="kube")
        return real(self, manifest, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedCluster, "apply", race)
    run = sync(cluster, 2)
    assert run is not None
    assert (run.state, run.message) == (SyncState.DONE, "")
    assert hard(port, "vision")["evenshare-total"] == "11"
    assert len(moved) == 2


def test_a_writer_that_was_paused_loses_to_a_newer_fence(
    cluster: Cluster, port: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    a_tick(cluster, 2, fence=4, a100=(7, 4))
    real = SimulatedCluster.apply

    def race(self: SimulatedCluster, manifest: Manifest, **how: object) -> Manifest:
        if manifest["metadata"]["name"] == "evenshare-total":
            quotas = {q["metadata"]["name"]: q for q in self.quotas().items
                      if q["metadata"]["namespace"] == "vision"}  # fmt: skip
            was = quotas["evenshare-total"]["spec"]
            real(self, {**manifest, "spec": was}, manager=MANAGER, fence=5)
        return real(self, manifest, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedCluster, "apply", race)
    run = sync(cluster, 2)
    assert run is not None
    assert run.state == SyncState.PARTIAL
    assert hard(port, "vision")["evenshare-total"] == "10"


def test_a_namespace_that_is_no_teams_any_more_may_hold_nothing(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    inventory.register_namespace(
        cluster_id=cluster.pk, name="vision", team_id=None, now=START + minutes(2)
    )
    sync(cluster, 3)
    assert set(hard(port, "vision").values()) == {"0"}
    labels = {i["metadata"]["name"]: i["metadata"]["labels"] for i in port.namespaces().items}
    assert "evenshare.io/team" not in labels["vision"]


def test_a_cluster_in_observe_mode_is_never_written(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(mode=ClusterMode.OBSERVE)
    a_tick(cluster, 1, a100=(6, 4))
    assert sync(cluster, 1) is None
    assert port.quotas().items == ()


def test_a_dry_run_says_what_a_sync_would_write_and_writes_nothing(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    found = services.dry_run(cluster_id=cluster.pk, now=START + minutes(1))
    assert {write.kind for write in found.writes} == {"Namespace", "ResourceQuota"}
    assert port.quotas().items == ()


def test_an_unreachable_cluster_makes_a_failed_run_and_no_drift(
    cluster: Cluster, folder: Path
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    (folder / "lab.cluster").rename(folder / "elsewhere")
    run = sync(cluster, 1)
    assert run is not None
    assert run.state == SyncState.FAILED
    assert "no simulated cluster" in run.message


def test_a_decision_too_old_to_be_true_is_not_written(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    tick = a_tick(cluster, 1, a100=(6, 4))
    old = clock.real_now() - timedelta(seconds=cluster.stale_after_seconds + 1)
    Tick.objects.filter(pk=tick.pk).update(started_real_at=old)
    run = sync(cluster, 1)
    assert run is not None
    assert run.state == SyncState.FAILED
    assert "nothing is written" in run.message
    assert not SyncWrite.objects.filter(run=run).exists()
