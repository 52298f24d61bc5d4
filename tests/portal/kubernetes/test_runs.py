"""What a sync leaves in rows, also one whose worker died in the middle."""

from pathlib import Path

import pytest

from portal.common import leases
from portal.common.leases import Fenced
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import applying, runs, services
from portal.kubernetes.models import SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import Manifest, Refused
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes import world
from tests.portal.kubernetes.test_syncing import a_tick, sync

pytestmark = pytest.mark.django_db
Key = tuple[str, str, str, str]


class Killed(BaseException):
    """The worker is gone: nothing after it happens."""


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    row = world.a_registered(folder, world.a_plan())[0]
    a_tick(row, 1, a100=(6, 4))
    return row


def killed_after(monkeypatch: pytest.MonkeyPatch, writes: int, *, told: bool = True) -> None:
    """Let the worker die at the write after so many, before or after the cluster took it."""
    real = SimulatedCluster.apply
    made: list[int] = []

    def apply(self: SimulatedCluster, manifest: Manifest, **how: object) -> Manifest:
        if len(made) == writes and told:
            raise Killed
        made.append(1)
        result = real(self, manifest, **how)  # type: ignore[arg-type]
        if len(made) > writes:
            raise Killed
        return result

    monkeypatch.setattr(SimulatedCluster, "apply", apply)


def told(run: SyncRun) -> set[Key]:
    """The fields a run tells of."""
    rows = SyncWrite.objects.filter(run=run)
    return {(row.kind, row.namespace, row.name, row.field) for row in rows}


@pytest.mark.parametrize(
    ("writes", "taken", "seen"), [(0, False, 1), (0, True, 0), (3, True, 3), (9, True, 9)]
)
def test_an_interrupted_sync_is_closed_with_what_is_seen_written(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, writes: int, taken: bool, seen: int
) -> None:
    with monkeypatch.context() as patch:
        killed_after(patch, writes, told=taken)
        with pytest.raises(Killed):
            sync(cluster, 1)
    (open_run,) = SyncRun.objects.all()
    assert (open_run.state, open_run.writes) == (SyncState.RUNNING, 0)
    intended = told(open_run)
    again = sync(cluster, 2)

    open_run.refresh_from_db()
    # Two namespaces with four quotas of classes, one over all, and a label each.
    assert (open_run.state, open_run.writes, open_run.intended) == (SyncState.INTERRUPTED, seen, 12)
    assert f"Of 12 objects it meant to write, {seen} are found written." in open_run.message
    assert again is not None
    assert (again.state, again.writes) == (SyncState.DONE, 12 - seen)
    assert told(open_run) | told(again) == intended
    assert not told(open_run) & told(again)


def test_a_run_whose_worker_died_before_its_last_row_is_closed_as_all_written(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_arguments: object, **_more: object) -> SyncRun:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runs, "end", die)
        with pytest.raises(Killed):
            sync(cluster, 1)
    assert sync(cluster, 2) is None
    run = SyncRun.objects.get()
    assert (run.state, run.writes, run.intended) == (SyncState.INTERRUPTED, 12, 12)


def test_an_interrupted_sync_of_a_cluster_that_is_only_observed_now_is_closed_too(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        killed_after(patch, 2)
        with pytest.raises(Killed):
            sync(cluster, 1)
    Cluster.objects.update(mode=ClusterMode.OBSERVE)
    version = world.reopened(cluster).quotas().version
    assert sync(cluster, 2) is None
    run = SyncRun.objects.get()
    assert (run.state, run.writes) == (SyncState.INTERRUPTED, 2)
    assert world.reopened(cluster).quotas().version == version


def test_what_was_refused_is_no_change_of_the_run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SimulatedCluster.apply

    def apply(self: SimulatedCluster, manifest: Manifest, **how: object) -> Manifest:
        if manifest["metadata"]["name"] == "evenshare-total":
            raise Refused("not this one")
        return real(self, manifest, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedCluster, "apply", apply)
    run = sync(cluster, 1)
    assert run is not None
    assert (run.state, run.writes, run.intended) == (SyncState.PARTIAL, 10, 12)
    assert len({key[:3] for key in told(run)}) == 10
    assert "evenshare-total" not in {key[2] for key in told(run)}


def test_syncs_past_their_time_are_let_go_with_the_next_that_writes(cluster: Cluster) -> None:
    first = sync(cluster, 1)
    assert first is not None
    a_tick(cluster, 2, fence=4, a100=(7, 4))
    second = sync(cluster, 399 * 24 * 60)
    a_tick(cluster, 401 * 24 * 60, fence=5, a100=(8, 4))
    third = sync(cluster, 402 * 24 * 60)
    assert list(SyncRun.objects.order_by("id")) == [second, third]
    assert not SyncWrite.objects.filter(run_id=first.pk).exists()


def test_a_paused_writer_that_was_closed_by_another_tells_what_it_wrote_all_the_same(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = leases.take(name="sync", holder="sleeper", seconds=60)
    assert lease is not None
    real = applying.apply
    woken: list[int] = []

    def slow(*arguments: object, **more: object) -> None:
        real(*arguments, **more)  # type: ignore[arg-type]
        if not woken:
            woken.append(1)
            leases.give_up(lease)
            newer = leases.take(name="sync", holder="other", seconds=60)
            # The other sees half of it, as if the rest had landed after its look.
            runs.close_interrupted(cluster_id=cluster.pk, found=[], lease=newer)

    monkeypatch.setattr(applying, "apply", slow)
    with pytest.raises(Fenced):
        services.sync_cluster(cluster_id=cluster.pk, now=world.START, lease=lease)
    run = SyncRun.objects.get()
    assert (run.state, run.writes) == (SyncState.FAILED, 12)
    assert len({key[:3] for key in told(run)}) == 12
    assert "taken over" in run.message
