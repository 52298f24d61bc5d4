"""How fast requests are answered, against what the team's SLA promises."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Case, Q, When

from portal.requests.models import Request, RequestState
from portal.slas import services as slas
from portal.slas import tallying, targets
from portal.slas.tallying import Kept, Waits
from portal.slas.targets import SlaRow, Targets

LOOKED_BACK = timedelta(days=1)
"""One answered since the last look is still found to have been late."""

S = RequestState
WAITS = Waits(
    begun="submitted_at",
    until=Case(When(state=S.SUBMITTED, then=None), default="decided_at"),
    served=Q(state__in=[S.APPROVED, S.REJECTED]),
    still=Q(state=S.SUBMITTED),
    never=Q(state=S.EXPIRED),
)
"""A request waits until somebody settles it."""


def list_kept(
    *, from_at: datetime, now: datetime, promised: Targets | None = None
) -> dict[int, Kept]:
    """By promise, how often requests submitted from `from_at` on were answered in time.

    One nobody has answered yet counts as late once it is; one that lapsed was never answered. One
    taken back before it was due, or that nobody has to agree to, counts neither way.
    """
    found = promised or targets.get_targets(now=now, from_at=from_at)
    asked = Request.objects.filter(approvals_needed__gt=0)
    return tallying.tally(
        asked, WAITS, found, lambda sla: sla.answer_seconds, from_at=from_at, now=now
    )


def note_late(*, now: datetime) -> int:
    """Note every request that nobody answered in time, and when somebody did; twice is once."""
    late = 0
    for sla, row, due in _promised(now - slas.LONGEST_WAIT, now, since=now - LOOKED_BACK):
        answered_at = _answered_at(row)
        if (answered_at or now) > due:
            slas.note_late_answer(
                request_id=row.pk, team_id=row.team_id, sla_id=sla.id, due_at=due,
                ended_at=answered_at,
            )  # fmt: skip
            late += 1
    return late


def _promised(
    from_at: datetime,
    now: datetime,
    since: datetime,
) -> Iterator[tuple[SlaRow, Request, datetime]]:
    """Requests open, or answered later than `since`: the promise they came under, and when due."""
    found = targets.get_targets(now=now, from_at=from_at)
    if not found.rows:
        return
    rows = Request.objects.filter(
        submitted_at__gte=from_at, submitted_at__lt=now, approvals_needed__gt=0
    )
    rows = rows.filter(state=S.SUBMITTED) | rows.filter(decided_at__gt=since)
    columns = ("id", "state", "team_id", "pool_id", "submitted_at", "decided_at")
    for row in rows.only(*columns):
        if row.submitted_at is None:
            continue
        sla = found.of(row.team_id, row.pool_id, row.submitted_at)
        if sla is not None and sla.answer_seconds is not None:
            yield sla, row, row.submitted_at + timedelta(seconds=sla.answer_seconds)


def _answered_at(row: Request) -> datetime | None:
    """When it waited no more."""
    return row.decided_at if row.state != S.SUBMITTED else None
