"""The moves of a reservation. Every one is a filtered update: who loses gets a refusal.

What is past never changes: a reservation that has begun can only end early, one that is over
stays as it was.
"""

import zoneinfo
from dataclasses import asdict
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory import services as inventory
from portal.inventory.models import CommitmentKind
from portal.quotas import bounds
from portal.reservations import refusals, rules
from portal.reservations.models import (
    HOLDING,
    MOVES,
    BookingRule,
    Reservation,
    ReservationState,
    Source,
)
from portal.reservations.rules import Rules
from portal.teams.models import Team

SECOND = timedelta(seconds=1)
MOST = 1_000_000


@transaction.atomic
def hold(
    *,
    team_id: int,
    pool_id: int,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime,
    zone: str,
    actor_id: int | None,
    now: datetime,
    gpus_per_node: int | None = None,
    source: Source = Source.POOL,
    purpose: str = "",
    request_id: int | None = None,
) -> Reservation:
    """Put a reservation on the calendar together with what it promises, or refuse.

    The pool's rules bind whoever asks, whoever agreed. The same `request_id` again gives the reservation it already became. Raises `Invalid` for
    what makes no sense as asked, `Missing` for an unknown team or pool, `Conflict` "above_limit",
    "guarantee_exceeded" or "overcommitted" with the numbers of the instant that fails.
    """
    inventory.lock_pool(pool_id=pool_id)
    already = _already(request_id)
    if already is not None:
        return already
    _check_ask(gpus, gpus_per_node, zone)
    starts_at = _check_times(starts_at, ends_at, now)
    if not Team.objects.filter(pk=team_id).exists():
        raise Missing
    rules.refuse_broken(
        rules.list_broken(
            team_id=team_id, pool_id=pool_id, starts_at=starts_at, ends_at=ends_at, now=now
        )
    )
    _check_quota(team_id, pool_id, gpus, starts_at, ends_at, now, source)
    row = Reservation.objects.create(
        team_id=team_id, pool_id=pool_id, gpus=gpus, gpus_per_node=gpus_per_node, source=source,
        starts_at=starts_at, ends_at=ends_at, planned_ends_at=ends_at, zone=zone,
        purpose=purpose, request_id=request_id, created_by_id=actor_id, created_at=now,
    )  # fmt: skip
    inventory.commit(
        pool_id=pool_id, kind=CommitmentKind.RESERVATION, source_id=row.pk, team_id=team_id,
        gpus=gpus, gpus_per_node=gpus_per_node, adds=source == Source.POOL, starts_at=starts_at,
        ends_at=ends_at, now=now,
    )  # fmt: skip
    _record("reservations.held", row, actor_id, {
        "pool": pool_id, "gpus": gpus, "gpus_per_node": gpus_per_node, "source": source,
        "starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat(), "request": request_id,
    })  # fmt: skip
    return row


@transaction.atomic
def cancel(*, reservation_id: int, actor_id: int | None, now: datetime) -> Reservation:
    """Call a reservation off before it begins; twice is once.

    Raises `Missing`, or `Conflict` "has_begun" or "over" with what can still be done.
    """
    row = _get(reservation_id, now)
    if row.state == ReservationState.CANCELLED:
        return row
    if row.state == ReservationState.ACTIVE:
        raise Conflict(_("The reservation has begun. Give it back instead."), code="has_begun")
    _move(row, ReservationState.CANCELLED)
    inventory.release(kind=CommitmentKind.RESERVATION, source_id=row.pk, now=now)
    _record("reservations.cancelled", row, actor_id, {})
    return row


@transaction.atomic
def give_back(
    *, reservation_id: int, actor_id: int | None, now: datetime, why: str = ""
) -> Reservation:
    """End an open reservation now, so that others may have what is left of it; twice is once.

    `why` is a word for the audit, such as no_show. Raises `Missing`, or `Conflict` "not_begun"
    or "over" with what can still be done.
    """
    row = _get(reservation_id, now)
    if row.state == ReservationState.RELEASED:
        return row
    if row.state == ReservationState.PENDING:
        raise Conflict(_("The reservation has not begun. Cancel it instead."), code="not_begun")
    ends_at = max(now, row.starts_at + SECOND)
    _move(row, ReservationState.RELEASED, ends_at=min(ends_at, row.ends_at))
    inventory.release(
        kind=CommitmentKind.RESERVATION, source_id=row.pk, now=now, from_at=row.ends_at
    )
    _record("reservations.given_back", row, actor_id, {
        "ends_at": row.ends_at.isoformat(), "planned": row.planned_ends_at.isoformat(), "why": why,
    })  # fmt: skip
    return row


