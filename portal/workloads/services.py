"""Writes of the room: what was seen of a cluster's jobs becomes rows, once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from portal.workloads import sights
from portal.workloads.lookups import Lookups
from portal.workloads.models import OPEN_STATES, Pod, StageEvent, Workload, WorkloadState
from portal.workloads.seen import SeenWorkload
from portal.workloads.sights import Sight

BATCH = 500
FEW = 100
FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Observed:
    """How many workloads a look found new, changed, as they were, and no longer there."""

    new: int = 0
    changed: int = 0
    same: int = 0
    forgotten: int = 0


@dataclass(slots=True)
class _Batch:
    """Rows to write at the end, each kind at once."""

    workloads: list[Workload] = field(default_factory=list)
    new_pods: list[Pod] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    events: list[StageEvent] = field(default_factory=list)


@transaction.atomic
def observe(*, cluster_id: int, seen: Sequence[SeenWorkload], now: datetime) -> Observed:
    """Bring the rows in step with a whole look at a cluster's jobs; a repeat changes nothing.

    Workloads are known by uid. What is open here and not in the look was forgotten by the
    cluster: it ends where it was last seen, and its pods' intervals with it, as estimates.
    """
    found = Lookups(cluster_id=cluster_id, seen=seen, now=now)
    rows = _known(cluster_id, seen)
    new = [s for s in seen if s.uid not in rows and not (s.orphan and not s.pods)]
    rows |= {row.uid: row for row in _create(cluster_id, new, found, now)}
    fresh = {s.uid for s in new}
    changed = [
        s for s in seen if s.uid in rows and (s.uid in fresh or _differs(rows[s.uid], s, found))
    ]
    gone = _gone(rows, seen)
    _follow(changed, gone, rows, found, now)
    same = [row.pk for uid, row in rows.items() if row not in gone and uid not in fresh]
    _mark_seen(same, now)
    return Observed(
        new=len(new),
        changed=len(changed) - len(new),
        same=len(same) - len(changed) + len(new),
        forgotten=len(gone),
    )


def _known(cluster_id: int, seen: Sequence[SeenWorkload]) -> dict[str, Workload]:
    """The rows this look may touch: the open ones, and those that ended but are still shown."""
    of_cluster = Workload.objects.select_for_update().filter(cluster_id=cluster_id)
    rows = {row.uid: row for row in of_cluster.filter(state__in=OPEN_STATES)}
    others = [s.uid for s in seen if s.uid not in rows]
    for begin in range(0, len(others), BATCH):
        batch = others[begin : begin + BATCH]
        rows |= {row.uid: row for row in of_cluster.filter(uid__in=batch)}
    return rows


def _create(
    cluster_id: int, seen: Iterable[SeenWorkload], found: Lookups, now: datetime
) -> list[Workload]:
    rows = []
    for sight in seen:
        row = Workload(cluster_id=cluster_id, uid=sight.uid, seen_at=now)
        sights.copy_terms(row, sight, found)
        rows.append(row)
    return Workload.objects.bulk_create(rows, batch_size=BATCH)


def _differs(row: Workload, sight: SeenWorkload, found: Lookups) -> bool:
    return row.version != sight.version or (
        row.state in OPEN_STATES and row.team_id != found.teams.get(sight.namespace)
    )


def _gone(rows: dict[str, Workload], seen: Sequence[SeenWorkload]) -> list[Workload]:
    shown = {s.uid for s in seen}
    return [row for uid, row in rows.items() if uid not in shown]


def _follow(
    changed: Sequence[SeenWorkload],
    gone: Sequence[Workload],
    rows: dict[str, Workload],
    found: Lookups,
    now: datetime,
) -> None:
    """Write what changed, and close what the cluster forgot."""
    if not changed and not gone:
        return
    touched = [rows[s.uid].pk for s in changed] + [row.pk for row in gone]
    history = _history(touched)
    batch = _Batch()
    for sight in changed:
        row = rows[sight.uid]
        pods, events = history.get(row.pk, ([], []))
        result = sights.follow(Sight(row, sight, pods, events), found, now)
        batch.workloads.append(row)
        batch.new_pods += result.new_pods
        batch.pods += result.pods
        batch.events += result.events
    for row in gone:
        pods, events = history.get(row.pk, ([], []))
        batch.workloads.append(row)
        batch.pods += sights.close_unseen(pods, set())
        batch.events += _forget(row, pods)
    _write(batch)


def _history(pks: Sequence[int]) -> dict[int, tuple[list[Pod], list[StageEvent]]]:
    """Pods and events of these workloads, each in the order they were written."""
    history: dict[int, tuple[list[Pod], list[StageEvent]]] = {pk: ([], []) for pk in pks}
    for begin in range(0, len(pks), BATCH):
        batch = pks[begin : begin + BATCH]
        for pod in Pod.objects.filter(workload_id__in=batch).order_by("id"):
            history[pod.workload_id][0].append(pod)
        for event in StageEvent.objects.filter(workload_id__in=batch).order_by("id"):
            history[event.workload_id][1].append(event)
    return history


def _forget(row: Workload, pods: Sequence[Pod]) -> list[StageEvent]:
    """The cluster knows nothing of it any more: it ended, we cannot say how."""
    row.state = WorkloadState.CANCELLED
    row.ended_at = max([row.seen_at, *(pod.closed_at for pod in pods if pod.closed_at)])
    return [StageEvent(workload=row, at=row.ended_at, state=row.state, why=FORGOTTEN)]


def _write(batch: _Batch) -> None:
    _save(batch.workloads, sights.WORKLOAD_FIELDS)
    Pod.objects.bulk_create(batch.new_pods, batch_size=BATCH)
    _save(batch.pods, sights.POD_FIELDS)
    StageEvent.objects.bulk_create(batch.events, batch_size=BATCH)


def _save(rows: Sequence[Workload] | Sequence[Pod], fields: Sequence[str]) -> None:
    """Update rows: a few one by one, which is quicker than one statement of many cases."""
    if len(rows) > FEW:
        type(rows[0])._default_manager.bulk_update(rows, fields, batch_size=BATCH)
        return
    for row in rows:
        row.save(update_fields=fields)


def _mark_seen(pks: Sequence[int], now: datetime) -> None:
    """What was seen as it was is still so; its open pods hold their devices until now at least."""
    for begin in range(0, len(pks), BATCH):
        batch = pks[begin : begin + BATCH]
        Workload.objects.filter(pk__in=batch).update(seen_at=now)
        _open_pods(batch).update(seen_at=now)


def _open_pods(workload_ids: Sequence[int]) -> QuerySet[Pod]:
    return Pod.objects.filter(workload_id__in=workload_ids, closed_at__isnull=True)
