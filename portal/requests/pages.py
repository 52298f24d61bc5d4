"""What the inbox and the page of one request show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Missing
from portal.finance import selectors as finance
from portal.requests import (
    approving,
    drafts,
    examining,
    history,
    kinds,
    line,
    quota_figures,
    selectors,
    words,
)
from portal.requests.forms import CommentForm, DecisionForm
from portal.requests.models import Request, RequestKind, RequestState
from portal.requests.quota_figures import FIGURES
from portal.requests.selectors import TEAM_ROLES, Tab
from portal.reservations.models import Source
from portal.teams.permissions import ASK, COST, DECIDE, OVERSEE, WORK
from portal.teams.selectors import Access

OPEN = (RequestState.DRAFT, RequestState.SUBMITTED)


@dataclass(frozen=True, slots=True)
class TabLink:
    """One tab of the inbox."""

    label: str
    url: str
    current: bool
    count: int | None


def tab_of(name: str, waiting: int, access: Access) -> Tab:
    """The tab asked for; else what waits, where something does, else one's teams', else all."""
    if name in [tab.value for tab in Tab]:
        return Tab(name)
    if waiting:
        return Tab.WAITING
    return Tab.TEAMS if access.holds_anywhere(TEAM_ROLES) else Tab.ALL


def tabs(current: Tab, waiting: int, access: Access) -> list[TabLink]:
    """The tabs that can hold something for this person, the count only where somebody waits."""
    shown = {
        Tab.WAITING: access.holds_anywhere(DECIDE),
        Tab.TEAMS: access.holds_anywhere(TEAM_ROLES),
        Tab.ALL: True,
    }
    labels = {
        Tab.WAITING: _("Waits for me"),
        Tab.TEAMS: _("My teams"),
        Tab.ALL: _("All I may see"),
    }
    here = reverse("requests:list")
    return [
        TabLink(label, f"{here}?tab={tab.value}", tab is current, waiting if tab is Tab.WAITING else None)
        for tab, label in labels.items()
        if shown[tab] or tab is current
    ]  # fmt: skip


def zone_note() -> str:
    """On whose clocks a form's times are."""
    zone = timezone.get_current_timezone_name()
    return _("Times are on the clocks of %(zone)s.") % {"zone": zone}


def find(request_id: int) -> Request:
    """One request for a page; 404 where there is none."""
    try:
        return selectors.get_request(request_id=request_id)
    except Missing as missing:
        raise Http404 from missing


def of_request(
    row: Request,
    *,
    access: Access,
    now: datetime,
    decision: DecisionForm | None = None,
    comment: CommentForm | None = None,
) -> dict[str, Any]:
    """All that the page of one request shows to this person."""
    sees_cost = access.holds(COST, team_id=row.team_id) and finance.shows_money()
    lapsed = words.has_lapsed(row, now)
    examined = None
    if row.state in OPEN and not lapsed and not kinds.of(row).missing(row, now):
        examined = examining.examine_late(row, now, with_price=sees_cost)
    decides = access.holds(DECIDE, team_id=row.team_id)
    own = access.user_id in (row.requested_by_id, row.submitted_by_id)
    agreed = approving.list_agreed(request_id=row.pk)
    has_agreed = any(one.by_id == access.user_id for one in agreed)
    submitted = row.state == RequestState.SUBMITTED and not lapsed
    asks = access.holds(ASK, team_id=row.team_id)
    return {
        "row": row,
        "what": words.what(row, now),
        "state": words.state(row, now),
        "tone": words.tone(row, now),
        "happened": history.lapsed(row) if lapsed else history.what_happened(row),
        "asked": asked(row, now),
        "begins_late": _begins_late(row, now) and submitted,
        "examined": examined,
        "sees_cost": sees_cost,
        "sees_work": access.holds(WORK, team_id=row.team_id),
        "may_decide": submitted and decides and not own and not has_agreed,
        "has_agreed": submitted and has_agreed,
        "own_decision": submitted and decides and own,
        "may_edit": asks and row.state == RequestState.DRAFT,
        "may_cancel": asks and row.state in OPEN and not lapsed,
        "may_release": asks,
        "may_ask_again": asks and row.state not in OPEN,
        "decision": decision or decision_of(row),
        "agreed": agreed,
        "more_to_agree": max(0, row.approvals_needed - len(agreed)),
        "comment_form": comment or CommentForm(),
        "comments": selectors.list_comments(request_id=row.pk),
        **_became(row, now),
        "oversees": access.holds(OVERSEE),
        "events": [(words.event(e.action), e) for e in selectors.list_events(request=row)],
        "again_url": again_url(row) if asks else "",
    }


def _became(row: Request, now: datetime) -> dict[str, Any]:
    """The line onward, with where each thing is shown."""
    found = line.get_line(request=row)
    day = timezone.localtime(max(row.starts_at or now, row.decided_at or now)).date()
    return {
        "line": found,
        "line_url": f"{reverse('requests:reserve')}?{urlencode({'pool': row.pool_id, 'day': day})}",
        "used_hours": found.gpu_milli_seconds / 3_600_000,
        "jobs_count": len(found.jobs) + found.more_jobs,
    }