@transaction.atomic
def extend(
    *, reservation_id: int, ends_at: datetime, actor_id: int | None, now: datetime
) -> Reservation:
    """Let a reservation that is not over end later, or refuse; to where it ends already is once.

    Only the time it adds is checked: against the pool, the team's figures and the neighbours.
    Raises `Missing`, `Invalid` for an end that is no later, and `Conflict` as `hold` does.
    """
    row = _get(reservation_id, now)
    _check_holding(row)
    if ends_at == row.ends_at:
        return row
    if ends_at < row.ends_at:
        say = _("It ends at that time already, or later.")
        raise Invalid(say, fields={"ends_at": say})
    rules.refuse_broken(rules.list_broken_by_extension(row=row, ends_at=ends_at, now=now))
    _check_quota(row.team_id, row.pool_id, row.gpus, row.ends_at, ends_at, now, Source(row.source))
    was = row.ends_at
    _change_end(row, ends_at, planned_ends_at=ends_at)
    inventory.commit(
        pool_id=row.pool_id, kind=CommitmentKind.RESERVATION, source_id=row.pk,
        team_id=row.team_id, gpus=row.gpus, gpus_per_node=row.gpus_per_node,
        adds=row.source == Source.POOL, starts_at=row.starts_at, ends_at=ends_at, now=now,
    )  # fmt: skip
    _record("reservations.extended", row, actor_id, {
        "was": was.isoformat(), "ends_at": ends_at.isoformat(),
    })  # fmt: skip
    return row


@transaction.atomic
def shorten(
    *, reservation_id: int, ends_at: datetime, actor_id: int | None, now: datetime
) -> Reservation:
    """Let a reservation end earlier, at a time to come; at once is `give_back`.

    Raises `Missing`, `Invalid` for an end outside what is left of it, `Conflict` "over".
    """
    row = _get(reservation_id, now)
    _check_holding(row)
    if ends_at == row.ends_at:
        return row
    if not max(row.starts_at, now) < ends_at < row.ends_at:
        say = _("Give a time after now and after its beginning, and before its end.")
        raise Invalid(say, fields={"ends_at": say})
    was = row.ends_at
    _change_end(row, ends_at)
    inventory.release(kind=CommitmentKind.RESERVATION, source_id=row.pk, now=now, from_at=ends_at)
    _record("reservations.shortened", row, actor_id, {
        "was": was.isoformat(), "ends_at": ends_at.isoformat(),
    })  # fmt: skip
    return row


@transaction.atomic
def set_rules(*, pool_id: int, figures: Rules, actor_id: int | None, now: datetime) -> BookingRule:
    """Let a pool ask something of reservations made from now on; those there stay as they are."""
    wanted = asdict(figures)
    faults = {
        name: _("Give a whole number from %(least)d to %(most)d.")
        % {"least": least, "most": 10_000}
        for name, value in wanted.items()
        for least in [0 if name == "rest_hours" else 1]
        if value is not None and not least <= value <= 10_000
    }
    if faults:
        raise Invalid(_("These rules cannot be set."), fields=faults)
    inventory.lock_pool(pool_id=pool_id)
    was = asdict(rules.get_rules(pool_id=pool_id))
    row, _new = BookingRule.objects.update_or_create(pool_id=pool_id, defaults=wanted)
    audit.record(
        actor_id=actor_id, action="reservations.rules_set", target_type="pool", target_id=pool_id,
        data={"was": was, "now": wanted},
    )  # fmt: skip
    return row


def open_and_close_due(*, now: datetime) -> int:
    """Open what begins and complete what is over; a second call moves nothing. Says how many.

    Each reservation moves in its own transaction, so that one at fault holds up no other.
    """
    moved = 0
    due = Reservation.objects.filter(state=ReservationState.PENDING, starts_at__lte=now)
    for row in list(due.order_by("starts_at", "id")):
        moved += _follow_clock(row, now)
    over = Reservation.objects.filter(state=ReservationState.ACTIVE, ends_at__lte=now)
    for row in list(over.order_by("ends_at", "id")):
        moved += _follow_clock(row, now)
    return moved


@transaction.atomic
def _follow_clock(row: Reservation, now: datetime) -> int:
    """Move one reservation to where the clock has it; how many moves that took."""
    moved = 0
    if row.state == ReservationState.PENDING and row.starts_at <= now:
        moved += _try_move(row, ReservationState.ACTIVE, "reservations.opened")
    if row.state == ReservationState.ACTIVE and row.ends_at <= now:
        moved += _try_move(row, ReservationState.COMPLETED, "reservations.completed")
    return moved


def _try_move(row: Reservation, to: ReservationState, action: str) -> int:
    if not _won(row, to):
        return 0
    _record(action, row, None, {})
    return 1


