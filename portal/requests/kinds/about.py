"""What is asked about a reservation that is there: that it ends later, or earlier."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from portal.requests.kinds.contract import Faults, Plain, beyond_pool, whole
from portal.requests.kinds.reservation import ReservationAsked, broken, filled
from portal.requests.models import Request
from portal.reservations import rules as booking
from portal.reservations import services as reservations
from portal.reservations.models import HOLDING, Reservation

COPIED = ("gpus", "gpus_per_node", "source")


def reservation_of(row: Request) -> Reservation | None:
    """The reservation it is about, if it is the team's."""
    if row.about_id is None:
        return None
    own = Reservation.objects.filter(team_id=row.team_id, pool_id=row.pool_id)
    return own.filter(pk=row.about_id).first()


def _copied(row: Request) -> Reservation | None:
    """The reservation it is about, once what is the same in both is copied from it."""
    held = reservation_of(row)
    for name in COPIED if held else ():
        setattr(row, name, getattr(held, name))
    return held


def _fault_of(held: Reservation | None, now: datetime) -> Faults:
    if held is None:
        return {"reservation": _("The team has no such reservation.")}
    if held.state not in HOLDING or held.ends_at <= now:
        return {"reservation": _("This reservation is over.")}
    return {}


class Extension(ReservationAsked):
    """The same GPUs for longer; what is asked for is the time from its end on."""

    columns = frozenset({"about_id", "ends_at", "zone", "starts_at", *COPIED})
    in_part = False

    def fill(self, row: Request, now: datetime) -> None:
        """GPUs, shape and source are the reservation's; it goes on where that ends."""
        held = _copied(row)
        row.starts_at = held.ends_at if held else None

    def faults(self, row: Request, now: datetime) -> Faults:
        """A reservation that is over, an end that is no later, and the pool's rules."""
        held = reservation_of(row)
        found = _fault_of(held, now) if row.about_id is not None else {}
        if found or held is None or row.ends_at is None:
            return found
        if row.ends_at.second or row.ends_at.microsecond:
            return {"ends_at": _("Times are whole minutes.")}
        if row.ends_at <= held.ends_at:
            return {"ends_at": _("It ends at that time already, or later.")}
        return broken(booking.list_broken_by_extension(row=held, ends_at=row.ends_at, now=now))

    def missing(self, row: Request, now: datetime) -> Faults:
        """Which reservation, and until when."""
        wanted = {
            "reservation": (row.about_id, _("Say which reservation.")),
            "ends_at": (row.ends_at, _("Say when it ends.")),
        }
        return {name: say for name, (value, say) in wanted.items() if value is None}

    def beyond(self, row: Request, now: datetime) -> Faults:
        """More GPUs than the pool has at any time of it."""
        gpus, starts_at, ends_at = filled(row)
        return beyond_pool(row, gpus, starts_at, ends_at)

    def lapses_at(self, row: Request) -> datetime | None:
        """Once the reservation is over there is nothing to extend."""
        return row.starts_at

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """All its GPUs: it goes on as it is."""
        return whole(row.gpus or 0, granted_gpus)

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Move the end."""
        _gpus, _starts_at, ends_at = filled(row)
        held = reservations.extend(
            reservation_id=row.about_id or 0, ends_at=ends_at, actor_id=actor_id, now=now
        )
        return {"reservation_id": held.pk}


class GiveBack(Plain):
    """A reservation ends earlier, at a time to come or as soon as it is asked; nobody has to agree."""

    columns = frozenset({"about_id", "ends_at", "zone", *COPIED})
    in_part = False

    def fill(self, row: Request, now: datetime) -> None:
        """GPUs, shape and source are the reservation's."""
        _copied(row)

    def approvals(self, row: Request) -> tuple[int, int]:
        """Nobody."""
        return 0, 0

    def faults(self, row: Request, now: datetime) -> Faults:
        """A reservation that is over, or an end outside what is left of it."""
        held = reservation_of(row)
        found = _fault_of(held, now) if row.about_id is not None else {}
        if found or held is None or row.ends_at is None:
            return found
        if not max(held.starts_at, now) < row.ends_at < held.ends_at:
            return {
                "ends_at": _("Give a time after now and after its beginning, and before its end.")
            }
        return {}

    def missing(self, row: Request, now: datetime) -> Faults:
        """Which reservation; without a time it is at once."""
        return {} if row.about_id is not None else {"reservation": _("Say which reservation.")}

    def lapses_at(self, row: Request) -> datetime | None:
        """When it would end."""
        return row.ends_at

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """All its GPUs."""
        return whole(row.gpus or 0, granted_gpus)

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Call it off before it has begun, end it now, or move its end."""
        pk, found = row.about_id or 0, reservation_of(row)
        if row.ends_at is not None and row.ends_at > now:
            reservations.shorten(reservation_id=pk, ends_at=row.ends_at, actor_id=actor_id, now=now)
        elif found is not None and found.starts_at <= now:
            reservations.give_back(reservation_id=pk, actor_id=actor_id, now=now)
        else:
            reservations.cancel(reservation_id=pk, actor_id=actor_id, now=now)
        return {"reservation_id": pk}
