"""Take a field back that somebody else holds: the one write that uses force, and only when told."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Missing
from portal.inventory.models import ClusterMode
from portal.kubernetes import diff, standing, syncing
from portal.kubernetes.models import Drift
from portal.kubernetes.port import MANAGER, ClusterError
from portal.kubernetes.ports import port_for


def take_over(*, drift_id: int, actor_id: int | None, now: datetime) -> None:
    """Write the object of a drift as the last tick wants it, whoever holds its fields.

    Raises `Missing` for a drift that is closed already, and `Conflict` when the cluster is only
    observed or its sync paused, somebody else writes to it now, nothing is wanted of the object any
    more, or the cluster refuses.
    """
    drift = Drift.objects.select_related("cluster").filter(pk=drift_id, closed_at=None).first()
    if drift is None:
        raise Missing
    if drift.cluster.mode == ClusterMode.OBSERVE:
        raise Conflict(_("This cluster is only observed. Change its mode, then take over."))
    standing.refuse_while_paused(cluster_id=drift.cluster_id)
    with standing.writing(cluster_id=drift.cluster_id):
        key = _write(drift, now)
    _close(drift, key, actor_id, now)


def _write(drift: Drift, now: datetime) -> tuple[str, str, str]:
    """Apply the object as it is wanted; gives which it is."""
    tick = syncing.newest_tick(drift.cluster_id)
    key = (drift.kind, drift.namespace, drift.name)
    try:
        port = port_for(drift.cluster, now=now)
        wanted = syncing.wanted(port, cluster_id=drift.cluster_id, tick=tick, now=now)
        manifest = next((item for item in wanted if diff.identity(item) == key), None)
        if manifest is None:
            raise Conflict(_("Nothing is wanted of this object any more. Look again after a sync."))
        port.apply(manifest, manager=MANAGER, fence=tick.fence if tick else None, force=True)
    except ClusterError as error:
        raise Conflict(
            _("The cluster refused: %(reason)s") % {"reason": error}, code="cluster_refused"
        ) from error
    return key


@transaction.atomic
def _close(drift: Drift, key: tuple[str, str, str], actor_id: int | None, now: datetime) -> None:
    """All of the object is as wanted now."""
    kind, namespace, name = key
    of_object = Drift.objects.filter(
        cluster_id=drift.cluster_id, kind=kind, namespace=namespace, name=name, closed_at=None
    )
    fields = sorted(of_object.values_list("field", "manager"))
    of_object.update(closed_at=now)
    audit.record(
        actor_id=actor_id, action="kubernetes.taken_over", target_type="cluster",
        target_id=drift.cluster_id,
        data={"kind": kind, "namespace": namespace, "name": name,
              "fields": [list(pair) for pair in fields]},
    )  # fmt: skip
