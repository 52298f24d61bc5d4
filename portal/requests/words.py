"""A request in a few words: for lists, headings and messages."""

from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import formats
from portal.requests.models import Request, RequestKind, RequestState

TONES = {
    RequestState.SUBMITTED: "warn",
    RequestState.APPROVED: "good",
    RequestState.REJECTED: "bad",
}


def asked_gpus(row: Request) -> int | None:
    """How many GPUs it is about."""
    return row.guaranteed if row.kind == RequestKind.QUOTA else row.gpus


def gpus(row: Request) -> str:
    """Asked, or granted of asked where it is less."""
    asked = asked_gpus(row)
    if asked is None:
        return ""
    if row.granted_gpus is not None and row.granted_gpus < asked:
        return _("%(granted)s of %(asked)s") % {"granted": row.granted_gpus, "asked": asked}
    return formats.number(asked)


def what(row: Request, now: datetime) -> str:
    """The asking as one phrase."""
    words: dict[str, object] = {
        "gpus": asked_gpus(row) if asked_gpus(row) is not None else "?",
        "pool": row.pool.name,
        "id": f"R-{row.about_id}" if row.about_id else "?",
        "tier": row.tier.name if row.tier else "?",
        "until": formats.when(row.ends_at, now, inside=True) if row.ends_at else "?",
    }
    match RequestKind(row.kind):
        case RequestKind.QUOTA:
            return _("Guarantee of %(gpus)s GPUs of %(pool)s") % words
        case RequestKind.SLA:
            return _("SLA %(tier)s in %(pool)s") % words
        case RequestKind.EXTENSION:
            return _("%(id)s longer, until %(until)s") % words
        case RequestKind.GIVE_BACK if row.ends_at is None:
            return _("%(id)s given back") % words
        case RequestKind.GIVE_BACK:
            return _("%(id)s given back %(until)s") % words
        case RequestKind.RESERVATION if row.starts_at is None or row.ends_at is None:
            return _("%(gpus)s GPUs of %(pool)s") % words
        case RequestKind.RESERVATION:
            assert row.starts_at is not None
            assert row.ends_at is not None
            words["span"] = formats.span(row.starts_at, row.ends_at, now, inside=True)
            return _("%(gpus)s GPUs of %(pool)s, %(span)s") % words


def has_lapsed(row: Request, now: datetime) -> bool:
    """Whether it can be decided no more, though nobody has cleared it away yet."""
    waits = row.state == RequestState.SUBMITTED
    return waits and row.expires_at is not None and row.expires_at <= now


def state(row: Request, now: datetime) -> str:
    """Where it stands."""
    if has_lapsed(row, now):
        return str(RequestState.EXPIRED.label)
    asked = asked_gpus(row)
    whole = asked is None or row.granted_gpus == asked
    if row.state == RequestState.APPROVED and not whole:
        return _("Approved in part")
    return str(row.get_state_display())


def tone(row: Request, now: datetime) -> str:
    """The tone of its pill."""
    return "" if has_lapsed(row, now) else TONES.get(RequestState(row.state), "")


def event(action: str) -> str:
    """An audit line's action in words; an unknown one as it is."""
    known = {
        "requests.drafted": _("Draft saved"),
        "requests.submitted": _("Submitted"),
        "requests.agreed": _("Agreed; another person has to as well"),
        "requests.approved": _("Approved"),
        "requests.rejected": _("Rejected"),
        "requests.cancelled": _("Cancelled"),
        "requests.expired": _("Lapsed"),
        "requests.commented": _("Commented"),
        "reservations.held": _("Reservation put on the calendar"),
        "reservations.opened": _("Reservation began"),
        "reservations.completed": _("Reservation ended"),
        "reservations.cancelled": _("Reservation cancelled"),
        "reservations.given_back": _("Reservation given back"),
        "reservations.extended": _("Reservation extended"),
        "reservations.shortened": _("Reservation ends earlier"),
        "quotas.changed": _("Quota changed"),
        "slas.set": _("SLA changed"),
    }
    return known.get(action, action)
