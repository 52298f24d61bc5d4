"""Planned work on nodes, the drain before it, and what no longer adds up because of it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from portal.common import clock
from portal.common import forms as common_forms
from portal.common.errors import Missing, Refusal
from portal.common.forms import offer
from portal.inventory import selectors as inventory
from portal.inventory import services
from portal.quotas import bounds
from portal.requests import conflicts, local_times, pages
from portal.requests.conflicts import Work
from portal.requests.forms import NeedingForm, moment
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE

AHEAD = timedelta(days=92)
BEHIND = timedelta(days=7)


class PlanForm(NeedingForm):
    """Work on some nodes, from when until when."""

    needed = ("starts_at", "ends_at")

    nodes = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Nodes"), coerce=int, widget=forms.SelectMultiple(attrs={"size": 8})
    )
    starts_at = moment(gettext_lazy("From"))
    ends_at = moment(gettext_lazy("Until"))
    drain_from = moment(
        gettext_lazy("Drained from"), gettext_lazy("Empty: jobs start there until it begins.")
    )
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=200, required=False)
    zone = forms.CharField(max_length=64, widget=forms.HiddenInput())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        by_pool: dict[str, list[tuple[int, str]]] = {}
        for node in inventory.list_nodes(now=clock.now()):
            by_pool.setdefault(node.pool_name, []).append((node.id, node.name))
        offer(self, "nodes", list(by_pool.items()))

    def clean(self) -> dict[str, Any]:
        """Read local times; both ends are needed."""
        cleaned = super().clean() or self.cleaned_data
        for name in ("starts_at", "ends_at", "drain_from"):
            text, cleaned[name] = cleaned.get(name) or "", None
            try:
                if text:
                    cleaned[name] = local_times.read(text, cleaned.get("zone") or "UTC")
                elif name != "drain_from":
                    self.add_error(name, _("Write a date and a time, such as 2026-11-02T09:00."))
            except (local_times.NotATime, KeyError, ValueError) as fault:
                self.add_error(name, str(fault))
        return cleaned

    def work(self) -> Work:
        """What was filled in."""
        said = self.cleaned_data
        return Work(
            said["nodes"], said["starts_at"], said["ends_at"], said["drain_from"], said["reason"]
        )


@dataclass(frozen=True, slots=True)
class Effects:
    """The conflicts some work would make beside those there are, or why it cannot be planned."""

    made: tuple[str, ...]
    refusal: str


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """What is planned, and what does not add up."""
    zone = timezone.get_current_timezone_name()
    return _page(request, PlanForm(initial={"zone": zone}))


@require_POST
def plan(request: HttpRequest) -> HttpResponse:
    """Plan work on all chosen nodes or on none, or only look at what it would do."""
    form = PlanForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    if request.POST.get("do") == "check":
        return _page(request, form, effects=_effects(form))
    try:
        conflicts.plan(form.work(), now=clock.now(), actor_id=_who(request))
    except Refusal as refusal:
        common_forms.add_refusal(form, refusal)
        return _page(request, form, status=422)
    count = len(form.cleaned_data["nodes"])
    say = ngettext("Planned for %(count)s node.", "Planned for %(count)s nodes.", count)
    messages.success(request, say % {"count": count})
    return HttpResponseRedirect(reverse("requests:maintenance"))


@require_POST
def look(request: HttpRequest) -> HttpResponse:
    """What the form as it stands would do; nothing is written."""
    form = PlanForm(request.POST)
    effects = _effects(form) if form.is_valid() else None
    return render(request, "requests/parts/work_effects.html", {"effects": effects})


@require_POST
def cancel(request: HttpRequest, window_id: int) -> HttpResponse:
    """Call work off, or end it now."""
    try:
        services.cancel_maintenance(window_id=window_id, now=clock.now(), actor_id=_who(request))
    except Missing:
        raise Http404 from None
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, _("Called off. The node counts again."))
    return HttpResponseRedirect(reverse("requests:maintenance"))


def _effects(form: PlanForm) -> Effects:
    now = clock.now()
    try:
        made = conflicts.made_by(form.work(), now=now)
    except Refusal as refusal:
        return Effects((), str(refusal.message))
    return Effects(tuple(conflicts.in_words(row, now) for row in made), "")


def _page(
    request: HttpRequest, form: PlanForm, effects: Effects | None = None, status: int = 200
) -> HttpResponse:
    now = clock.now()
    found = inventory.list_conflicts(now=now)
    context = {
        "form": form,
        "effects": effects,
        "rows": inventory.list_maintenance(from_at=now - BEHIND, to_at=now + AHEAD),
        "pools": {pool.id: pool.name for pool in inventory.list_pools(now=now)},
        "conflicts": [(row, conflicts.in_words(row, now)) for row in found],
        "over_limits": conflicts.over_limits(now, bounds.list_over_limit(now=now)),
        "may_plan": access_of(request).holds(DECIDE),
        "zone_note": pages.zone_note(),
    }
    return render(request, "requests/maintenance.html", context, status=status)


def _who(request: HttpRequest) -> int:
    assert isinstance(request.user, User)
    return request.user.pk
