"""How fast requests are answered, against what the team's SLA promises."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from portal.requests.models import Request, RequestState
from portal.slas import services as slas
from portal.slas import targets
from portal.slas.selectors import Kept
from portal.slas.targets import SlaRow, Targets

LOOKED_BACK = timedelta(days=1)
"""One answered since the last look is still found to have been late."""

S = RequestState


def list_kept(
    *, from_at: datetime, now: datetime, promised: Targets | None = None
) -> dict[int, Kept]:
    """By promise, how often requests submitted from `from_at` on were answered in time.

    One nobody has answered yet counts as late once it is; one that lapsed was never answered. One
    taken back before it was due, or that nobody has to agree to, counts neither way.
    """
    counts: dict[int, list[int]] = {}
    for sla, row, due in _promised(from_at, now, promised=promised):
        found = counts.setdefault(sla.id, [0, 0, 0, 0])
        until = _answered_at(row) or now
        if until > due or row.state == S.EXPIRED:
            found[1] += 1
            found[2] += row.state == S.SUBMITTED
        else:
            found[0 if row.state in (S.APPROVED, S.REJECTED) else 3] += 1
    return {sla_id: Kept(*found) for sla_id, found in counts.items()}


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
    since: datetime | None = None,
    promised: Targets | None = None,
) -> Iterator[tuple[SlaRow, Request, datetime]]:
    """Requests with the promise they came under and when an answer is due.

    With `since` only those open, or answered later than that.
    """
    found = promised or targets.get_targets(now=now, from_at=from_at)
    if not found.rows:
        return
    rows = Request.objects.filter(
        submitted_at__gte=from_at, submitted_at__lt=now, approvals_needed__gt=0
    )
    if since is not None:
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
