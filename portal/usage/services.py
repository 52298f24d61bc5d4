"""Writes of the room: closed intervals into the ledger, and corrections as further rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet

from portal.usage import appending
from portal.usage.appending import SECOND, Row
from portal.usage.cells import cells, floor
from portal.usage.models import LedgerEntry
from portal.workloads.models import Pod

BATCH = 500


@transaction.atomic
def close_cells(*, cluster_id: int, now: datetime) -> int:
    """Append what every pod held up to `now`, cut at the grid; a second call adds nothing.

    An open interval is closed up to the last grid line at which the pod was surely still seen, a
    closed one up to its end. A pod that turns out to have ended earlier than the ledger says is
    corrected. Returns how many rows were appended.
    """
    rows: list[Row] = []
    until_of: dict[datetime, list[int]] = {}
    late: list[Pod] = []
    for pod in _unsettled(cluster_id):
        if pod.closed_at is not None and pod.ledger_until and pod.closed_at < pod.ledger_until:
            late.append(pod)
            continue
        until = pod.closed_at or floor(min(now, pod.seen_at))
        rows += _rows(pod, until)
        until_of.setdefault(until, []).append(pod.pk)
    appended = appending.append(rows)
    for until, pks in until_of.items():
        _settle(pks, until)
    return appended + sum(_cut_back(pod) for pod in late)


def _unsettled(cluster_id: int) -> QuerySet[Pod]:
    """Pods on a node whose interval the ledger does not have to its end."""
    return (
        Pod.objects.filter(workload__cluster_id=cluster_id, scheduled_at__isnull=False)
        .filter(node__isnull=False)
        .filter(
            Q(closed_at__isnull=True)
            | Q(ledger_until__isnull=True)
            | ~Q(ledger_until=F("closed_at"))
        )
        .select_related("workload", "node__pool__gpu_model")
        .order_by("id")
    )


def _rows(pod: Pod, until: datetime) -> Iterator[Row]:
    """The cells of a pod from where the ledger ends up to an instant."""
    begins = pod.ledger_until or pod.scheduled_at
    assert begins is not None
    for from_at, to_at in cells(begins, until):
        yield _row(pod, from_at, to_at)


def _row(pod: Pod, from_at: datetime, to_at: datetime) -> Row:
    work, node = pod.workload, pod.node
    assert node is not None
    return Row(
        cluster_id=work.cluster_id,
        pod_uid=pod.uid,
        from_at=from_at,
        to_at=to_at,
        revision=0,
        sign=1,
        workload_id=work.pk,
        reservation_id=work.reservation_id,
        team_id=work.team_id,
        user_id=work.user_id,
        pool_id=node.pool_id,
        node_id=node.pk,
        gpu_model=node.pool.gpu_model.name,
        gpu_milli=pod.gpu_milli,
        cpu_milli=pod.cpu_milli,
        memory_mib=pod.memory_mib,
        charged_to=pod.charged_to,
        seconds=(to_at - from_at) // SECOND,
        source="pod",
        estimated=pod.estimated,
    )


def _settle(pks: Sequence[int], until: datetime) -> None:
    for begin in range(0, len(pks), BATCH):
        batch = pks[begin : begin + BATCH]
        Pod.objects.filter(pk__in=batch).update(ledger_until=until)


@transaction.atomic
def charge(*, charges: Mapping[int, str], now: datetime) -> int:
    """Let pods be charged to something else from `now` on; pod id → charged_to.

    What they held until then goes into the ledger under the charge it had: up to `now`, or to
    where they were last seen if that is earlier. Returns how many pods changed.
    """
    pods = Pod.objects.select_for_update(of=("self",)).filter(pk__in=charges)
    changed = [
        pod
        for pod in pods.select_related("workload", "node__pool__gpu_model")
        if pod.charged_to != charges[pod.pk]
    ]
    appending.append(
        row for pod in changed if _holds(pod) for row in _rows(pod, _known_until(pod, now))
    )
    for pod in changed:
        if _holds(pod):
            pod.ledger_until = max(_known_until(pod, now), pod.ledger_until or pod.created_at)
        pod.charged_to = charges[pod.pk]
        pod.save(update_fields=["charged_to", "ledger_until"])
    return len(changed)


def _holds(pod: Pod) -> bool:
    return pod.scheduled_at is not None and pod.node_id is not None


def _known_until(pod: Pod, now: datetime) -> datetime:
    """Up to when it is certain that the pod held its devices, in whole seconds."""
    until = pod.closed_at or min(now, pod.seen_at)
    return max(until.replace(microsecond=0), pod.scheduled_at or until)


@transaction.atomic
def correct(*, cluster_id: int, pod_uid: str, seen: Iterable[Row]) -> int:
    """Put another sight of a pod into the ledger: what differs is negated and written anew.

    `seen` are the rows as they should stand, each within one grid cell; their revision and sign
    do not count. Rows that stand and are not among them are negated. Returns how many rows were
    appended.
    """
    standing = {row.from_at: row for row in _standing(cluster_id, pod_uid)}
    wanted = {row.from_at: row._replace(revision=0, sign=1) for row in seen}
    newest = dict(
        LedgerEntry.objects.filter(cluster_id=cluster_id, pod_uid=pod_uid)
        .values("from_at")
        .annotate(newest=Max("revision"))
        .values_list("from_at", "newest")
    )
    rows: list[Row] = []
    for from_at in sorted(standing.keys() | wanted.keys()):
        was, then = standing.get(from_at), wanted.get(from_at)
        if was is not None and then is not None and was._replace(revision=0) == then:
            continue
        next_revision = newest.get(from_at, -1) + 1
        if was is not None:
            rows.append(was._replace(revision=next_revision, sign=-1))
            next_revision += 1
        if then is not None:
            rows.append(then._replace(revision=next_revision))
    return appending.append(rows)


def _standing(cluster_id: int, pod_uid: str) -> list[Row]:
    """The rows of a pod that count: the newest of each start, unless it was negated."""
    newest: dict[datetime, LedgerEntry] = {}
    of_pod = LedgerEntry.objects.filter(cluster_id=cluster_id, pod_uid=pod_uid)
    for entry in of_pod.order_by("revision"):
        newest[entry.from_at] = entry
    return [_as_row(entry) for entry in newest.values() if entry.sign == 1]


def _as_row(entry: LedgerEntry) -> Row:
    return Row(**{name: getattr(entry, name) for name in Row._fields})


def _cut_back(pod: Pod) -> int:
    """The ledger has more of a pod than it turned out to hold: keep what is before its end."""
    assert pod.closed_at is not None
    kept = [
        row if row.to_at <= pod.closed_at else _shortened(row, pod.closed_at)
        for row in _standing(pod.workload.cluster_id, pod.uid)
        if row.from_at < pod.closed_at
    ]
    appended = correct(cluster_id=pod.workload.cluster_id, pod_uid=pod.uid, seen=kept)
    _settle([pod.pk], pod.closed_at)
    return appended


def _shortened(row: Row, until: datetime) -> Row:
    return row._replace(to_at=until, seconds=(until - row.from_at) // SECOND)
