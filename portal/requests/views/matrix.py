"""The matrix of quotas: read it, set a pool's figures and see first what changes for whom."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.common import clock
from portal.common.errors import Missing, Refusal
from portal.inventory import selectors as inventory
from portal.quotas import selectors as quotas
from portal.quotas import services as quota_services
from portal.requests import conflicts, effects, matrix, pages, quota_figures, quota_forms
from portal.requests.quota_forms import MatrixForm
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import ASK, DECIDE
from portal.teams.selectors import TeamRow

TEAMS_A_PAGE = 50


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """All pools, now."""
    now, access = clock.now(), access_of(request)
    tree = teams.get_tree(now=now)
    page = _page_of(request, matrix.readable(access, tree))
    shown = frozenset(team.id for team in page.object_list)
    found = matrix.read(access=access, tree=tree, now=now, team_ids=shown)
    context = {
        "matrix": found,
        "page": page,
        "over_limits": conflicts.over_limits(now, found.over),
        "may_edit": access.holds_anywhere(DECIDE),
        "may_ask": access.holds_anywhere(ASK),
        "all_teams": access.teams(DECIDE) is None,
    }
    return render(request, "requests/matrix.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def pool(request: HttpRequest, pool_id: int) -> HttpResponse:
    """One pool's figures as a form; a POST shows what would change, or saves it."""
    found, page = _pool(pool_id), _page_of(request, _editable(request))
    if request.method != "POST":
        return _form_page(request, found, page, _filled_in(page, pool_id))
    form = quota_forms.form_of(list(page.object_list), zone=_zone(), data=request.POST)
    if not form.is_valid() or request.POST.get("do") != "save":
        return _form_page(request, found, page, form, status=200 if form.is_valid() else 422)
    try:
        saved = _save(request, pool_id, form)
    except Refusal as refusal:
        form.take(refusal)
        return _form_page(request, found, page, form, status=422)
    say = ngettext("Saved for %(count)s team.", "Saved for %(count)s teams.", saved)
    messages.success(
        request,
        say % {"count": saved} if saved else _("Nothing was changed, so nothing was saved."),
    )
    here = reverse("requests:quota-pool", args=[pool_id])
    return HttpResponseRedirect(f"{here}?page={page.number}" if page.number > 1 else here)


@require_POST
def look(request: HttpRequest, pool_id: int) -> HttpResponse:
    """What the form as it stands would change; nothing is written."""
    found, page = _pool(pool_id), _page_of(request, _editable(request))
    form = quota_forms.form_of(list(page.object_list), zone=_zone(), data=request.POST)
    return render(request, "requests/parts/effects.html", _seen(form, found))


@require_GET
def history(request: HttpRequest, team_id: int, pool_id: int) -> HttpResponse:
    """What a team had, has and will have in a pool, and who changed it."""
    now, found = clock.now(), _pool(pool_id)
    team = teams.get_tree(now=now).get(team_id)
    if team is None:
        raise Http404
    told = matrix.list_told(team_id=team_id, pool_id=pool_id)
    newest = quotas.newest_ids(pool_id=pool_id, team_ids=[team_id]).get(team_id)
    context = {
        "team": team,
        "pool": found,
        "rows": quotas.list_history(team_id=team_id, pool_id=pool_id)[::-1],
        "told": [(change, pages.differences(change.was, change.now)) for change in told],
        "newest": newest,
        "may_undo": access_of(request).holds(DECIDE, team_id=team_id),
    }
    return render(request, "requests/quota_history.html", context)


@require_POST
def undo(request: HttpRequest, quota_id: int) -> HttpResponse:
    """Take the newest change back."""
    assert isinstance(request.user, User)
    try:
        rows = quota_services.undo(quota_id=quota_id, actor_id=request.user.pk, now=clock.now())
    except Missing:
        raise Http404 from None
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
        return HttpResponseRedirect(_back(request))
    messages.success(request, _("Taken back: the figures from before hold again."))
    where = [rows[0].team_id, rows[0].pool_id]
    return HttpResponseRedirect(reverse("requests:quota-history", args=where))


def _back(request: HttpRequest) -> str:
    """The page one came from, where it is one of ours."""
    page = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(page, allowed_hosts={request.get_host()})
    return page if ours else reverse("requests:quotas")


@dataclass(frozen=True, slots=True)
class NamedPool:
    """A pool as these pages name it."""

    id: int
    name: str


def _pools() -> list[NamedPool]:
    return [NamedPool(pk, name) for pk, name in inventory.pool_names().items()]


def _pool(pool_id: int) -> NamedPool:
    found = next((pool for pool in _pools() if pool.id == pool_id), None)
    if found is None:
        raise Http404
    return found


def _editable(request: HttpRequest) -> list[TeamRow]:
    return matrix.editable(access_of(request), teams.get_tree(now=clock.now()))


def _page_of(request: HttpRequest, rows: list[TeamRow]) -> "Page[TeamRow]":
    return Paginator(rows, TEAMS_A_PAGE).get_page(request.GET.get("page"))


def _zone() -> str:
    return timezone.get_current_timezone_name()


def _filled_in(page: "Page[TeamRow]", pool_id: int) -> MatrixForm:
    """The form with what holds now; it remembers which change was the newest."""
    now, ids = clock.now(), [team.id for team in page.object_list]
    held = {q.team_id: q for q in quotas.list_quotas(at=now, pool_id=pool_id, team_ids=ids)}
    return quota_forms.form_of(
        list(page.object_list),
        zone=_zone(),
        figures={team_id: quota_figures.of(held.get(team_id)) for team_id in ids},
        newest=quotas.newest_ids(pool_id=pool_id, team_ids=ids),
    )


def _save(request: HttpRequest, pool_id: int, form: MatrixForm) -> int:
    """Save the rows that differ from what would hold then; how many those are."""
    assert isinstance(request.user, User)
    now = clock.now()
    begins = form.valid_from(now)
    moved = [
        row
        for row in form.wanted()
        if row.figures
        != quota_figures.get(team_id=row.team_id, pool_id=pool_id, at=max(begins, now))
    ]
    if moved:
        quota_services.change_all(
            pool_id=pool_id, wanted=moved, valid_from=begins, actor_id=request.user.pk, now=now
        )
    return len(moved)


def _form_page(
    request: HttpRequest,
    found: NamedPool,
    page: "Page[TeamRow]",
    form: MatrixForm,
    status: int = 200,
) -> HttpResponse:
    context = {
        **_seen(form, found),
        "form": form,
        "page": page,
        "pools": _pools(),
        "zone_note": pages.zone_note(),
    }
    return render(request, "requests/matrix_pool.html", context, status=status)


def _seen(form: MatrixForm, found: NamedPool) -> dict[str, Any]:
    """The effects of the form as it stands, or the sums as they are."""
    now = clock.now()
    seen = None
    if form.when.is_bound and form.is_valid():
        seen = effects.of(
            pool_id=found.id, wanted=form.wanted(), valid_from=form.valid_from(now), now=now
        )
    return {
        "pool": found,
        "effects": seen,
        "sums": matrix.sums_of(pool_id=found.id, from_at=now),
        "unreadable": form.faults() if form.when.is_bound else [],
    }
