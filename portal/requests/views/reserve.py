"""Reserve: the calendar of a pool, and a form that says at once whether it fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET, require_http_methods

from portal.common import clock, zones
from portal.inventory import selectors as inventory
from portal.inventory.selectors import PoolRow
from portal.requests import asking, examining, local_times, outcomes, pages, timeline
from portal.requests.board import Ask
from portal.requests.forms import AskForm
from portal.requests.models import RequestKind
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import ASK, COST
from portal.teams.selectors import Access, Tree

TYPED = ("team", "gpus", "gpus_per_node", "source", "starts_at", "ends_at", "zone", "reason")
LONGEST = timedelta(days=40)
"""A calendar that begins longer ago is read by itself."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a request for the page stands on."""

    now: datetime
    zone: str
    access: Access
    tree: Tree
    pools: list[PoolRow]
    pool: PoolRow | None


@require_http_methods(["GET", "HEAD", "POST"])
def reserve(request: HttpRequest) -> HttpResponse:
    """Show the calendar and the form; a POST checks it, saves a draft or submits it."""
    desk = _desk(request, request.POST or request.GET)
    if request.method == "POST":
        form = _form(desk, request.POST)
        if outcomes.only_checks(request):
            return _page(request, desk, form)
        done = outcomes.save(request, form, now=desk.now)
        return done or _page(request, desk, form, status=422)
    return _page(request, desk, _form(desk, _filled_in(request.GET, desk)))


@require_GET
def check(request: HttpRequest) -> HttpResponse:
    """The verdict and the calendar with the draft in it, for the form as it stands."""
    desk = _desk(request, request.GET)
    form = _form(desk, request.GET)
    return render(request, "requests/parts/check.html", _seen(request, desk, form))


def _desk(request: HttpRequest, data: Mapping[str, Any]) -> Desk:
    now = clock.now()
    if request.method != "POST":
        shown = _view(request, timezone.get_current_timezone_name(), now).from_at
        inventory.read_ahead(from_at=shown if now - LONGEST < shown < now else now)
    pools = inventory.list_pools(now=now)
    wanted = str(data.get("pool", ""))
    pool = next((p for p in pools if str(p.id) == wanted), None)
    if wanted and pool is None:
        raise Http404
    return Desk(
        now=now, zone=timezone.get_current_timezone_name(), access=access_of(request),
        tree=teams.get_tree(now=now), pools=pools, pool=pool or next(iter(pools), None),
    )  # fmt: skip


def _form(desk: Desk, data: Mapping[str, Any]) -> AskForm:
    return asking.form_for(
        RequestKind.RESERVATION, data, access=desk.access, tree=desk.tree, pools=desk.pools
    )


def _filled_in(data: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """What the address says, the rest as most would have it."""
    begins = _begins(str(data.get("day", "")), desk)
    own = teams.list_teams(desk.access, roles=ASK, tree=desk.tree)
    values: dict[str, Any] = {
        "team": own[0].id if own else "",
        "pool": desk.pool.id if desk.pool else "",
        "gpus": min(8, max(1, desk.pool.largest_node)) if desk.pool else 1,
        "source": "pool",
        "starts_at": local_times.typed(begins, desk.zone),
        "ends_at": local_times.typed(begins + timedelta(hours=8), desk.zone),
        "zone": desk.zone,
    }
    return {**values, **{name: data[name] for name in TYPED if data.get(name)}}


def _begins(day: str, desk: Desk) -> datetime:
    """Nine o'clock of the day shown, or the next full hour where that has passed."""
    local = timezone.localtime(desk.now).replace(minute=0, second=0, microsecond=0)
    soon = timezone.localtime(local.astimezone(timezone.get_fixed_timezone(0)) + timedelta(hours=1))
    wanted = _date(day)
    if wanted is None or wanted <= local.date():
        return soon
    return timeline.midnight(wanted, desk.zone) + timedelta(hours=9)


def _page(request: HttpRequest, desk: Desk, form: AskForm, status: int = 200) -> HttpResponse:
    context = {
        **_seen(request, desk, form), "desk": desk, "form": form, "zone_note": pages.zone_note(),
    }  # fmt: skip
    return render(request, "requests/reserve.html", context, status=status)


def _seen(request: HttpRequest, desk: Desk, form: AskForm) -> dict[str, Any]:
    """The verdict on the form, and the calendar that shows it."""
    if desk.pool is None:
        return {}
    may_ask = desk.access.holds_anywhere(ASK)
    row = asking.unsaved(form.asked(), desk.now) if may_ask and form.is_valid() else None
    examined = None
    if row is not None:
        priced = desk.access.holds(COST, team_id=row.team_id)
        examined = examining.examine(row, desk.now, with_price=priced)
    draft = None
    if row is not None and row.gpus and row.starts_at and row.ends_at:
        draft = row.team_id, Ask(row.gpus, None, row.source, row.starts_at, row.ends_at)
    view = _view(request, desk.zone, draft[1].starts_at if draft else desk.now)
    return {
        "pool": desk.pool,
        "view": view,
        "examined": examined,
        "faults": outcomes.faults(form, row, desk.now) if may_ask else {},
        "may_ask": may_ask,
        "calendar": timeline.build(
            pool_id=desk.pool.id, view=view, now=desk.now, tree=desk.tree, access=desk.access,
            draft=draft,
        ),
    }  # fmt: skip


def _view(request: HttpRequest, zone: str, at: datetime) -> timeline.View:
    """The day of the address, else the day the draft begins."""
    data = request.POST or request.GET
    day = _date(str(data.get("day", ""))) or timezone.localtime(at).date()
    wanted = data.get("span")
    span = wanted if wanted in timeline.SPANS else timeline.DAY
    return timeline.view_of(day, span, zone)


def _date(text: str) -> date | None:
    """A day of an address that a calendar can show."""
    try:
        found = parse_date(text)
    except ValueError:
        return None
    return found if found and found.year in zones.YEARS else None
