"""What can be asked for, one module per kind; a new kind is one module and one line below.

A kind says which columns it uses, what is wrong with them, what may be granted, when an asking
lapses, and carries out what was agreed by one call into the room it belongs to. It never moves a
request from state to state: that is `services`.
"""

from datetime import datetime

from portal.requests.kinds.about import Extension, GiveBack
from portal.requests.kinds.contract import Kind
from portal.requests.kinds.quota import QuotaChange
from portal.requests.kinds.reservation import ReservationAsked
from portal.requests.kinds.sla import SlaChange
from portal.requests.models import Request, RequestKind

KINDS: dict[RequestKind, Kind] = {
    RequestKind.RESERVATION: ReservationAsked(),
    RequestKind.EXTENSION: Extension(),
    RequestKind.GIVE_BACK: GiveBack(),
    RequestKind.QUOTA: QuotaChange(),
    RequestKind.SLA: SlaChange(),
}


def of(request: Request) -> Kind:
    """The kind of a request."""
    return KINDS[RequestKind(request.kind)]


def plain(request: Request) -> dict[str, object]:
    """What was asked, as plain JSON: only the columns its kind uses."""
    asked: dict[str, object] = {"kind": request.kind, "pool": request.pool_id}
    for name in sorted(of(request).columns):
        value = getattr(request, name)
        asked[name] = value.isoformat() if isinstance(value, datetime) else value
    return asked
