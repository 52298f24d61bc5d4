"""Writes of the room: what was seen of a cluster's jobs becomes rows, once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from portal.workloads import sights
from portal.workloads.lookups import Lookups
from portal.workloads.models import OPEN_STATES, Pod, StageEvent, Workload, WorkloadState
from portal.workloads.seen import SeenWorkload
from portal.workloads.sights import Changed, Sight

BATCH = 500
FORGOTTEN = "forgotten"
COLUMNS = ("uid", "pk", "version", "state", "team_id")


@dataclass(frozen=True, slots=True)
class Observed:
    """How many workloads a look found new, changed, as they were, and no longer there."""

    new: int = 0
    changed: int = 0
    same: int = 0
    forgotten: int = 0


class _Known(NamedTuple):
    """What must be known of a row to see whether a look says anything new of it."""

    pk: int
    version: str
    state: str
    team_id: int | None


@dataclass(slots=True)
class _Batch:
    """Rows to write at the end, each kind at once."""

    changed: list[Changed] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    events: list[StageEvent] = field(default_factory=list)


@transaction.atomic
def observe(
    *,
    cluster_id: int,
    seen: Sequence[SeenWorkload],
    now: datetime,
    scope: Collection[str] | None = None,
) -> Observed:
    """Bring the rows in step with a look at a cluster's jobs; a repeat changes nothing.

    Workloads are known by uid. What is open here and not in the look was forgotten by the
    cluster: it ends where it was last seen, and its pods' intervals with it, as estimates. A look
    is whole, or at the uids of `scope` alone; what is outside of that stays as it is.
    """
    found = Lookups(cluster_id=cluster_id, seen=seen, now=now)
    known = _known(cluster_id, seen) if scope is None else _among(cluster_id, scope)
    new = [s for s in seen if s.uid not in known and not (s.orphan and not s.pods)]
    changed = [s for s in seen if s.uid in known and _differs(known[s.uid], s, found)]
    shown = {s.uid for s in seen}
    gone = [row.pk for uid, row in known.items() if uid not in shown and row.state in OPEN_STATES]
    created = _create(cluster_id, new, found, now)
    rows = _rows([known[s.uid].pk for s in changed] + gone)
    batch = _Batch()
    _follow(new + changed, created | {row.uid: row for row in rows.values()}, found, now, batch)
    _forget([rows[pk] for pk in gone], found.seen_until, batch)
    _carry_on(batch)
    _write(batch)
    _mark_seen([known[uid].pk for uid in shown & known.keys()], now)
    return Observed(
        new=len(new),
        changed=len(changed),
        same=len(shown & known.keys()) - len(changed),
        forgotten=len(gone),
    )


def _known(cluster_id: int, seen: Sequence[SeenWorkload]) -> dict[str, _Known]:
    """The rows this look may touch: the open ones, and those that ended but are still shown."""
    of_cluster = Workload.objects.filter(cluster_id=cluster_id).order_by()
    rows = of_cluster.filter(state__in=OPEN_STATES).values_list(*COLUMNS)
    known = {uid: _Known(*rest) for uid, *rest in rows}
    return known | _among(cluster_id, [s.uid for s in seen if s.uid not in known])


def _among(cluster_id: int, uids: Collection[str]) -> dict[str, _Known]:
    """The rows of these uids, open or not."""
    of_cluster = Workload.objects.filter(cluster_id=cluster_id).order_by()
    known: dict[str, _Known] = {}
    asked = list(uids)
    for begin in range(0, len(asked), BATCH):
        rows = of_cluster.filter(uid__in=asked[begin : begin + BATCH]).values_list(*COLUMNS)
        known |= {uid: _Known(*rest) for uid, *rest in rows}
    return known


def _differs(row: _Known, sight: SeenWorkload, found: Lookups) -> bool:
    return row.version != sight.version or (
        row.state in OPEN_STATES and row.team_id != found.teams.get(sight.namespace)
    )


def _create(
    cluster_id: int, seen: Iterable[SeenWorkload], found: Lookups, now: datetime
) -> dict[str, Workload]:
    rows = []
    for sight in seen:
        row = Workload(cluster_id=cluster_id, uid=sight.uid, seen_at=now)
        sights.copy_terms(row, sight, found)
        rows.append(row)
    return {row.uid: row for row in Workload.objects.bulk_create(rows, batch_size=BATCH)}


def _rows(pks: Sequence[int]) -> dict[int, Workload]:
    rows: dict[int, Workload] = {}
    for begin in range(0, len(pks), BATCH):
        batch = Workload.objects.select_for_update(no_key=True).filter(
            pk__in=pks[begin : begin + BATCH]
        )
        rows |= {row.pk: row for row in batch.order_by()}
    return rows


def _follow(
    seen: Sequence[SeenWorkload],
    rows: dict[str, Workload],
    found: Lookups,
    now: datetime,
    batch: _Batch,
) -> None:
    """Put what is new or changed into the rows."""
    history = _history([rows[s.uid].pk for s in seen])
    for sight in seen:
        row = rows[sight.uid]
        pods, events = history[row.pk]
        result = sights.follow(Sight(row, sight, pods, events), found, now)
        batch.changed += result.changed
        batch.pods += result.new_pods
        batch.events += result.events


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


def _forget(rows: Sequence[Workload], until: datetime | None, batch: _Batch) -> None:
    """The cluster knows nothing of these any more: they ended, we cannot say how.

    All that is open was surely there `until` the last time the rows were in step.
    """
    history = _history([row.pk for row in rows])
    for row in rows:
        pods = history[row.pk][0]
        batch.changed += sights.close_unseen(pods, set(), until)
        last = max(row.seen_at, until or row.seen_at)
        ended_at = max([last, *(pod.closed_at for pod in pods if pod.closed_at)])
        was = sights.values_of(row, ("state", "ended_at"))
        row.state, row.ended_at = WorkloadState.CANCELLED, ended_at
        batch.changed.append(Changed(row, was))
        batch.events.append(StageEvent(workload=row, at=ended_at, state=row.state, why=FORGOTTEN))


def _carry_on(batch: _Batch) -> None:
    """A pod that changed owners is another job's from here on; the ledger has it only once."""
    left = {
        row.uid: row.closed_at
        for row, _ in batch.changed
        if isinstance(row, Pod) and row.estimated and row.scheduled_at is not None
    }
    for pod in batch.pods:
        pod.ledger_until = left.get(pod.uid)


def _write(batch: _Batch) -> None:
    """Write each row that changed, and of it the columns that did."""
    for row, was in batch.changed:
        fields = [name for name, value in was.items() if getattr(row, name) != value]
        if fields:
            row.save(update_fields=fields)
    Pod.objects.bulk_create(batch.pods, batch_size=BATCH)
    StageEvent.objects.bulk_create(batch.events, batch_size=BATCH)


def _mark_seen(pks: Sequence[int], now: datetime) -> None:
    """What was seen as it was is still so; its open pods hold their devices until now at least."""
    for begin in range(0, len(pks), BATCH):
        batch = pks[begin : begin + BATCH]
        Workload.objects.filter(pk__in=batch).update(seen_at=now)
        _open_pods(batch).update(seen_at=now)


def _open_pods(workload_ids: Sequence[int]) -> QuerySet[Pod]:
    return Pod.objects.filter(workload_id__in=workload_ids, closed_at__isnull=True)
