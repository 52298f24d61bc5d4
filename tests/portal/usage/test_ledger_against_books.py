"""The ledger against the simulated cluster's own books, to the second, whatever happens."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from django.db import transaction
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.inventory.models import Cluster
from portal.kubernetes import manifests, ports
from portal.kubernetes import services as kubernetes
from portal.kubernetes.manifests import Target
from portal.kubernetes.port import MANAGER
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.kubernetes.simulated.records import Entry
from portal.usage.models import LedgerEntry
from scheduler_core.traces import Job
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START

pytestmark = pytest.mark.django_db


class Line(NamedTuple):
    """What one pod held, as ledger and books both can say it."""

    node: str
    devices: int
    from_at: datetime
    to_at: datetime
    device_seconds: int


def from_ledger(cluster: Cluster) -> dict[str, Line]:
    """Each pod's rows put together."""
    names = dict(cluster.nodes.values_list("pk", "name"))
    rows: dict[str, list[LedgerEntry]] = defaultdict(list)
    for row in LedgerEntry.objects.order_by("from_at", "revision"):
        rows[row.pod_uid].append(row)
    return {
        uid: Line(
            names[found[0].node_id], found[0].gpu_milli // 1000, found[0].from_at, found[-1].to_at,
            sum(row.sign * row.seconds * row.gpu_milli for row in found) // 1000,
        )
        for uid, found in rows.items()
    }  # fmt: skip


def from_books(entries: list[Entry]) -> dict[str, Line]:
    """The cluster's own lines."""
    return {
        entry.pod_uid: Line(
            entry.node, len(entry.devices), at(entry.from_s), at(entry.to_s),
            (entry.to_s - entry.from_s) * len(entry.devices),
        )
        for entry in entries
    }  # fmt: skip


def at(seconds: int) -> datetime:
    """An instant by its seconds since the epoch."""
    return datetime.fromtimestamp(seconds, START.tzinfo)


def allow(port: SimulatedCluster, team: str, figure: int) -> None:
    """Let a team use so many of the large pool in each class, and half of the small one."""
    targets = {
        "a100": Target(figure, figure, 2 * figure),
        "t4": Target(figure // 2, figure // 2, figure),
    }
    for quota in manifests.quotas(team, targets, world.POOLS, [world.GPU]):
        port.apply(quota, manager=MANAGER)


class Turn(NamedTuple):
    """So many seconds pass; then perhaps the process starts anew or a quota is changed."""

    seconds: int
    restart: bool
    figure: int | None


turns = st.lists(
    st.builds(
        Turn,
        seconds=st.integers(1, 5400),
        restart=st.booleans(),
        figure=st.none() | st.integers(2, 12),
    ),
    min_size=1,
    max_size=25,
)
jobs = st.lists(
    st.builds(
        Job,
        id=st.uuids().map(str),
        submitted_at=st.integers(0, 6 * 3600),
        duration_seconds=st.integers(60, 3 * 3600),
        gpu_milli=st.sampled_from([1000, 2000, 4000, 8000, 16000]),
        team=st.sampled_from(world.TEAMS),
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda job: job.id,
)


@settings(max_examples=20)
@given(jobs, st.integers(0, 500), turns)
def test_the_ledger_says_what_the_books_say(jobs: list[Job], seed: int, turns: list[Turn]) -> None:
    with a_run(tuple(jobs), seed) as (cluster, port):
        now = START
        for turn in turns:
            now += timedelta(seconds=turn.seconds)
            if turn.figure is not None:
                allow(port, "vision", turn.figure)
            if turn.restart:
                port = world.reopened(cluster)
            assert kubernetes.collect(cluster_id=cluster.pk, now=now).error == ""
        # On a grid line nothing is left open, so that the two can be compared whole.
        end = now + timedelta(seconds=-int(now.timestamp()) % 300)
        kubernetes.collect(cluster_id=cluster.pk, now=end)
        assert from_ledger(cluster) == from_books(world.reopened(cluster).books())
        assert not LedgerEntry.objects.filter(estimated=True).exists()


@contextmanager
def a_run(jobs: tuple[Job, ...], seed: int) -> Iterator[tuple[Cluster, SimulatedCluster]]:
    """A registered cluster with these jobs, looked at once, in rows and a folder of its own."""
    plan = world.a_plan(jobs, seed=seed, node_life=6 * 3600)
    with (
        tempfile.TemporaryDirectory() as name,
        override_settings(VAR_DIR=Path(name)),
        transaction.atomic(),
    ):
        cluster, port = world.a_registered(Path(name), plan)
        kubernetes.collect(cluster_id=cluster.pk, now=START)
        for team in world.TEAMS:
            allow(port, team, 6)
        yield cluster, port
        ports.forget(ports.simulated_file(cluster))
        transaction.set_rollback(True)
