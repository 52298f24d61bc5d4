"""The forms of all that is asked for but a slot, and the draft of any kind opened again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.common import clock
from portal.common import forms as common_forms
from portal.common.errors import Invalid
from portal.inventory import selectors as inventory
from portal.requests import asking, drafts, examining, outcomes, pages, quota_figures
from portal.requests.forms import AskForm
from portal.requests.models import Request, RequestKind, RequestState
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import ASK
from portal.teams.selectors import Tree

FORM_PAGES = ["GET", "HEAD", "POST"]


@require_http_methods(FORM_PAGES)
def quota(request: HttpRequest) -> HttpResponse:
    """Ask for other figures; the form begins with what the team has now."""
    if request.method == "POST":
        return _ask(request, RequestKind.QUOTA)
    return _page(request, _form(request, RequestKind.QUOTA, _filled_in(request)))


@require_http_methods(FORM_PAGES)
def extension(request: HttpRequest) -> HttpResponse:
    """Ask that a reservation ends later."""
    return _ask(request, RequestKind.EXTENSION)


@require_http_methods(FORM_PAGES)
def give_back(request: HttpRequest) -> HttpResponse:
    """Let a reservation end earlier."""
    return _ask(request, RequestKind.GIVE_BACK)


@require_http_methods(FORM_PAGES)
def sla(request: HttpRequest) -> HttpResponse:
    """Ask for another tier."""
    return _ask(request, RequestKind.SLA)


def _ask(request: HttpRequest, kind: RequestKind) -> HttpResponse:
    """Show a kind's form, look at what is in it, save a draft or submit it."""
    if request.method == "POST":
        form = _form(request, kind, request.POST)
        if outcomes.only_checks(request):
            return _page(request, form)
        done = outcomes.save(request, form, now=clock.now())
        return done or _page(request, form, status=422)
    zone = timezone.get_current_timezone_name()
    given = {name: value for name, value in request.GET.dict().items() if value}
    first = _form(request, kind, {}).first_choices()
    return _page(request, _form(request, kind, {"zone": zone, **first, **given}))


@require_http_methods(FORM_PAGES)
def edit(request: HttpRequest, request_id: int) -> HttpResponse:
    """Open a draft again; what is no draft any more is shown as it stands."""
    row = pages.find(request_id)
    if row.state != RequestState.DRAFT:
        return HttpResponseRedirect(reverse("requests:detail", args=[row.pk]))
    kind = RequestKind(row.kind)
    if request.method == "POST":
        form = _form(request, kind, request.POST)
        if outcomes.only_checks(request):
            return _page(request, form, row=row)
        done = outcomes.save(
            request, form, now=clock.now(), request_id=row.pk,
            version=outcomes.version_of(request.POST),
        )  # fmt: skip
        return done or _page(request, form, row=row, status=422)
    zone = timezone.get_current_timezone_name()
    return _page(request, _form(request, kind, drafts.typed(row, zone)), row=row)


def _form(request: HttpRequest, kind: RequestKind, data: Mapping[str, Any]) -> AskForm:
    now = clock.now()
    tree, pools = teams.get_tree(now=now), inventory.list_pools(now=now)
    return asking.form_for(kind, data, access=access_of(request), tree=tree, pools=pools)


def _filled_in(request: HttpRequest) -> dict[str, Any]:
    """What the address says, then the figures the team has in that pool now."""
    now = clock.now()
    form = _form(request, RequestKind.QUOTA, {})
    zone = timezone.get_current_timezone_name()
    values: dict[str, Any] = {"zone": zone, **request.GET.dict()}
    for name in ("team", "pool"):
        known = [str(value) for value, _label in common_forms.offered(form, name)]
        if values.get(name, "") not in known:
            values[name] = known[0] if known else ""
    if values["team"] and values["pool"]:
        figures = quota_figures.get(
            team_id=int(values["team"]), pool_id=int(values["pool"]), at=now
        )
        shown = {name: "" if value is None else value for name, value in figures.items()}
        values = {**shown, **values}
    return values


def _page(
    request: HttpRequest, form: AskForm, *, row: Request | None = None, status: int = 200
) -> HttpResponse:
    now = clock.now()
    asked = _asked(form, now)
    if asked is None and not teams.list_teams(access_of(request), roles=ASK, tree=_tree(now)):
        raise Http404
    return render(
        request,
        "requests/form.html",
        {
            "form": form,
            "row": row,
            "title": _titles()[form.kind],
            "lead": _leads().get(form.kind, ""),
            "is_quota": form.kind == RequestKind.QUOTA,
            "is_slot": form.kind == RequestKind.RESERVATION,
            "examined": examining.examine(asked, now, with_price=True) if asked else None,
            "zone_note": pages.zone_note(),
            "has_choices": form.has_choices,
        },
        status=status,
    )


def _asked(form: AskForm, now: datetime) -> Request | None:
    """What the form asks for, where it can be read."""
    try:
        return asking.unsaved(form.asked(), now)
    except Invalid:
        return None


def _tree(now: datetime) -> Tree:
    return teams.get_tree(now=now)


def _titles() -> dict[RequestKind, str]:
    return {
        RequestKind.RESERVATION: _("Edit the draft"),
        RequestKind.EXTENSION: _("Extend a reservation"),
        RequestKind.GIVE_BACK: _("Give a reservation back early"),
        RequestKind.QUOTA: _("Ask for another quota"),
        RequestKind.SLA: _("Ask for another SLA"),
    }


def _leads() -> dict[RequestKind, str]:
    return {
        RequestKind.EXTENSION: _("The same GPUs for longer: only the time it adds is asked for."),
        RequestKind.GIVE_BACK: _("What is left of it is free for others; nobody has to agree."),
        RequestKind.QUOTA: _(
            "All figures are asked for at once; the form begins with those that hold now."
        ),
        RequestKind.SLA: _("How long the team's jobs wait at most in a pool."),
    }
