"""SLAs: what was promised, how often it was kept, and who answers for the rest."""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from portal.common import clock, tables
from portal.common import forms as common_forms
from portal.common.errors import Missing, Refusal
from portal.requests import matrix, pages, sla_pages
from portal.slas import selectors, services
from portal.slas.models import Breach
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import Role, User
from portal.teams.permissions import ASK, DECIDE, WORK

FORM_PAGES = ["GET", "HEAD", "POST"]


@require_GET
def show(request: HttpRequest) -> HttpResponseBase:
    """Promises and breaches of the teams one has a role in."""
    now, access = clock.now(), access_of(request)
    tree = teams.get_tree(now=now)
    own = matrix.readable(access, tree)
    wanted = request.GET.get("days", "")
    days = next((d for d in sla_pages.PERIODS if str(d) == wanted), 30)
    form = sla_pages.BreachFilter(request.GET, teams=own)
    chosen = form.chosen()
    seen = {"yes": True, "no": False}.get(chosen.get("seen", ""))
    rows = selectors.query_breaches(
        team_ids=access.teams(WORK), kind=chosen.get("kind"), team_id=chosen.get("team"),
        acknowledged=seen,
    )  # fmt: skip
    table = sla_pages.BreachTable(
        rows, now=now, may_answer=lambda team_id: access.holds(ASK, team_id=team_id)
    )
    return tables.listing(
        request,
        table,
        "requests/slas.html",
        lambda: {
            "lines": sla_pages.list_lines(teams=own, tree=tree, days=days, now=now),
            "form": form,
            "days": days,
            "periods": sla_pages.PERIODS,
            "may_set": access.holds_anywhere(DECIDE),
            "may_name": access.holds(DECIDE),
            "may_ask": access.holds_anywhere(ASK),
            "sees_work": access.holds_anywhere(WORK),
        },
        filename="breaches",
    )


@require_http_methods(FORM_PAGES)
def give(request: HttpRequest) -> HttpResponse:
    """Give a team a tier, or none."""
    now, access = clock.now(), access_of(request)
    own = matrix.editable(access, teams.get_tree(now=now))
    zone = timezone.get_current_timezone_name()
    form = sla_pages.SlaSetForm(
        request.POST if request.method == "POST" else None, teams=own, zone=zone
    )
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            services.set_sla(
                team_id=said["team"], pool_id=said["pool"] or None, tier_id=said["tier"] or None,
                valid_from=said["starts_at"] or now, valid_to=said["ends_at"],
                actor_id=_who(request), now=now,
            )  # fmt: skip
        except Refusal as refusal:
            common_forms.add_refusal(form, refusal)
        else:
            messages.success(request, _("Saved. It counts for jobs that come from then on."))
            return HttpResponseRedirect(reverse("requests:slas"))
    return _form_page(request, form, _("Give a team an SLA"), zone_note=pages.zone_note())


@require_http_methods(FORM_PAGES)
def tiers(request: HttpRequest) -> HttpResponse:
    """Name a promise that teams can be given, or give one to nobody any more."""
    now = clock.now()
    if request.method == "POST" and request.POST.get("retire", "").isdigit():
        return _retire(request, int(request.POST["retire"]))
    form = sla_pages.TierForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            services.create_tier(
                name=said["name"], target_wait_seconds=said["wait_minutes"] * 60,
                goal_permille=int(said["goal"] * 10), actor_id=_who(request), now=now,
                answer_seconds=said["answer_hours"] * 3600 if said["answer_hours"] else None,
            )  # fmt: skip
        except Refusal as refusal:
            common_forms.add_refusal(form, refusal)
        else:
            messages.success(request, _("The tier can be given to teams now."))
            return HttpResponseRedirect(reverse("requests:tiers"))
    return _form_page(request, form, _("Tiers"), tiers=selectors.list_tiers(), is_tiers=True)


@require_http_methods(FORM_PAGES)
def breach(request: HttpRequest, breach_id: int) -> HttpResponse:
    """One promise that was not kept: read it, or say who looks after it and why."""
    now = clock.now()
    try:
        row = selectors.get_breach(breach_id=breach_id)
    except Missing:
        raise Http404 from None
    form = sla_pages.AcknowledgeForm(
        request.POST if request.method == "POST" else None, people=_people(row, now),
        initial={"version": row.version, "note": row.note, "owner": row.owner_id},
    )  # fmt: skip
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            services.acknowledge(
                breach_id=breach_id, note=said["note"], owner_id=said["owner"] or None,
                actor_id=_who(request), now=now, version=said["version"],
            )  # fmt: skip
        except Refusal as refusal:
            common_forms.add_refusal(form, refusal)
        else:
            messages.success(request, _("Acknowledged. The reason stands beside it."))
            return HttpResponseRedirect(reverse("requests:slas"))
    return _form_page(request, form, _("A promise was not kept"), breach=row)


def _retire(request: HttpRequest, tier_id: int) -> HttpResponse:
    try:
        services.retire_tier(tier_id=tier_id, actor_id=_who(request), now=clock.now())
    except Missing:
        raise Http404 from None
    messages.success(request, _("It is given to nobody any more; who has it keeps it."))
    return HttpResponseRedirect(reverse("requests:tiers"))


def _people(row: Breach, now: Any) -> list[tuple[int, str]]:
    """Who can look after it: leads and admins of the team, its branch and the organisation."""
    found = teams.get_tree(now=now).get(row.team_id)
    above = found.path if found else (row.team_id,)
    holds = Q(role_assignments__role__in=[Role.LEAD, Role.ADMIN])
    reach = Q(role_assignments__team_id__in=above) | Q(role_assignments__team__isnull=True)
    people = User.objects.filter(holds & reach, is_active=True).distinct().order_by("username")
    return [(user.pk, str(user)) for user in people]


def _form_page(request: HttpRequest, form: Any, title: str, **context: Any) -> HttpResponse:
    status = 422 if request.method == "POST" else 200
    values = {"form": form, "title": title, **context}
    return render(request, "requests/sla_form.html", values, status=status)


def _who(request: HttpRequest) -> int:
    assert isinstance(request.user, User)
    return request.user.pk
