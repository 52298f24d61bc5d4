"""All that collecting, deciding and syncing leave behind, as plain values to compare.

Left out is only what real time or the number of tries is in: ids of rows, fences, how long it took,
ticks and syncs as such. Every field that was written to the cluster stands in, and is told once: of
a sync that died, what it wrote; of the one after it, the rest. A job is named by its uid, since a
transaction that was undone uses up an id.
"""

import json
import re
from typing import Any

from django.db.models import Model, Sum

from portal.common import audit
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, Commitment, Node, NodeOutage
from portal.kubernetes.models import Drift, ReadMark, SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import FENCE
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.reservations.models import Reservation
from portal.scheduling.models import Decision, Share, Standing, Tick, TickState
from portal.usage.models import DecayedUse, LedgerEntry
from portal.workloads.models import Pod, StageEvent, Workload

TABLES: dict[type[Model], tuple[str, ...]] = {
    Cluster: ("seen_real_at",),
    Commitment: (), Decision: ("tick_id",), DecayedUse: (), Drift: (), LedgerEntry: (), Node: (),
    NodeOutage: (), Pod: (), ReadMark: (), Reservation: (), StageEvent: (),
    Standing: ("tick_id",), SyncWrite: ("run_id",), Workload: (),
    AuditEvent: ("at", "hash", "previous_hash"),
}  # fmt: skip
"""Table → columns that two good runs may differ in, besides their ids."""


def of(port: SimulatedCluster) -> dict[str, Any]:
    """The rows, table by table, and the objects in the cluster."""
    assert audit.first_broken() is None
    assert not Tick.objects.exclude(state=TickState.DONE).exists()
    assert not SyncRun.objects.filter(state=SyncState.RUNNING).exists()
    found: dict[str, Any] = {
        model.__name__: _rows(model, {"id", *left_out}) for model, left_out in TABLES.items()
    }
    newest = Tick.objects.order_by("-id")[0]
    shares = Share.objects.filter(tick=newest).values()
    found["Share"] = sorted(_plain(dict(row), {"id", "tick_id"}) for row in shares)
    for listing in (port.quotas(), port.priority_classes(), port.namespaces()):
        for item in listing.items:
            metadata = item["metadata"]
            name = f"{item['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
            notes = {k: v for k, v in metadata.get("annotations", {}).items() if k != FENCE}
            found[name] = (item.get("spec"), item.get("value"), metadata.get("labels"), notes)
    found["books"] = port.books()
    found["objects written"] = SyncRun.objects.aggregate(sum=Sum("writes"))["sum"]
    return found


def _rows(model: type[Model], left_out: set[str]) -> list[str]:
    return sorted(_plain(row, left_out) for row in model._default_manager.values())


def _plain(row: dict[str, Any], left_out: set[str]) -> str:
    kept = {name: value for name, value in row.items() if name not in left_out}
    uids = {str(pk): uid for pk, uid in Workload.objects.values_list("id", "uid")}
    if "workload_id" in kept:
        kept["workload_id"] = uids[str(kept["workload_id"])]
    if "detail" in kept:
        text = json.dumps(kept["detail"], sort_keys=True)
        kept["detail"] = re.sub(r'"w([0-9]+)"', lambda found: uids[found[1]], text)
    return repr(kept)
