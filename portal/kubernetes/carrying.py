"""What a tick decided of jobs, carried out on the cluster: who makes room first, then who starts.

Comes after the quotas of the same tick, under the same lease. Nothing is asked where the sync
rests, where the mode does not, or by a tick that is not the newest or too old to act upon.
"""

from dataclasses import dataclass
from datetime import datetime

from portal.common import leases
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import standing, syncing
from portal.kubernetes.admitting import choosing, following, namespaces, starting
from portal.kubernetes.admitting.asking import Asker, Line
from portal.kubernetes.models import Stop
from portal.kubernetes.port import ClusterError
from portal.kubernetes.ports import port_for
from portal.kubernetes.reclaiming import opening, overdue, stopping
from portal.scheduling.models import Tick, TickState
from portal.workloads import admissions

ACTS = (ClusterMode.RECLAIM, ClusterMode.ADMISSION)


@dataclass(frozen=True, slots=True)
class Carried:
    """What the cluster took, field by field; `error` says why it was not reached to the end."""

    lines: tuple[Line, ...] = ()
    error: str = ""

    @property
    def asked(self) -> int:
        """How many fields changed."""
        return len(self.lines)


def carry_out(*, cluster_id: int, now: datetime, lease: leases.Held | None = None) -> Carried:
    """Stop and start what the newest tick says. Safe to repeat: a repeat asks nothing anew.

    With a lease, no further ask is begun once somebody else has taken it: `leases.Fenced` is
    raised.
    """
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = _tick_to_act_on(cluster)
    if tick is None:
        return Carried()
    asker: Asker | None = None
    try:
        asker = Asker(
            port_for(cluster, now=now), tick.pk, tick.fence, now, lease, admits=_admits(cluster)
        )
        admissions.end_of_closed(cluster_id=cluster_id, now=now)
        opening.settle(cluster, tick, now)
        _all(asker, cluster, tick)
    except ClusterError as error:
        # What was asked before stands in the rows; the next sync finds the rest to do.
        return Carried(tuple(asker.lines) if asker else (), str(error))
    return Carried(tuple(asker.lines))


def rehearse(*, cluster_id: int, now: datetime) -> list[Line]:
    """What would be asked, field by field; nothing is asked or written. Raises `ClusterError`."""
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = _tick_to_act_on(cluster)
    if tick is None:
        return []
    asker = Asker(
        port_for(cluster, now=now), tick.pk, tick.fence, now, rehearses=True,
        admits=_admits(cluster),
    )  # fmt: skip
    _all(asker, cluster, tick)
    return asker.lines


def _admits(cluster: Cluster) -> bool:
    return cluster.mode == ClusterMode.ADMISSION


def _tick_to_act_on(cluster: Cluster) -> Tick | None:
    """The newest tick, where it decided something, on a picture that is still young."""
    if cluster.mode not in ACTS or standing.is_paused(cluster_id=cluster.pk):
        return None
    ticks = Tick.objects.filter(cluster=cluster).defer("snapshot")
    tick = ticks.order_by("-at", "-id").first()
    if tick is None or tick.state != TickState.DONE:
        return None
    return None if syncing.too_old(cluster, tick) else tick


def _all(asker: Asker, cluster: Cluster, tick: Tick) -> None:
    """1. Who makes room. 2. Who was let start and did not. 3. Who starts now."""
    for row in _stops(asker, cluster, tick):
        stopping.stop(asker, row)
        if row.pk:
            overdue.hurry(asker, row)
    following.follow(asker, cluster)
    for due in choosing.due(cluster=cluster, tick=tick, now=asker.now):
        starting.start(asker, due)
    if asker.admits:
        following.adopt(asker, cluster)
        namespaces.tell(asker, cluster)


def _stops(asker: Asker, cluster: Cluster, tick: Tick) -> list[Stop]:
    """The open stops; a rehearsal adds those it would open."""
    rows = Stop.objects.filter(workload__cluster=cluster, closed_at__isnull=True)
    found = list(rows.select_related("workload__pool").order_by("id"))
    if asker.rehearses:
        known = {row.workload_id for row in found}
        found += [
            Stop(workload=row.workload, tick_id=tick.pk, why=row.reason, opened_at=asker.now,
                 tasks=row.detail.get("tasks"))
            for row in opening.victims(cluster)
            if row.workload_id not in known
        ]  # fmt: skip
    return found
