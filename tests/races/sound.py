"""What must be true however a race went; counted here by hand, not by the code under test."""

from collections import Counter
from datetime import datetime

from portal.common import audit
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory.models import Commitment, CommitmentKind, Node
from portal.quotas.models import Quota
from portal.requests.models import Request, RequestState
from portal.reservations.models import HOLDING, Reservation, ReservationState


def assert_sound(now: datetime) -> None:
    """Nothing is overcommitted that is not shown as a conflict, and the audit tells everything."""
    assert_nothing_overcommitted(now)
    assert_promises_match()
    assert_audit_is_whole()


def assert_nothing_overcommitted(now: datetime) -> None:
    """Sum up every pool at every instant at which a promise begins."""
    shown = {row.pool_id for row in inventory.list_conflicts(now=now)}
    promised = list(Commitment.objects.filter(adds=True))
    for row in promised:
        at = max(now, row.starts_at)
        held = sum(
            other.gpus
            for other in promised
            if other.pool_id == row.pool_id
            and other.starts_at <= at
            and (other.ends_at is None or other.ends_at > at)
        )
        nodes = Node.objects.filter(pool_id=row.pool_id, removed_at__isnull=True)
        there = sum(nodes.values_list("gpus", flat=True))
        assert held <= there or row.pool_id in shown, f"{held} of {there} promised at {at}"


def assert_promises_match() -> None:
    """Every reservation that holds has one promise, none that is over has one still to come."""
    promised = set(
        Commitment.objects.filter(kind=CommitmentKind.RESERVATION).values_list(
            "source_id", flat=True
        )
    )
    holding = set(Reservation.objects.filter(state__in=HOLDING).values_list("id", flat=True))
    cancelled = Reservation.objects.filter(state=ReservationState.CANCELLED)
    assert holding <= promised
    assert not promised & set(cancelled.values_list("id", flat=True))
    granted = Request.objects.filter(state=RequestState.APPROVED, kind="reservation")
    became = list(granted.values_list("reservation_id", flat=True))
    assert None not in became
    assert len(set(became)) == len(became)


def assert_audit_is_whole() -> None:
    """The chain holds, and each row's moves stand in it once."""
    assert audit.first_broken() is None
    said = Counter(AuditEvent.objects.values_list("action", "target_id"))
    once = {key for key, times in said.items() if times == 1}
    assert {("reservations.held", pk) for pk in _ids(Reservation)} <= once
    assert {("quotas.changed", pk) for pk in _ids(Quota)} <= once
    for state, action in (
        (RequestState.APPROVED, "requests.approved"),
        (RequestState.CANCELLED, "requests.cancelled"),
        (RequestState.REJECTED, "requests.rejected"),
    ):
        there = set(Request.objects.filter(state=state).values_list("id", flat=True))
        assert {(action, pk) for pk in there} <= once
        assert {pk for told, pk in said if told == action} == there
    cancelled = Reservation.objects.filter(state=ReservationState.CANCELLED)
    assert {("reservations.cancelled", pk) for pk in cancelled.values_list("id", flat=True)} <= once


def _ids(model: type[Reservation] | type[Quota]) -> set[int]:
    return set(model._default_manager.values_list("id", flat=True))
