"""Undo the last sync of a cluster: the values it found are written back, shown before it is done.

Refused when the cluster has moved since: then what stands there is somebody's later work. What the
sync made anew goes; priority classes stay, since they cannot change and nobody need carry them. The
next sync would write the same again, so the sync of the cluster is paused by an undo.
"""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit, leases
from portal.common.errors import Conflict, Missing
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import applying, diff, runs, standing, syncing
from portal.kubernetes.applying import Outcome
from portal.kubernetes.diff import Change, Drifted, Write
from portal.kubernetes.models import Drift, SyncRun, SyncState, SyncWrite
from portal.kubernetes.places import PLACES
from portal.kubernetes.port import MANAGER, ClusterError, ClusterPort, Manifest, NotFound
from portal.kubernetes.ports import port_for

CHANGES = ("Node", "Namespace", "ResourceQuota")
"""Kinds whose fields may be written back."""
THERE = "metadata.name"
_STEP = re.compile(r"\[(?P<quoted>[^\]]+)\]|\.?(?P<plain>[^.\[\]]+)")
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Moved:
    """A field that is not as the sync left it."""

    kind: str
    namespace: str
    name: str
    field: str
    written: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Preview:
    """What an undo would do: what it writes, what it takes away, what stays, what has moved."""

    run: SyncRun
    writes: tuple[Write, ...]
    removes: tuple[Write, ...]
    stays: tuple[Key, ...]
    moved: tuple[Moved, ...]

    @property
    def is_possible(self) -> bool:
        """Whether there is something to do and nothing in the way."""
        return bool(self.writes or self.removes) and not self.moved


def preview(*, cluster_id: int, now: datetime) -> Preview:
    """Look at the cluster and say what an undo would do.

    Raises `Missing` for an unknown cluster, and `Conflict` when nothing is there to undo, the
    cluster is only observed, or it does not answer.
    """
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise Missing
    run = last_run(cluster)
    try:
        return _preview(port_for(cluster, now=now), run)
    except ClusterError as error:
        raise _no_answer(error) from error


def last_run(cluster: Cluster) -> SyncRun:
    """The run an undo would take back. Raises `Conflict`."""
    if cluster.mode == ClusterMode.OBSERVE:
        raise Conflict(_("This cluster is only observed: nothing is written to it."))
    run = SyncRun.objects.filter(cluster=cluster, changes__isnull=False).distinct().first()
    if run is None:
        raise Conflict(_("No sync has changed anything here yet."), code="nothing_to_undo")
    if run.undoes_id is not None:
        raise Conflict(_("The last sync has been undone already."), code="undone_already")
    if run.state == SyncState.RUNNING:
        raise Conflict(
            _("A sync of this cluster is at work. Try again in a moment."), code="sync_at_work"
        )
    return run


def _no_answer(error: ClusterError) -> Conflict:
    return Conflict(
        _("The cluster does not answer as it should: %(reason)s") % {"reason": error},
        code="cluster_refused",
    )


def _preview(port: ClusterPort, run: SyncRun) -> Preview:
    there = {diff.identity(item): item for item in syncing.look(port).objects}
    changed: dict[Key, list[SyncWrite]] = defaultdict(list)
    for row in run.changes.all():
        changed[row.kind, row.namespace, row.name].append(row)
    writes: list[Write] = []
    removes: list[Write] = []
    stays: list[Key] = []
    moved: list[Moved] = []
    for key, rows in changed.items():
        item = there.get(key)
        if key[0] not in CHANGES:
            stays.append(key)
        elif found := list(_moved(key, rows, item)):
            moved += found
        elif item is not None:
            write = _back(item, rows)
            (removes if _was_made(item, rows) else writes).append(write)
    return Preview(run, tuple(writes), tuple(removes), tuple(stays), tuple(moved))


def _moved(key: Key, rows: Iterable[SyncWrite], item: Manifest | None) -> Iterator[Moved]:
    """Fields that are not as the sync left them; of an object that is gone, the object."""
    if item is None:
        yield Moved(*key, THERE, key[2], None)
        return
    now = _fields(item)
    for row in rows:
        if row.field != THERE and now.get(row.field) != row.now:
            yield Moved(*key, row.field, row.now, now.get(row.field))


def _fields(item: Manifest) -> dict[str, Any]:
    return {diff.spelled(path)[: runs.FIELD]: value for path, value in diff.leaves(item)}


def _was_made(item: Manifest, rows: Sequence[SyncWrite]) -> bool:
    """Whether the sync made the object: nothing of it was there, and only we hold its spec."""
    if item["kind"] != "ResourceQuota" or any(row.was is not None for row in rows):
        return False
    others = (paths for manager, paths in diff.owned(item).items() if manager != MANAGER)
    made = {row.field for row in rows}
    return not any(path[0] == "spec" for paths in others for path in paths) and all(
        field in made for field in _fields(item) if field.startswith("spec.")
    )


def _back(item: Manifest, rows: Iterable[SyncWrite]) -> Write:
    """The object with our fields as they were before."""
    was = {row.field: row.was for row in rows}
    manifest = _bare(item)
    for path, value in _ours(item):
        before = was.pop(diff.spelled(path)[: runs.FIELD], value)
        if before is not None:
            _put(manifest, path, before)
    for field, value in was.items():
        if value is not None and field != THERE:
            _put(manifest, parsed(field), value)
    changes = tuple(Change(row.field, row.now, row.was) for row in rows)
    return Write(manifest, str(item["metadata"]["resourceVersion"]), changes)


