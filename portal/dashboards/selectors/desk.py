"""What Home lays on one's desk: requests to decide, one's own, the month's statements, the trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from portal.common.models import AuditEvent
from portal.dashboards.selectors.common import TeamMark
from portal.finance import selectors as finance
from portal.finance.selectors import Bill
from portal.requests import selectors as requests
from portal.requests.models import Request, RequestState
from portal.requests.selectors import Tab
from portal.teams.models import User
from portal.teams.selectors import Access

INBOX = 8


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A submitted request somebody has to decide, or one of my own."""

    id: int
    kind: str
    kind_label: str
    state: str
    state_label: str
    team: TeamMark
    pool_name: str
    gpus: int | None
    starts_at: datetime | None
    ends_at: datetime | None
    by: str
    expires_at: datetime | None


def list_bills(access: Access, *, now: datetime) -> list[Bill]:
    """Statements of the running month that I may see, newest revisions, dearest first."""
    return sorted(finance.list_month_to_date(access, now=now), key=lambda row: -row.total_micro)


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of statements of one currency."""

    micro: int
    currency: str


def total_of(bills: Sequence[Bill]) -> Total | None:
    """All of them together; a month has one currency."""
    if not bills:
        return None
    return Total(sum(bill.total_micro for bill in bills), bills[0].currency)


def list_requests(
    access: Access, *, decides: bool, now: datetime
) -> tuple[list[InboxRow], list[InboxRow]]:
    """The first of what waits for me on the Requests page, oldest first, and my own: one query.

    My own are drafts or wait for somebody; nobody decides what they ask themselves.
    """
    own = Request.objects.filter(
        requested_by_id=access.user_id, state__in=(RequestState.DRAFT, RequestState.SUBMITTED)
    )
    wanted = Q(pk__in=own.order_by("-id").values("pk")[:INBOX])
    if decides:
        waiting = requests.list_requests(access=access, now=now, tab=Tab.WAITING)
        wanted |= Q(pk__in=waiting.order_by("submitted_at", "id").values("pk")[:INBOX])
    found = Request.objects.filter(wanted).select_related("team", "pool", "requested_by")
    both = list(found.order_by("-id"))
    mine = [row for row in both if row.requested_by_id == access.user_id]
    others = [row for row in both if row.requested_by_id != access.user_id]
    others.sort(key=lambda row: (row.submitted_at or row.created_at, row.pk))
    return _inbox(others), _inbox(mine)


def _inbox(found: Sequence[Request]) -> list[InboxRow]:
    return [
        InboxRow(
            id=r.pk, kind=r.kind, kind_label=r.get_kind_display(), state=r.state,
            state_label=r.get_state_display(), team=TeamMark(r.team_id, r.team.name, r.team.hue),
            pool_name=r.pool.name, gpus=r.guaranteed if r.kind == "quota" else r.gpus,
            starts_at=r.starts_at, ends_at=r.ends_at, by=str(r.requested_by),
            expires_at=r.expires_at,
        )
        for r in found
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A line of the audit trail, with the actor's name where the person still exists."""

    at: datetime
    action: str
    target: str
    actor: str


def list_audit(limit: int = 12) -> list[AuditRow]:
    """The newest lines of the trail that changed something: nobody signing in is among them."""
    changes = AuditEvent.objects.exclude(action="teams.signed_in")
    events = list(changes.order_by("-id")[:limit])
    people = {u.pk: str(u) for u in User.objects.filter(pk__in={e.actor_id for e in events})}
    return [
        AuditRow(
            at=e.at,
            action=e.action,
            target=f"{e.target_type} {e.target_id or ''}".strip(),
            actor=people.get(e.actor_id or 0, ""),
        )
        for e in events
    ]