def _get(reservation_id: int, now: datetime) -> Reservation:
    """The row as it stands by the clock; raises `Missing`, `Conflict` when it is over."""
    pool_id = (
        Reservation.objects.filter(pk=reservation_id).values_list("pool_id", flat=True).first()
    )
    if pool_id is None:
        raise Missing
    # The pool before the audit's chain, as everywhere, though it is only given back to.
    inventory.lock_pool(pool_id=pool_id)
    row = Reservation.objects.select_for_update(no_key=True).get(pk=reservation_id)
    _follow_clock(row, now)
    if row.state == ReservationState.COMPLETED:
        raise Conflict(_("The reservation is over."), code="over")
    return row


def _check_holding(row: Reservation) -> None:
    """Neither called off nor given back."""
    if row.state not in HOLDING:
        say = _("The reservation is %(state)s.") % {"state": ReservationState(row.state).label}
        raise Conflict(say, code="over")


def _change_end(row: Reservation, ends_at: datetime, **columns: datetime) -> None:
    """Win the end from the one it was read with."""
    same = Reservation.objects.filter(pk=row.pk, state=row.state, ends_at=row.ends_at)
    if not same.update(ends_at=ends_at, **columns):
        raise Conflict(_("The reservation was changed meanwhile. Look again."))
    row.ends_at = ends_at
    for name, value in columns.items():
        setattr(row, name, value)


def _won(row: Reservation, to: ReservationState, **columns: datetime) -> bool:
    """Win the row from the state it was read in; on winning it carries the new figures."""
    won = Reservation.objects.filter(pk=row.pk, state=row.state).update(state=to, **columns)
    if won:
        row.state = to
        for name, value in columns.items():
            setattr(row, name, value)
    return bool(won)


def _move(row: Reservation, to: ReservationState, **columns: datetime) -> None:
    if to not in MOVES[ReservationState(row.state)]:
        raise Conflict(
            _("A reservation that is %(state)s cannot become %(to)s.")
            % {"state": ReservationState(row.state).label, "to": to.label},
            code="state",
        )
    if not _won(row, to, **columns):
        raise Conflict(_("The reservation was changed meanwhile. Look again."))


def _check_ask(gpus: int, gpus_per_node: int | None, zone: str) -> None:
    faults: dict[str, str] = {}
    if not 1 <= gpus <= MOST:
        faults["gpus"] = _("Ask for at least one GPU.")
    if gpus_per_node is not None and (gpus_per_node < 1 or gpus % gpus_per_node):
        faults["gpus_per_node"] = _(
            "%(gpus)d GPUs cannot be split into equal parts of %(shape)d."
        ) % {"gpus": gpus, "shape": gpus_per_node}
    if zone not in zoneinfo.available_timezones():
        faults["zone"] = _("There is no time zone of this name.")
    if faults:
        raise Invalid(_("This reservation cannot be made."), fields=faults)


def _check_times(starts_at: datetime, ends_at: datetime, now: datetime) -> datetime:
    """The start, never before now; one that has passed by no more than a tick begins now."""
    if starts_at < now - timedelta(seconds=settings.TICK_SECONDS):
        raise Invalid(
            _("A reservation cannot begin in the past."),
            code="in_the_past",
            fields={"starts_at": _("is in the past")},
        )
    starts_at = max(starts_at, now)
    if ends_at <= starts_at:
        raise Invalid(
            _("A reservation must end after it begins."),
            fields={"ends_at": _("is not after the beginning")},
        )
    return starts_at


def _already(request_id: int | None) -> Reservation | None:
    if request_id is None:
        return None
    return Reservation.objects.filter(request_id=request_id).first()


def _check_quota(
    team_id: int,
    pool_id: int,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    source: Source,
) -> None:
    """The first instant at which limit or guarantee leaves too little refuses the ask."""
    if source == Source.GUARANTEE:
        fences = bounds.list_fences(
            team_id=team_id, pool_id=pool_id, from_at=starts_at, to_at=ends_at
        )
        fence = next((f for f in fences if f.left < gpus), None)
        if fence is not None:
            raise refusals.guarantee_exceeded(
                team_id=team_id, pool_id=pool_id, gpus=gpus, fence=fence
            )
        return
    found = bounds.list_bounds(
        team_id=team_id, pool_id=pool_id, from_at=starts_at, to_at=ends_at, now=now
    )
    tight = [b for b in found if b.left is not None and b.left < gpus]
    if tight:
        bound = min(tight, key=lambda b: b.from_at)
        raise refusals.above_limit(pool_id=pool_id, gpus=gpus, bound=bound)


def _record(action: str, row: Reservation, actor_id: int | None, data: dict[str, object]) -> None:
    audit.record(
        actor_id=actor_id, action=action, target_type="reservation", target_id=row.pk,
        team_id=row.team_id, data=data,
    )  # fmt: skip
