"""The rules everybody may read and the organisation's admins set."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.common import clock, money
from portal.common import forms as common_forms
from portal.common.errors import Missing, Refusal
from portal.inventory import selectors as inventory
from portal.inventory.selectors import PoolRow
from portal.requests import approving, rule_forms
from portal.requests.rule_forms import ApprovalForm
from portal.reservations import rules as booking
from portal.reservations import services as reservations
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE
from portal.workloads import classes

Rows = Sequence[tuple[Any, Any]]


@require_http_methods(["GET", "HEAD"])
def show(request: HttpRequest) -> HttpResponse:
    """All rules; those who set them find them as forms."""
    return _page(request)


@require_http_methods(["POST"])
def save(request: HttpRequest) -> HttpResponse:
    """Set the rules of the section whose button was pressed."""
    what = request.POST.get("do", "")
    if what.startswith("drop-") and what.removeprefix("drop-").isdigit():
        return _drop(request, int(what.removeprefix("drop-")))
    act = {"approval": _add, "booking": _book, "classes": _class, "doors": _door}.get(what)
    if act is None:
        return _page(request, status=422)
    changed = act(request)
    if changed:
        return _page(request, status=422, **changed)
    messages.success(request, _("Saved. It binds what is asked, booked or started from now on."))
    return HttpResponseRedirect(reverse("requests:rules"))


def _drop(request: HttpRequest, rule_id: int) -> HttpResponse:
    try:
        approving.drop_rule(rule_id=rule_id, actor_id=_who(request))
    except Missing:
        raise Http404 from None
    messages.success(request, _("The rule binds nothing that is submitted from now on."))
    return HttpResponseRedirect(reverse("requests:rules"))


def _add(request: HttpRequest) -> dict[str, Any]:
    form = ApprovalForm(request.POST, pools=_pools())
    if form.is_valid():
        try:
            approving.add_rule(actor_id=_who(request), **form.rule())
        except Refusal as refusal:
            common_forms.add_refusal(form, refusal)
    return {} if form.is_valid() else {"approval_form": form}


def _book(request: HttpRequest) -> dict[str, Any]:
    rows = rule_forms.booking_rows(_pools(), {}, request.POST)

    def act(pool_id: int, form: Any) -> None:
        if form.rules() != booking.get_rules(pool_id=pool_id):
            reservations.set_rules(
                pool_id=pool_id, figures=form.rules(), actor_id=_who(request), now=clock.now()
            )

    return {} if _each(rows, act) else {"booking_rows": rows}


def _class(request: HttpRequest) -> dict[str, Any]:
    known = classes.get_classes()
    rows = rule_forms.class_rows(known, _levels(), request.POST)

    def act(kind: str, form: Any) -> None:
        if form.rule() != known.of(kind):
            classes.set_class(kind=kind, rule=form.rule(), actor_id=_who(request))

    return {} if _each(rows, act) else {"class_rows": rows}


def _door(request: HttpRequest) -> dict[str, Any]:
    known = classes.get_classes()
    rows = rule_forms.door_rows(_pools(), known, request.POST)

    def act(pool_id: int, form: Any) -> None:
        had = {kind: door for (pool, kind), door in known.doors.items() if pool == pool_id}
        if form.doors() != had:
            classes.set_doors(pool_id=pool_id, doors=form.doors(), actor_id=_who(request))

    return {} if _each(rows, act) else {"door_rows": rows}


def _each(rows: Rows, act: Any) -> bool:
    """Save row by row once all can be read; false leaves the faults on the rows."""
    if not all(form.is_valid() for _key, form in rows):
        return False
    for key, form in rows:
        try:
            act(key, form)
        except Refusal as refusal:
            common_forms.add_refusal(form, refusal)
            return False
    return True


def _page(request: HttpRequest, status: int = 200, **changed: Any) -> HttpResponse:
    pools, known = _pools(), classes.get_classes()
    may_set = access_of(request).holds(DECIDE)
    context: dict[str, Any] = {
        "approval_rules": [(rule, _cost(rule.min_cost_micro)) for rule in approving.list_rules()],
        "approval_form": ApprovalForm(pools=pools),
        "booking_rows": rule_forms.booking_rows(pools, booking.list_rules()),
        "class_rows": rule_forms.class_rows(known, _levels()),
        "door_rows": rule_forms.door_rows(pools, known),
        "may_set": may_set,
        **changed,
    }
    for section in ("booking_rows", "class_rows", "door_rows"):
        _lock(context[section], may_set=may_set)
    return render(request, "requests/rules.html", context, status=status)


def _lock(rows: Rows, *, may_set: bool) -> None:
    """Who may not set them reads them."""
    for _key, form in rows:
        for field in form.fields.values():
            field.disabled = not may_set


def _cost(micro: int | None) -> str:
    return "" if micro is None else money.show(micro, teams.get_organisation().currency)


def _pools() -> list[PoolRow]:
    return inventory.list_pools(now=clock.now())


def _levels() -> list[str]:
    """Every level of the topology some pool has."""
    found = (level for pool in _pools() for level in pool.topology_levels)
    return [level for level in dict.fromkeys(found) if level != "node"]


def _who(request: HttpRequest) -> int:
    assert isinstance(request.user, User)
    return request.user.pk
