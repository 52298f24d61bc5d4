"""Gives back reservations that nobody came for, so that unused ones block no others.

A pool says how long after its beginning one may stay empty. A job that waits in it, or a pod of
the team's that is counted to it, means somebody came.
"""

from datetime import datetime, timedelta

from portal.common.errors import Refusal
from portal.reservations import services as reservations
from portal.reservations.models import BookingRule, Reservation, ReservationState
from portal.workloads.models import ChargedTo, Pod, Workload


def give_back_unused(*, now: datetime) -> int:
    """Give back what stayed empty beyond its pool's grace; how many. Twice is once."""
    given = 0
    rules = BookingRule.objects.filter(grace_minutes__isnull=False)
    for pool_id, minutes in rules.values_list("pool_id", "grace_minutes"):
        due = Reservation.objects.filter(
            pool_id=pool_id, state=ReservationState.ACTIVE, ends_at__gt=now,
            starts_at__lte=now - timedelta(minutes=minutes or 0),
        ).order_by("id")  # fmt: skip
        given += sum(_give_back(row, now) for row in due if not _is_used(row))
    return given


def _is_used(row: Reservation) -> bool:
    if Workload.objects.filter(reservation_id=row.pk).exists():
        return True
    counted = Pod.objects.filter(
        workload__team_id=row.team_id, node__pool_id=row.pool_id, charged_to=ChargedTo.RESERVED
    )
    return (
        counted.filter(closed_at__isnull=True).exists()
        or counted.filter(closed_at__gt=row.starts_at).exists()
    )


def _give_back(row: Reservation, now: datetime) -> bool:
    """One that was ended meanwhile is not given back again."""
    try:
        reservations.give_back(reservation_id=row.pk, actor_id=None, now=now, why="no_show")
    except Refusal:
        return False
    return True
