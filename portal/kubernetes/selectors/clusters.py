"""Clusters as those who oversee the installation see them: how old what is known and done is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypedDict

from django.conf import settings
from django.db.models import Count, OuterRef, QuerySet, Subquery

from portal.common.errors import Missing
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import policies
from portal.kubernetes.models import Drift, SyncStanding
from portal.kubernetes.selectors import jobs, ray
from portal.kubernetes.selectors.drift import IDLE, LATE, POLICIES, SORTS
from portal.scheduling.models import Tick, TickState
from portal.teams.models import User

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

COUNTS: tuple[Literal["drift", "late", "idle"], ...] = ("drift", "late", "idle")
LATE_AFTER_TICKS = 4
"""So many turns without a tick or a sync are too many."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Something that comes round: when it was last, in both times, and whether it is overdue."""

    at: datetime | None = None
    real_at: datetime | None = None
    stale: bool = False


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster: what the portal does there, how fresh that is, and what stands in the way.

    `policies_missing` None is "not known": nothing looks at them while a cluster is observed.
    `stops` are jobs that make room now, `stuck` those of them that cannot.
    """

    id: int
    name: str
    kind: str
    mode: str
    read: Beat
    tick: Beat
    tick_state: str
    sync: Beat
    paused_at: datetime | None
    paused_by: str
    pause_reason: str
    drift: int
    late: int
    idle: int
    policies_missing: tuple[str, ...] | None
    ray_wrong: int
    stops: int
    stuck: int
    last_error: str

    @property
    def policies_there(self) -> int:
        """How many of the policies are installed, as far as is known."""
        return len(policies.names(self.mode)) - len(self.policies_missing or ())

    @property
    def policies_all(self) -> int:
        """How many there should be."""
        return len(policies.names(self.mode))

    @property
    def differs(self) -> int:
        """Everything that is not as it should be."""
        return self.drift + self.ray_wrong

    @property
    def is_written(self) -> bool:
        """Whether the portal writes to it at all."""
        return self.mode != ClusterMode.OBSERVE


def list_clusters(*, real_now: datetime) -> list[ClusterRow]:
    """Every cluster; the number of queries does not depend on how many there are."""
    return _rows(Cluster.objects.order_by("id"), real_now)


def get_cluster(*, cluster_id: int, real_now: datetime) -> ClusterRow:
    """One cluster. Raises `Missing`."""
    found = _rows(Cluster.objects.filter(pk=cluster_id), real_now)
    if not found:
        raise Missing
    return found[0]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of all clusters asked for, by cluster id."""

    people: Mapping[int, str]
    counts: Mapping[int, Mapping[str, int]]
    missing: Mapping[int, Sequence[str]]
    ray: Mapping[int, int]
    stops: Mapping[int, tuple[int, int]]


class _Ticked(TypedDict):
    """When a cluster's newest tick decided something, and how its newest of all ended."""

    tick_at: datetime | None
    tick_real_at: datetime | None
    tick_state: str | None


def _rows(clusters: QuerySet[Cluster], real_now: datetime) -> list[ClusterRow]:
    ticks = Tick.objects.filter(cluster_id=OuterRef("pk")).order_by("-at", "-id")
    done = ticks.filter(state=TickState.DONE)
    found = list(
        clusters.select_related("sync_standing").annotate(
            tick_at=Subquery(done.values("at")[:1]),
            tick_real_at=Subquery(done.values("started_real_at")[:1]),
            tick_state=Subquery(ticks.values("state")[:1]),
        )
    )
    facts = _facts(found)
    return [_row(cluster, facts, real_now) for cluster in found]


def _standing(cluster: Cluster) -> SyncStanding:
    """When it was last synced and whether that rests; a new cluster has none yet."""
    return getattr(cluster, "sync_standing", None) or SyncStanding()


def _facts(clusters: Sequence[Cluster]) -> _Facts:
    paused_by = {one for row in clusters if (one := _standing(row).paused_by_id)}
    people = User.objects.filter(pk__in=paused_by).values_list("pk", "username")
    drift = Drift.objects.filter(cluster__in=clusters, closed_at__isnull=True)
    counted = drift.order_by().values("cluster_id").annotate(
        drift=Count("pk"), late=Count("pk", filter=SORTS[LATE]),
        idle=Count("pk", filter=SORTS[IDLE]), missing=Count("pk", filter=SORTS[POLICIES]),
    )  # fmt: skip
    missing: dict[int, list[str]] = defaultdict(list)
    if any(row["missing"] for row in counted):
        for cluster_id, name in drift.filter(SORTS[POLICIES]).values_list("cluster_id", "name"):
            missing[cluster_id].append(name)
    return _Facts(
        people=dict(people), missing=missing, ray=ray.count_wrong(), stops=jobs.count_stops(),
        counts={row["cluster_id"]: {name: row[name] for name in COUNTS} for row in counted},
    )  # fmt: skip


def _row(
    cluster: "WithAnnotations[Cluster, _Ticked]", facts: _Facts, real_now: datetime
) -> ClusterRow:
    standing = _standing(cluster)
    counts = facts.counts.get(cluster.pk, {})
    written = cluster.mode != ClusterMode.OBSERVE
    known = written and standing.checked_at is not None
    turns = timedelta(seconds=LATE_AFTER_TICKS * settings.TICK_SECONDS)
    limit = max(turns, timedelta(seconds=cluster.stale_after_seconds))
    return ClusterRow(
        id=cluster.pk, name=cluster.name, kind=cluster.kind, mode=cluster.mode,
        read=_beat(
            cluster.seen_at, cluster.seen_real_at, real_now,
            timedelta(seconds=cluster.stale_after_seconds),
        ),
        tick=_beat(cluster.tick_at, cluster.tick_real_at, real_now, limit),
        tick_state=cluster.tick_state or "",
        sync=_beat(
            standing.checked_at, standing.checked_real_at, real_now,
            limit if written and standing.paused_at is None else None,
        ),
        paused_at=standing.paused_at,
        paused_by=facts.people.get(standing.paused_by_id or 0, ""),
        pause_reason=standing.pause_reason,
        drift=counts.get("drift", 0), late=counts.get("late", 0), idle=counts.get("idle", 0),
        policies_missing=tuple(sorted(facts.missing.get(cluster.pk, ()))) if known else None,
        ray_wrong=facts.ray.get(cluster.pk, 0), stops=facts.stops.get(cluster.pk, (0, 0))[0],
        stuck=facts.stops.get(cluster.pk, (0, 0))[1], last_error=cluster.last_error,
    )  # fmt: skip


def _beat(
    at: datetime | None, real_at: datetime | None, real_now: datetime, limit: timedelta | None
) -> Beat:
    """Overdue when older than its limit or never; without a limit it is never overdue."""
    stale = limit is not None and (real_at is None or real_now - real_at > limit)
    return Beat(at, real_at, stale)