def _bare(item: Manifest) -> dict[str, Any]:
    metadata = {"name": item["metadata"]["name"]}
    if item["metadata"].get("namespace"):
        metadata["namespace"] = item["metadata"]["namespace"]
    kind = str(item["kind"])
    return {"apiVersion": PLACES[kind].version, "kind": kind, "metadata": metadata}


def _ours(item: Manifest) -> Iterator[tuple[diff.Path, Any]]:
    found = dict(diff.leaves(item))
    for path in diff.owned_leaves(diff.owned(item).get(MANAGER, ()), found):
        yield path, found[path]


def parsed(field: str) -> diff.Path:
    """The path of a field as `diff.spelled` writes it."""
    return tuple(step["quoted"] or step["plain"] for step in _STEP.finditer(field))


def _put(manifest: dict[str, Any], path: diff.Path, value: Any) -> None:
    inner = manifest
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
    inner[path[-1]] = value


def undo(*, cluster_id: int, run_id: int, actor_id: int | None, now: datetime) -> SyncRun:
    """Write back what the last sync found, and pause the sync; gives the run that did so.

    `run_id` is the sync the asker was shown. Raises `Missing` and `Conflict` as `preview` does,
    `Conflict` also when a later sync came in between, the cluster has moved, or nothing is left to
    do.
    """
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise Missing
    with standing.writing(cluster_id=cluster_id) as lease:
        run = last_run(cluster)
        if run.pk != run_id:
            raise Conflict(
                _("Another sync came in between. Look again, then undo."), code="changed_meanwhile"
            )
        try:
            port = port_for(cluster, now=now)
            found = _preview(port, run)
        except ClusterError as error:
            raise _no_answer(error) from error
        _refuse(found)
        return _undo(port, found, lease, actor_id, now)


def _refuse(found: Preview) -> None:
    if found.moved:
        first = found.moved[0]
        raise Conflict(
            _(
                "The cluster has moved since: %(count)s fields are not as the sync left them, "
                "the first is %(field)s of %(kind)s %(name)s. Nothing was written."
            )
            % {"count": len(found.moved), "field": first.field, "kind": first.kind,
               "name": first.name},
            code="cluster_moved", details={"moved": len(found.moved)},
        )  # fmt: skip
    if not found.is_possible:
        raise Conflict(_("Nothing of this sync can be undone."), code="nothing_to_undo")


def _undo(
    port: ClusterPort, found: Preview, lease: leases.Held, actor_id: int | None, now: datetime
) -> SyncRun:
    """Pause, say what is meant, write it, say what became of it."""
    begun = time.monotonic()
    run = _begin(found, lease, actor_id, now)
    outcome = Outcome(drifts=_open_drift(run.cluster_id))
    tick = syncing.newest_tick(run.cluster_id)
    applying.apply(
        port, found.writes, outcome, fence=tick.fence if tick else 0, writers=1,
        check=partial(leases.keep, lease),
    )  # fmt: skip
    if not outcome.failure:
        _remove(port, found.removes, outcome, lease)
    took = int((time.monotonic() - begun) * 1000)
    return _end(run, outcome, actor_id, now, took, lease)


@transaction.atomic
def _begin(found: Preview, lease: leases.Held, actor_id: int | None, now: datetime) -> SyncRun:
    cluster_id = found.run.cluster_id
    standing.pause(
        cluster_id=cluster_id, reason=_("Sync %(id)s was undone.") % {"id": found.run.pk},
        actor_id=actor_id, now=now,
    )  # fmt: skip
    run = runs.begin(
        cluster_id=cluster_id, tick_id=found.run.tick_id or 0,
        writes=[*found.writes, *found.removes], now=now, lease=lease,
    )  # fmt: skip
    run.undoes = found.run
    run.save(update_fields=["undoes"])
    return run


def _open_drift(cluster_id: int) -> list[Drifted]:
    """What is known to differ stays so: an undo looks for nothing new."""
    rows = Drift.objects.filter(cluster_id=cluster_id, closed_at__isnull=True)
    return [
        Drifted(row.kind, row.namespace, row.name, row.field, row.wanted, row.found, row.manager)
        for row in rows
    ]


def _remove(
    port: ClusterPort, removes: Iterable[Write], outcome: Outcome, lease: leases.Held
) -> None:
    """Take away what the sync made."""
    for write in removes:
        leases.keep(lease)
        try:
            port.delete(write.kind, write.namespace, write.name)
        except NotFound:
            outcome.note(write, None)
        except ClusterError as error:
            outcome.note(write, error)
        else:
            outcome.note(write, None)


@transaction.atomic
def _end(
    run: SyncRun, outcome: Outcome, actor_id: int | None, now: datetime, took_ms: int,
    lease: leases.Held,
) -> SyncRun:  # fmt: skip
    done = runs.end(run, outcome, now=now, took_ms=took_ms, lease=lease)
    data: Mapping[str, object] = {
        "run": run.pk, "undoes": run.undoes_id, "objects": len(outcome.done),
        "refused": len(outcome.refused),
    }  # fmt: skip
    audit.record(
        actor_id=actor_id, action="kubernetes.sync_undone", target_type="cluster",
        target_id=run.cluster_id, data=data,
    )  # fmt: skip
    return done
