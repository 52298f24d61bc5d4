"""The form that asks for other figures in a pool, and the draft of either kind opened again."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from portal.common import clock
from portal.inventory import selectors as inventory
from portal.requests import asking, drafts, examining, outcomes, pages, quota_figures
from portal.requests.forms import AskForm
from portal.requests.models import Request, RequestKind, RequestState
from portal.teams import selectors as teams
from portal.teams.middleware import access_of

FORM_PAGES = ["GET", "HEAD", "POST"]


@require_http_methods(FORM_PAGES)
def quota(request: HttpRequest) -> HttpResponse:
    """Ask for other figures; the form begins with what the team has now."""
    if request.method == "POST":
        form = _form(request, RequestKind.QUOTA, request.POST)
        if outcomes.only_checks(request):
            return _page(request, form)
        done = outcomes.save(request, form, now=clock.now())
        return done or _page(request, form, status=422)
    return _page(request, _form(request, RequestKind.QUOTA, _filled_in(request)))


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
        offered = [str(value) for value, _ in form.fields[name].choices]  # type: ignore[attr-defined]
        if values.get(name, "") not in offered:
            values[name] = offered[0] if offered else ""
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
    asked = asking.unsaved(form.asked()) if form.is_valid() else None
    if asked is None and not form.fields["team"].choices:  # type: ignore[attr-defined]
        raise Http404
    return render(
        request,
        "requests/form.html",
        {
            "form": form,
            "row": row,
            "is_quota": form.kind == RequestKind.QUOTA,
            "examined": examining.examine(asked, now, with_price=True) if asked else None,
            "zone_note": pages.zone_note(),
            "has_pools": bool(form.fields["pool"].choices),  # type: ignore[attr-defined]
        },
        status=status,
    )