AGAIN: Mapping[RequestKind, tuple[str, tuple[str, ...]]] = {
    RequestKind.RESERVATION: (
        "requests:reserve", ("team_id", "pool_id", "gpus", "gpus_per_node", "source", "reason"),
    ),
    RequestKind.EXTENSION: ("requests:extension", ("about_id", "reason")),
    RequestKind.GIVE_BACK: ("requests:give-back", ("about_id", "reason")),
    RequestKind.QUOTA: ("requests:quota", ("team_id", "pool_id", *FIGURES)),
    RequestKind.SLA: ("requests:sla", ("team_id", "pool_id", "tier_id", "reason")),
}  # fmt: skip


def again_url(row: Request) -> str:
    """The form of its kind, filled in with what was asked but for the time."""
    page, columns = AGAIN[RequestKind(row.kind)]
    values = {drafts.input_of(name): getattr(row, name) for name in columns}
    known = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{reverse(page)}?{urlencode(known)}"


def asked(row: Request, now: datetime) -> list[tuple[str, str]]:
    """What was asked, as words and values."""
    pairs = [(_("Team"), row.team.name), (_("Pool"), row.pool.name)]
    match RequestKind(row.kind):
        case RequestKind.QUOTA:
            return pairs + _figures(row, now)
        case RequestKind.SLA:
            return pairs + _tier(row, now)
        case RequestKind.EXTENSION | RequestKind.GIVE_BACK:
            return pairs + _about(row, now)
        case RequestKind.RESERVATION:
            return pairs + _slot(row, now)


def _slot(row: Request, now: datetime) -> list[tuple[str, str]]:
    """GPUs from when until when."""
    pairs: list[tuple[str, str]] = []
    shape = _("on each node %(gpus)s") % {"gpus": row.gpus_per_node}
    pairs.append((_("GPUs"), f"{words.gpus(row)}{f', {shape}' if row.gpus_per_node else ''}"))
    if row.source in Source.values:
        pairs.append((_("Taken from"), str(Source(row.source).label)))
    if row.starts_at and row.ends_at:
        pairs.append((_("When"), formats.span(row.starts_at, row.ends_at, now)))
        pairs.append((_("Length"), formats.duration(row.ends_at - row.starts_at)))
    pairs.append((_("Asked in the zone"), row.zone))
    return pairs


def _about(row: Request, now: datetime) -> list[tuple[str, str]]:
    """Which reservation, and its end as it was and would be."""
    pairs = [
        (_("Reservation"), f"R-{row.about_id}" if row.about_id else "?"),
        (_("GPUs"), words.gpus(row)),
    ]
    if row.starts_at is not None:
        pairs.append((_("It ended on"), formats.when(row.starts_at, now)))
    ends = formats.when(row.ends_at, now) if row.ends_at else _("at once")
    return [*pairs, (_("New end"), ends)]


def _tier(row: Request, now: datetime) -> list[tuple[str, str]]:
    """Which tier, and from when until when."""
    begins = formats.when(row.starts_at, now) if row.starts_at else _("as soon as it is approved")
    ends = formats.when(row.ends_at, now) if row.ends_at else _("until it is changed")
    tier = "?"
    if row.tier is not None:
        tier = f"{row.tier.name} · {formats.duration(row.tier.target_wait_seconds)}"
    return [(_("Tier"), tier), (_("From"), begins), (_("Until"), ends)]


def _figures(row: Request, now: datetime) -> list[tuple[str, str]]:
    """Figures that would change, from what to what; open requests compare with now."""
    had: Mapping[str, int | None] = {}
    if row.state in OPEN:
        had = quota_figures.get(team_id=row.team_id, pool_id=row.pool_id, at=now)
    labels = figure_labels()
    pairs: list[tuple[str, str]] = []
    for name in FIGURES:
        wanted = figure(getattr(row, name))
        if had and had[name] != getattr(row, name):
            wanted = _("%(was)s → %(now)s") % {"was": figure(had[name]), "now": wanted}
        pairs.append((labels[name], wanted))
    begins = formats.when(row.starts_at, now) if row.starts_at else _("as soon as it is approved")
    return [*pairs, (_("From"), begins)]


def figure_labels() -> dict[str, str]:
    """The figures of a quota in words, by column."""
    return {
        "guaranteed": _("Guaranteed"), "limit": _("Limit"),
        "borrowing_limit": _("Borrowing limit"), "lending_limit": _("Lending limit"),
        "weight": _("Weight"), "per_user_limit": _("Limit per person"),
    }  # fmt: skip


def differences(
    was: Mapping[str, int | None], now: Mapping[str, int | None]
) -> list[tuple[str, str, str]]:
    """Word, before and after of each figure that changed."""
    return [
        (label, figure(was.get(name)), figure(now.get(name)))
        for name, label in figure_labels().items()
        if was.get(name) != now.get(name)
    ]


def figure(value: int | None) -> str:
    """A figure of a quota; open ones are said to be."""
    return _("not set") if value is None else formats.number(value)


def _begins_late(row: Request, now: datetime) -> bool:
    return row.starts_at is not None and row.starts_at <= now


def decision_of(row: Request, data: Mapping[str, Any] | None = None) -> DecisionForm:
    """The form of whoever decides; a number of GPUs only where a part can be granted."""
    initial = {"granted_gpus": words.asked_gpus(row), "version": row.version}
    return DecisionForm(data, initial=initial, in_part=kinds.of(row).in_part)
