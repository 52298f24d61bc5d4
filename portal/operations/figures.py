"""How the installation is doing, read from its rows at the moment somebody asks.

So what workers did is told by any web process, and a restart loses nothing. Labels are clusters,
pools, queues and fixed words: few, and no person, team or job among them. Figures that stand for
a stretch of time say so in their help; they are gauges, since rows are forgotten one day.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import cast

from django.conf import settings
from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from portal.common.models import Channel, OutboxMessage
from portal.inventory.models import Cluster, Node, NodeState
from portal.kubernetes.models import Drift, SyncRun, SyncStanding, SyncState
from portal.operations.models import Report
from portal.scheduling.models import Tick, TickState
from portal.workloads.models import HOLDING_STATES, Pod, Workload, WorkloadState

RECENT = timedelta(minutes=10)
RECENT_RUNS = 5000
DAY = timedelta(days=1)
WAITS = (60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600)
Families = Iterator[GaugeMetricFamily | HistogramMetricFamily]


class Rows(Collector):
    """All figures that rows tell, as of two instants: real, and the organisation's."""

    def __init__(self, *, real_now: datetime, now: datetime) -> None:
        self.real_now, self.now = real_now, now
        self.clusters = list(Cluster.objects.order_by("id"))
        self.names = {row.pk: row.name for row in self.clusters}

    def collect(self) -> Families:
        """Every family, in the order of the straight path."""
        yield _one("evenshare_tick_period_seconds", "Ticks are due so often.",
                   settings.TICK_SECONDS)  # fmt: skip
        yield from self._ticks()
        yield from self._reads()
        yield from self._syncs()
        yield self._drift()
        yield from self._queue()
        yield self._waits()
        yield from self._devices()
        yield self._outbox()
        yield from self._reports()
        yield from _disk()

    def _ticks(self) -> Families:
        newest = Tick.objects.filter(cluster=OuterRef("pk")).order_by("-at").values("pk")[:1]
        picked = Cluster.objects.annotate(newest=Subquery(newest)).values("newest")
        rows = Tick.objects.filter(pk__in=picked).values_list(
            "cluster_id", "started_real_at", "took_ms", "state"
        )
        age = _gauge("evenshare_tick_age_seconds", "Since the newest tick began.")
        took = _gauge("evenshare_tick_seconds", "How long the newest tick took.")
        done = _gauge("evenshare_tick_done", "1: the newest tick decided; 0: skipped or failed.")
        for cluster_id, began, ms, state in rows:
            names = [self.names[cluster_id]]
            age.add_metric(names, self._since(began))
            took.add_metric(names, ms / 1000)
            done.add_metric(names, state == TickState.DONE)
        yield from (age, took, done)

    def _reads(self) -> Families:
        age = _gauge("evenshare_cluster_age_seconds", "Since the cluster was last read whole.")
        stale = _gauge(
            "evenshare_cluster_stale", "1: the cluster was not read for longer than it may be."
        )
        for row in self.clusters:
            seconds = self._since(row.seen_real_at or row.created_at)
            age.add_metric([row.name], seconds)
            stale.add_metric(
                [row.name], row.seen_real_at is None or seconds > row.stale_after_seconds
            )
        yield from (age, stale)

    def _syncs(self) -> Families:
        age = _gauge("evenshare_sync_age_seconds", "Since a sync last went through.")
        paused = _gauge("evenshare_sync_paused", "1: somebody paused writing to the cluster.")
        for standing in SyncStanding.objects.all():
            name = [self.names[standing.cluster_id]]
            if standing.checked_real_at is not None:
                age.add_metric(name, self._since(standing.checked_real_at))
            paused.add_metric(name, standing.paused_at is not None)
        writes = _gauge(
            "evenshare_sync_writes", "Objects written in the last ten minutes of the organisation."
        )
        ended = _gauge(
            "evenshare_sync_runs",
            "Syncs of the last ten minutes of the organisation that had to write, by their end.",
            "state",
        )
        objects, runs = self._recent_runs()
        for row in self.clusters:
            writes.add_metric([row.name], objects[row.pk])
            for state in SyncState.values:
                ended.add_metric([row.name, state], runs[row.pk, state])
        yield from (age, paused, writes, ended)

    def _recent_runs(self) -> tuple[Counter[int], Counter[tuple[int, str]]]:
        objects: Counter[int] = Counter()
        runs: Counter[tuple[int, str]] = Counter()
        newest = SyncRun.objects.order_by("-id").values_list("cluster_id", "at", "writes", "state")
        for cluster_id, at, writes, state in newest[:RECENT_RUNS]:
            if at > self.now - RECENT:
                objects[cluster_id] += writes
                runs[cluster_id, state] += 1
        return objects, runs

    def _drift(self) -> GaugeMetricFamily:
        found = dict(
            Drift.objects.filter(closed_at=None)
            .values_list("cluster_id")
            .annotate(count=Count("id"))
            .order_by()
        )
        family = _gauge("evenshare_drift_fields", "Fields that are not as wanted.")
        for row in self.clusters:
            family.add_metric([row.name], found.get(row.pk, 0))
        return family

    def _queue(self) -> Families:
        jobs = _gauge("evenshare_queue_jobs", "Jobs that wait.", "pool")
        devices = _gauge("evenshare_queue_gpus", "GPUs that waiting jobs ask for.", "pool")
        found = (
            Workload.objects.filter(state=WorkloadState.WAITING)
            .values_list("cluster_id", "pool__name")
            .annotate(count=Count("id"), milli=Sum(F("tasks") * F("gpu_milli")))
            .order_by("cluster_id", "pool__name")
        )
        for cluster_id, pool, count, milli in found:
            names = [self.names[cluster_id], pool or ""]
            jobs.add_metric(names, count)
            devices.add_metric(names, milli / 1000)
        yield from (jobs, devices)

    def _waits(self) -> HistogramMetricFamily:
        """Of those still waiting too, else a queue that never moves would look best of all."""
        family = HistogramMetricFamily(
            "evenshare_wait_seconds",
            "Waits as they stand now, of jobs that still wait and of those that run and began"
            " within a day of the organisation. Not counted up: no rate().",
            labels=["cluster", "state"],
        )
        waiting = Workload.objects.filter(state=WorkloadState.WAITING)
        running = Workload.objects.filter(state__in=HOLDING_STATES, scheduled_at__gt=self.now - DAY)
        by_end = {
            "waiting": (waiting, {s: Q(submitted_at__gte=self.now - _s(s)) for s in WAITS}),
            "running": (
                running, {s: Q(scheduled_at__lte=F("submitted_at") + _s(s)) for s in WAITS}
            ),
        }  # fmt: skip
        for state, (rows, within) in by_end.items():
            counted = {f"s{s}": Count("id", filter=condition) for s, condition in within.items()}
            found = rows.values("cluster_id").annotate(all=Count("id"), **counted).order_by()
            for row in cast("Iterable[dict[str, int]]", found):
                buckets = [(str(float(s)), float(row[f"s{s}"])) for s in WAITS]
                family.add_metric(
                    [self.names[row["cluster_id"]], state],
                    [*buckets, ("+Inf", float(row["all"]))], sum_value=None,
                )  # fmt: skip
        return family

    def _devices(self) -> Families:
        there = _gauge("evenshare_gpus", "GPUs of the known nodes.", "pool", "state")
        nodes = (
            Node.objects.filter(removed_at=None)
            .values_list("cluster_id", "pool__name", "state")
            .annotate(gpus=Sum("gpus"))
            .order_by()
        )
        found = {(cluster, pool, state): gpus for cluster, pool, state, gpus in nodes}
        for cluster, pool in sorted({key[:2] for key in found}):
            for state in NodeState.values:
                gpus = found.get((cluster, pool, state), 0)
                there.add_metric([self.names[cluster], pool, state], gpus)
        held = _gauge("evenshare_gpus_held", "GPUs that pods hold.", "pool")
        pods = (
            Pod.objects.filter(closed_at=None, node__isnull=False)
            .values_list("node__cluster_id", "node__pool__name")
            .annotate(milli=Sum("gpu_milli"))
            .order_by()
        )
        for cluster, pool, milli in pods:
            held.add_metric([self.names[cluster], pool], milli / 1000)
        yield from (there, held)

    def _outbox(self) -> GaugeMetricFamily:
        late = Q(given_up_at=None, due_at__lte=self.real_now)
        rows = (
            OutboxMessage.objects.filter(sent_at=None)
            .values_list("channel")
            .annotate(
                late=Count("id", filter=late),
                waiting=Count("id", filter=Q(given_up_at=None)),
                given_up=Count("id", filter=Q(given_up_at__isnull=False)),
            )
            .order_by()
        )
        found = {channel: counts for channel, *counts in rows}
        family = GaugeMetricFamily(
            "evenshare_outbox_messages",
            "Messages not sent: all that wait, those of them that are due, and those given up.",
            labels=["channel", "state"],
        )
        for channel in Channel.values:
            for state, count in zip(
                ("due", "waiting", "given_up"), found.get(channel, (0, 0, 0)), strict=True
            ):
                family.add_metric([channel, state], count)
        return family

    def _reports(self) -> Families:
        ok = GaugeMetricFamily(
            "evenshare_report_ok", "1: this upkeep went well when it last ran.", labels=["name"]
        )
        age = GaugeMetricFamily(
            "evenshare_report_age_seconds", "Since this upkeep last ran.", labels=["name"]
        )
        for row in Report.objects.order_by("name"):
            ok.add_metric([row.name], row.ok)
            age.add_metric([row.name], self._since(row.at))
        yield from (ok, age)

    def _since(self, then: datetime) -> float:
        return max(0.0, (self.real_now - then).total_seconds())


def _disk() -> Families:
    try:
        usage = shutil.disk_usage(settings.VAR_DIR)
    except OSError:
        return
    yield _one("evenshare_disk_free_bytes", "Free where the portal keeps files.", usage.free)
    yield _one("evenshare_disk_bytes", "Size of where the portal keeps files.", usage.total)


def _gauge(name: str, says: str, *more: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, labels=["cluster", *more])


def _one(name: str, says: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, value=value)


def _s(seconds: int) -> timedelta:
    return timedelta(seconds=seconds)
