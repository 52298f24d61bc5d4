"""One writer a cluster: whoever was paused past its lease wakes to find that it may not write."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from portal.common import clock as real_clock
from portal.common import leases
from portal.common.leases import Fenced, Held
from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import SyncRun, SyncWrite
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.quotas import services as quotas
from portal.scheduling import services as scheduling
from portal.scheduling.models import Decision, Standing, Tick, TickState
from portal.usage.models import DecayedUse, LedgerEntry
from portal.workloads.models import Workload
from scheduler_core import planner
from tests.portal.kubernetes.world import START, a_registered, a_spec, minutes, pool_of
from tests.races.crowd import Crowd, words

MINUTE = timedelta(minutes=1)


@pytest.fixture
def cluster(committed_database: str, tmp_path: Path) -> Any:
    """A simulated cluster whose two teams have quotas, one job running and two waiting."""
    with override_settings(VAR_DIR=tmp_path):
        row, port = a_registered(tmp_path)
        kubernetes.collect(cluster_id=row.pk, now=START)
        for slug in ("vision", "speech"):
            team_id = row.namespaces.get(name=slug).owners.get().team_id
            quotas.change(
                team_id=team_id, pool_id=pool_of(row, "a100").pk, guaranteed=8, limit=16,
                valid_from=START, actor_id=None, now=START,
            )  # fmt: skip
        for number, gpus in enumerate((4, 8, 8)):
            port.submit(a_spec(f"job-{number}", gpus=gpus))
        kubernetes.collect(cluster_id=row.pk, now=START + MINUTE)
        scheduling.run_tick(cluster_id=row.pk, now=START + MINUTE)
        kubernetes.sync_cluster(cluster_id=row.pk, now=START + MINUTE)
        yield row


def _lease(name: str, seconds: int = 60) -> Held:
    held = leases.take(name=name, holder="worker", seconds=seconds)
    assert held is not None
    return held


def _rows() -> tuple[object, ...]:
    """All that a worker writes."""
    found = (Tick, Decision, Standing, DecayedUse, LedgerEntry, Workload, SyncRun, SyncWrite)
    return (
        *(list(model.objects.order_by("pk").values()) for model in found),
        list(Cluster.objects.values()),
    )  # fmt: skip


def _taken_over(monkeypatch: pytest.MonkeyPatch, where: Any, what: str, act: Callable[[], object]):  # type: ignore[no-untyped-def]
    """Let somebody else do all of the work while the first is at `what`, once."""
    real = getattr(where, what)
    done: list[bool] = []

    def slow(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            act()
        return real(*args, **kwargs)

    monkeypatch.setattr(where, what, slow)


def test_a_tick_that_slept_through_its_lease_writes_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, after = START + 2 * MINUTE, []

    def other() -> None:
        newer = _lease("tick")
        scheduling.run_tick(cluster_id=cluster.pk, now=now + MINUTE, lease=newer)
        after.append(_rows())

    sleeper = _lease("tick", seconds=0)
    _taken_over(monkeypatch, planner, "plan", other)
    with pytest.raises(Fenced):
        scheduling.run_tick(cluster_id=cluster.pk, now=now, lease=sleeper)
    assert _rows() == after[0]
    assert Tick.objects.order_by("-id")[0].fence == sleeper.fence + 1


def test_a_tick_that_slept_and_fails_leaves_no_failed_tick(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other() -> None:
        _lease("tick")
        raise RuntimeError("out of memory")

    sleeper = _lease("tick", seconds=0)
    _taken_over(monkeypatch, planner, "plan", other)
    with pytest.raises(Fenced):
        scheduling.run_tick(cluster_id=cluster.pk, now=START + 2 * MINUTE, lease=sleeper)
    assert not Tick.objects.exclude(state=TickState.DONE).exists()


def test_a_collector_that_slept_does_not_bring_an_old_sight_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, after = START + minutes(30), []

    def other() -> None:
        newer = _lease("collect")
        kubernetes.collect(cluster_id=cluster.pk, now=now + minutes(90), lease=newer)
        after.append(_rows())

    sleeper = _lease("collect", seconds=0)
    _taken_over(monkeypatch, SimulatedCluster, "pods", other)
    with pytest.raises(Fenced):
        kubernetes.collect(cluster_id=cluster.pk, now=now, lease=sleeper)
    assert _rows() == after[0]


def test_a_sync_that_slept_between_two_writes_leaves_the_rest_to_the_new_holder(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = START + 2 * MINUTE
    _change_shares(cluster, now)
    sleeper, newer, applied = _lease("sync", seconds=0), [], []
    real = SimulatedCluster.apply

    def apply(port: SimulatedCluster, manifest: Any, **options: Any) -> Any:
        applied.append(manifest["metadata"]["name"])
        if len(applied) == 2:
            newer.append(_lease("sync"))
        return real(port, manifest, **options)

    monkeypatch.setattr(SimulatedCluster, "apply", apply)
    with pytest.raises(Fenced):
        kubernetes.sync_cluster(cluster_id=cluster.pk, now=now, lease=sleeper)
    assert len(applied) == 2
    told = SyncRun.objects.order_by("-id")[0]
    assert (told.writes, told.state) == (2, "failed")
    rest = kubernetes.sync_cluster(cluster_id=cluster.pk, now=now, lease=newer[0])
    assert rest is not None
    assert kubernetes.sync_cluster(cluster_id=cluster.pk, now=now, lease=newer[0]) is None


def test_a_sync_that_is_still_at_work_keeps_its_lease(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = START + 2 * MINUTE
    _change_shares(cluster, now)
    held = _lease("sync", seconds=1)
    real, clock = SimulatedCluster.apply, [real_clock.real_now()]
    monkeypatch.setattr(real_clock, "real_now", lambda: clock[0])

    def slow(port: SimulatedCluster, manifest: Any, **options: Any) -> Any:
        clock[0] += timedelta(seconds=0.9)
        return real(port, manifest, **options)

    monkeypatch.setattr(SimulatedCluster, "apply", slow)
    run = kubernetes.sync_cluster(cluster_id=cluster.pk, now=now, lease=held)
    assert run is not None
    assert run.writes > 2
    assert leases.take(name="sync", holder="other", seconds=1) is None


def test_two_ticks_of_one_cluster_at_once_are_one_tick_or_one_after_the_other(
    cluster: Cluster, crowd: Crowd
) -> None:
    now = START + 2 * MINUTE
    _change_shares(cluster, now)
    before = Tick.objects.count()

    def tick() -> object:
        with leases.holding(name="tick", seconds=60) as lease:
            if lease is None:
                return None
            return scheduling.run_tick(cluster_id=cluster.pk, now=now + MINUTE, lease=lease)

    endings = crowd.at_once(tick, tick, tick)
    ran = [ending.value for ending in endings if ending.value is not None]
    assert Tick.objects.count() == before + len(ran)
    assert len({row.fence for row in ran}) == len(ran)
    used = list(DecayedUse.objects.order_by("team_id").values("team_id", "gpu_seconds"))
    # A further tick at the same instant finds everything said and paid for.
    said = Decision.objects.count()
    tick()
    assert Decision.objects.count() == said
    assert list(DecayedUse.objects.order_by("team_id").values("team_id", "gpu_seconds")) == used


def test_collecting_twice_at_once_writes_every_use_once(cluster: Cluster, crowd: Crowd) -> None:
    now = START + minutes(30)

    def collect() -> object:
        return kubernetes.collect(cluster_id=cluster.pk, now=now)

    assert words(crowd.at_once(collect, collect)) == ["done", "done"]
    rows = LedgerEntry.objects.all()
    keys = [(row.pod_uid, row.from_at) for row in rows]
    assert len(set(keys)) == len(keys)
    before = _rows()[:7]
    collect()
    assert _rows()[:7] == before


def _change_shares(cluster: Cluster, now: datetime) -> None:
    """Let the next sync have something to write in both namespaces."""
    for slug, gpus in (("vision", 6), ("speech", 10)):
        team_id = cluster.namespaces.get(name=slug).owners.get().team_id
        quotas.change(
            team_id=team_id, pool_id=pool_of(cluster, "a100").pk, guaranteed=gpus, limit=16,
            valid_from=now, actor_id=None, now=now,
        )  # fmt: skip
    scheduling.run_tick(cluster_id=cluster.pk, now=now)
