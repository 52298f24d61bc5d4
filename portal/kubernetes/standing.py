"""How much the portal does in a cluster now: its mode, and whether its sync rests.

While a sync rests nothing is written to the cluster; drift is still looked for. An undo lets it
rest, since the next sync would write the same again; an admin lets it go on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit, leases
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import rights
from portal.kubernetes.models import SyncStanding
from portal.kubernetes.port import ClusterError
from portal.kubernetes.ports import port_for

LADDER = (ClusterMode.OBSERVE, ClusterMode.QUOTA, ClusterMode.RECLAIM, ClusterMode.ADMISSION)
"""From the least to the most the portal does; one step up at a time."""
LONGEST_REASON = 200


def is_paused(*, cluster_id: int) -> bool:
    """Whether nothing may be written to the cluster now."""
    return SyncStanding.objects.filter(cluster_id=cluster_id, paused_at__isnull=False).exists()


def refuse_while_paused(*, cluster_id: int) -> None:
    """Raise `Conflict` where the sync rests: no single write is let through either."""
    if is_paused(cluster_id=cluster_id):
        raise Conflict(
            _("The sync of this cluster is paused. Resume it first."), code="sync_paused"
        )


@contextmanager
def writing(*, cluster_id: int) -> Iterator[leases.Held]:
    """Be the only one who writes to the cluster. Raises `Conflict` while a sync is at work."""
    with leases.holding(name=f"sync-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
        if lease is None:
            raise Conflict(
                _("A sync of this cluster is at work. Try again in a moment."), code="sync_at_work"
            )
        yield lease


@transaction.atomic
def mark_checked(*, cluster_id: int, now: datetime, real_now: datetime) -> None:
    """Note that a sync went through; a heartbeat, not a change, so without audit."""
    SyncStanding.objects.update_or_create(
        cluster_id=cluster_id, defaults={"checked_at": now, "checked_real_at": real_now}
    )


@transaction.atomic
def pause(*, cluster_id: int, reason: str, actor_id: int | None, now: datetime) -> None:
    """Let the sync of a cluster rest. Saying it twice changes nothing. Raises `Missing`."""
    row = _locked(cluster_id)
    if row.paused_at is not None:
        return
    row.paused_at, row.paused_by_id = now, actor_id
    row.pause_reason = reason.strip()[:LONGEST_REASON]
    row.save(update_fields=["paused_at", "paused_by_id", "pause_reason"])
    audit.record(
        actor_id=actor_id, action="kubernetes.sync_paused", target_type="cluster",
        target_id=cluster_id, data={"reason": row.pause_reason},
    )  # fmt: skip


@transaction.atomic
def resume(*, cluster_id: int, actor_id: int | None, now: datetime) -> None:
    """Let the sync go on; the next one writes what the last tick wants. Raises `Missing`."""
    row = _locked(cluster_id)
    if row.paused_at is None:
        return
    rested = int((now - row.paused_at).total_seconds())
    row.paused_at, row.paused_by_id, row.pause_reason = None, None, ""
    row.save(update_fields=["paused_at", "paused_by_id", "pause_reason"])
    audit.record(
        actor_id=actor_id, action="kubernetes.sync_resumed", target_type="cluster",
        target_id=cluster_id, data={"rested_seconds": rested},
    )  # fmt: skip


def change_mode(
    *, cluster_id: int, was: ClusterMode, mode: ClusterMode, actor_id: int | None, now: datetime
) -> None:
    """Look whether our account may do what a mode needs, then set it; raises what the two do."""
    refuse_without_rights(cluster_id=cluster_id, mode=mode, now=now)
    set_mode(cluster_id=cluster_id, was=was, mode=mode, actor_id=actor_id)


def refuse_without_rights(*, cluster_id: int, mode: ClusterMode, now: datetime) -> None:
    """Raise `Conflict` where our account lacks what a higher mode needs, or nobody can tell."""
    row = Cluster.objects.filter(pk=cluster_id).first()
    if row is None or LADDER.index(mode) <= LADDER.index(ClusterMode(row.mode)):
        return
    try:
        denied = port_for(row, now=now).denied(rights.needed(mode))
    except ClusterError as error:
        raise Conflict(
            _("The cluster cannot be asked what our account may do: %(reason)s")
            % {"reason": error},
            code="cluster_refused",
        ) from error
    if denied:
        raise Conflict(
            _("The account may not %(rights)s. Apply deploy/kubernetes/%(mode)s.")
            % {"rights": ", ".join(map(str, denied)), "mode": mode.value},
            code="rights_missing", details={"rights": [str(right) for right in denied]},
        )  # fmt: skip


@transaction.atomic
def set_mode(*, cluster_id: int, was: ClusterMode, mode: ClusterMode, actor_id: int | None) -> None:
    """Let the portal do more or less in a cluster: any way down, one step up.

    `was` is the mode the asker saw. Raises `Missing`, `Conflict` when it is another by now, and
    `Invalid` for a step that leaves one out.
    """
    row = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
    if row is None:
        raise Missing
    if row.mode != was:
        raise Conflict(
            _("The mode was changed meanwhile: it is %(mode)s. Look again, then choose.")
            % {"mode": ClusterMode(row.mode).label},
            code="changed_meanwhile",
        )
    if LADDER.index(mode) > LADDER.index(was) + 1:
        step = LADDER[LADDER.index(was) + 1]
        raise Invalid(
            _("A cluster goes up one mode at a time. The next one is %(mode)s.")
            % {"mode": step.label},
            code="one_step_up",
            fields={"mode": str(step.value)},
        )
    inventory.change_cluster(
        cluster_id=cluster_id, mode=mode, settings=row.settings,
        stale_after_seconds=row.stale_after_seconds, actor_id=actor_id,
    )  # fmt: skip


def _locked(cluster_id: int) -> SyncStanding:
    """The cluster's row, locked until commit."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        raise Missing
    SyncStanding.objects.get_or_create(cluster_id=cluster_id)
    return SyncStanding.objects.select_for_update(no_key=True).get(cluster_id=cluster_id)
