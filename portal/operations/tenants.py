"""The people of a simulated cluster put their reservations to use, as people would.

When a reservation opens, its team submits a job that names it, once; one in eight forgets to. The
cluster knows nothing of reservations: it sees a job with an annotation, as Kubernetes would.
"""

from datetime import datetime, timedelta

from portal.inventory.models import ClusterKind
from portal.kubernetes import ports
from portal.kubernetes.simulated import chance
from portal.kubernetes.simulated import tenants as simulated
from portal.kubernetes.simulated.records import Spec
from portal.reservations.models import Reservation, ReservationState
from portal.teams.models import User

FORGOTTEN = 0.12
SHORTEST = timedelta(minutes=20)


def use_open_reservations(*, now: datetime) -> int:
    """Submit a job for every open reservation that nobody uses yet; returns how many."""
    waiting = Reservation.objects.filter(
        state=ReservationState.ACTIVE, starts_at__lte=now, ends_at__gt=now + SHORTEST,
        pool__cluster__kind=ClusterKind.SIMULATED, workloads=None,
    ).select_related("team", "pool__cluster")  # fmt: skip
    used = [row for row in waiting if chance.share(row.pk, "forgets") >= FORGOTTEN]
    for row in used:
        path = ports.simulated_file(row.pool.cluster)
        ports.open_simulated(path).submit(_job(row, now))
    return len(used)


def _job(row: Reservation, now: datetime) -> Spec:
    """A training run over the whole reservation that ends a little before it does."""
    widest = max(row.pool.nodes.filter(removed_at=None).values_list("gpus", flat=True), default=1)
    per_node = row.gpus_per_node or next(n for n in range(widest, 0, -1) if row.gpus % n == 0)
    left = int((row.ends_at - now).total_seconds())
    part = chance.whole(row.pk, 70, 95, "length")
    people = User.objects.filter(requests__reservation_id=row.pk).values_list("username", flat=True)
    notes = {
        "class": "training",
        "reservation": str(row.pk),
        "duration": str(left),
        "user": next(iter(people), ""),
    }
    return Spec(
        name=f"reserved-{row.pk}", namespace=row.team.slug, pool=row.pool.name, gpus=per_node,
        tasks=row.gpus // per_node, work_seconds=left * part // 100, cpu_milli=per_node * 4000,
        memory_mib=per_node * 32_768, priority_class=simulated.guaranteed(row.pool.name),
        annotations={f"evenshare.io/{k}": v for k, v in notes.items() if v},
    )  # fmt: skip
