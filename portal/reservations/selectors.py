"""Reads of the calendar's rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from portal.common.errors import Missing
from portal.reservations.models import Reservation, ReservationState, Source

TOOK_PLACE = (
    ReservationState.PENDING,
    ReservationState.ACTIVE,
    ReservationState.COMPLETED,
    ReservationState.RELEASED,
)
"""States in which a reservation holds, or held, its GPUs from `starts_at` until `ends_at`."""


@dataclass(frozen=True, slots=True)
class ReservationRow:
    """One reservation. `purpose` and `created_by_id` are for those with a role in its branch."""

    id: int
    team_id: int
    pool_id: int
    gpus: int
    gpus_per_node: int | None
    source: Source
    starts_at: datetime
    ends_at: datetime
    planned_ends_at: datetime
    zone: str
    state: ReservationState
    purpose: str
    request_id: int | None
    created_by_id: int | None
    created_at: datetime

    def open_at(self, at: datetime) -> bool:
        """Whether it holds GPUs at an instant."""
        return self.state in TOOK_PLACE and self.starts_at <= at < self.ends_at


def list_reservations(
    *,
    pool_id: int | None = None,
    from_at: datetime | None = None,
    to_at: datetime | None = None,
    team_ids: Iterable[int] | None = None,
    states: Iterable[ReservationState] = TOOK_PLACE,
) -> list[ReservationRow]:
    """Reservations that meet [from_at, to_at), by start; cancelled ones only when asked for."""
    rows = Reservation.objects.filter(state__in=list(states))
    if pool_id is not None:
        rows = rows.filter(pool_id=pool_id)
    if from_at is not None:
        rows = rows.filter(ends_at__gt=from_at)
    if to_at is not None:
        rows = rows.filter(starts_at__lt=to_at)
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    return [row_of(r) for r in rows.order_by("starts_at", "id")]


def query_reservations(
    *,
    pool_id: int | None = None,
    team_id: int | None = None,
    state: str | None = None,
    from_at: datetime | None = None,
    to_at: datetime | None = None,
) -> QuerySet[Reservation]:
    """Reservations for a list that is paged by the database, newest start first."""
    wanted = {
        "pool_id": pool_id,
        "team_id": team_id,
        "state": state,
        "ends_at__gt": from_at,
        "starts_at__lt": to_at,
    }
    chosen = {name: value for name, value in wanted.items() if value is not None}
    return Reservation.objects.filter(**chosen).order_by("-starts_at", "-id")


def list_open(*, at: datetime, cluster_id: int | None = None) -> list[ReservationRow]:
    """Reservations that hold GPUs at an instant, by the clock, whatever the last tick has moved."""
    rows = Reservation.objects.filter(
        state__in=TOOK_PLACE, starts_at__lte=at, ends_at__gt=at
    ).order_by("starts_at", "id")
    if cluster_id is not None:
        rows = rows.filter(pool__cluster_id=cluster_id)
    return [row_of(r) for r in rows]


def get_reservation(*, reservation_id: int) -> ReservationRow:
    """One reservation. Raises `Missing`."""
    row = Reservation.objects.filter(pk=reservation_id).first()
    if row is None:
        raise Missing
    return row_of(row)


def row_of(row: Reservation) -> ReservationRow:
    """A reservation as a frozen answer."""
    return ReservationRow(
        id=row.pk, team_id=row.team_id, pool_id=row.pool_id, gpus=row.gpus,
        gpus_per_node=row.gpus_per_node, source=Source(row.source), starts_at=row.starts_at,
        ends_at=row.ends_at, planned_ends_at=row.planned_ends_at, zone=row.zone,
        state=ReservationState(row.state), purpose=row.purpose, request_id=row.request_id,
        created_by_id=row.created_by_id, created_at=row.created_at,
    )  # fmt: skip
