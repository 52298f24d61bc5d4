"""Reads of requests: soft holds, the inbox, one request with its thread and its line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet

from portal.common.errors import Missing
from portal.common.models import AuditEvent
from portal.common.pages import once_a_page
from portal.inventory import selectors as inventory
from portal.inventory.calendar import FOREVER, Period, Span, steps
from portal.quotas import selectors as quotas
from portal.quotas.selectors import QuotaRow
from portal.requests.models import Approval, Comment, Request, RequestKind, RequestState
from portal.reservations.models import Source
from portal.teams.models import Role, User
from portal.teams.permissions import ANY_ROLE, ASK, DECIDE
from portal.teams.selectors import Access


@dataclass(frozen=True, slots=True)
class SoftHold:
    """What a submitted request would take from a pool, once approved."""

    request_id: int
    kind: RequestKind
    team_id: int
    gpus: int
    starts_at: datetime
    ends_at: datetime


def list_soft_holds(
    *,
    pool_id: int,
    from_at: datetime,
    to_at: datetime,
    now: datetime,
    without: int | None = None,
) -> list[SoftHold]:
    """Submitted and not lapsed, meeting the window; a quota change counts by what it adds."""
    holds = (hold for hold in _all_soft_holds(pool_id, now) if hold.request_id != without)
    return [h for h in holds if h.starts_at < to_at and h.ends_at > from_at]


@once_a_page
def _all_soft_holds(pool_id: int, now: datetime) -> tuple[SoftHold, ...]:
    rows = Request.objects.filter(pool_id=pool_id, state=RequestState.SUBMITTED).filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    )
    found = list(rows.order_by("id"))
    guarantees = _guarantees(pool_id, {r.team_id for r in found if r.kind == "quota"}, now)
    return tuple(hold for row in found for hold in _soft_holds(row, guarantees, now))


def _soft_holds(
    row: Request, guarantees: Mapping[int, list[QuotaRow]], now: datetime
) -> Iterator[SoftHold]:
    """What it would add; a quota change by what will be guaranteed while it holds."""
    begins = max(row.starts_at or now, now)
    if row.kind == RequestKind.QUOTA:
        window = Period(begins, FOREVER)
        held = guarantees.get(row.team_id, [])
        spans = (Span(q.valid_from, q.valid_to or FOREVER, q.guaranteed) for q in held)
        parts = [
            (step.from_at, step.to_at, (row.guaranteed or 0) - step.gpus)
            for step in steps(spans, window)
        ]
    elif row.kind in TAKING and row.source == Source.POOL and row.ends_at is not None:
        parts = [(begins, row.ends_at, row.gpus or 0)]
    else:
        parts = []
    for from_at, to_at, gpus in parts:
        if gpus > 0 and from_at < to_at:
            yield SoftHold(row.pk, RequestKind(row.kind), row.team_id, gpus, from_at, to_at)


TAKING = (RequestKind.RESERVATION, RequestKind.EXTENSION)
"""Kinds that take GPUs of a pool for a time."""


def _guarantees(pool_id: int, team_ids: Iterable[int], now: datetime) -> dict[int, list[QuotaRow]]:
    wanted = list(team_ids)
    found: dict[int, list[QuotaRow]] = {}
    for row in quotas.list_within(wanted, pool_id, Period(now, FOREVER)) if wanted else ():
        found.setdefault(row.team_id, []).append(row)
    return found


TEAM_ROLES = frozenset({Role.MEMBER, Role.LEAD})
"""Who works in a team, and does not only look over it."""


class Tab(StrEnum):
    """Which requests a list shows."""

    WAITING = "waiting"
    TEAMS = "teams"
    ALL = "all"


def list_requests(*, access: Access, now: datetime, tab: Tab = Tab.ALL) -> QuerySet[Request]:
    """Requests in reach, newest first; another team's drafts are nobody else's business.

    WAITING is what this person may decide now, TEAMS what they and the teams they work in ask.
    """
    rows = Request.objects.select_related("team", "pool", "requested_by", "tier").order_by("-id")
    rows = rows.filter(_in_teams(access.teams(ANY_ROLE)))
    mine = Q(requested_by_id=access.user_id)
    rows = rows.filter(~Q(state=RequestState.DRAFT) | mine | _in_teams(access.teams(ASK)))
    if tab is Tab.WAITING:
        return rows.filter(_to_decide(access, now))
    if tab is Tab.TEAMS:
        return rows.filter(mine | _in_teams(access.teams(TEAM_ROLES)))
    return rows


def count_to_decide(*, access: Access, now: datetime) -> int:
    """How many requests this person may decide now."""
    return query_to_decide(access=access, now=now).count()


def query_to_decide(*, access: Access, now: datetime) -> QuerySet[Request]:
    """Requests this person may decide now."""
    return Request.objects.filter(_to_decide(access, now))


def _to_decide(access: Access, now: datetime) -> Q:
    """Submitted, not lapsed, for an admin who neither asked, submitted nor agreed already."""
    theirs = Q(requested_by_id=access.user_id) | Q(submitted_by_id=access.user_id)
    not_lapsed = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    submitted = Q(state=RequestState.SUBMITTED)
    agreed = Exists(Approval.objects.filter(request_id=OuterRef("pk"), by_id=access.user_id))
    return submitted & not_lapsed & ~theirs & ~agreed & _in_teams(access.teams(DECIDE))


def _in_teams(team_ids: frozenset[int] | None) -> Q:
    return Q(pk__isnull=False) if team_ids is None else Q(team_id__in=team_ids)


def list_pool_names() -> list[tuple[int, str]]:
    """Id and name of every pool, for a filter: names are open to the organisation."""
    return list(inventory.pool_names().items())


def get_request(*, request_id: int) -> Request:
    """One request with the people and things it names. Raises `Missing`."""
    people = ("requested_by", "submitted_by", "decided_by", "cancelled_by")
    row = (
        Request.objects.select_related("team", "pool", "about", "tier", *people)
        .filter(pk=request_id)
        .first()
    )
    if row is None:
        raise Missing
    return row


@dataclass(frozen=True, slots=True)
class Said:
    """One comment."""

    id: int
    author_id: int
    author: str
    at: datetime
    text: str


def list_comments(*, request_id: int) -> list[Said]:
    """The thread, oldest first."""
    rows = Comment.objects.filter(request_id=request_id).select_related("author")
    return [Said(c.pk, c.author_id, str(c.author), c.at, c.text) for c in rows]


@dataclass(frozen=True, slots=True)
class Event:
    """One audit line of a request, its reservation or its quota; times are real."""

    at: datetime
    action: str
    actor: str
    data: Mapping[str, object]


def list_events(*, request: Request) -> list[Event]:
    """What the audit holds of a request and of what it became, oldest first."""
    wanted = Q(target_type="request", target_id=request.pk)
    if request.reservation_id:
        wanted |= Q(target_type="reservation", target_id=request.reservation_id)
    if request.quota_id:
        wanted |= Q(target_type="quota", target_id=request.quota_id)
    if request.sla_id:
        wanted |= Q(target_type="sla", target_id=request.sla_id)
    rows = list(AuditEvent.objects.filter(wanted).order_by("id"))
    people = User.objects.in_bulk({row.actor_id for row in rows if row.actor_id})
    return [
        Event(row.at, row.action, str(people.get(row.actor_id, "")), dict(row.data)) for row in rows
    ]
