"""One's inbox, how one wants to be told, and what programs are told."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.common import clock
from portal.common import outbox as common_outbox
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.notifications import selectors, services, words
from portal.notifications.forms import HookForm, WishesForm
from portal.notifications.kinds import KINDS
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE

PAGE = 50


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What I was told, newest first."""
    user_id = int(request.user.pk or 0)
    unread, kind = request.GET.get("show") == "unread", request.GET.get("kind", "")
    rows = selectors.query_inbox(user_id=user_id, unread=unread, kind=kind)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    actors = {row.actor_id for row in page.object_list if row.actor_id}
    people = {user.pk: str(user) for user in User.objects.filter(pk__in=actors)}
    names = teams.team_names()
    context = {
        "page": page,
        "lines": [
            (row, words.sentence(row, people=people, teams=names), words.page(row))
            for row in page.object_list
        ],
        "unread": unread,
        "kind": kind,
        "kinds": KINDS,
        "count": selectors.count_unread(user_id=user_id),
        "may_tell_others": access_of(request).holds(DECIDE),
    }
    return render(request, "notifications/inbox.html", context)


@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Mark one piece of news as read and go to its thing, or mark all."""
    number = request.POST.get("notification", "")
    one = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None
    user_id = int(request.user.pk or 0)
    services.mark_read(user_id=user_id, notification_id=one, real_now=clock.real_now())
    row = selectors.query_inbox(user_id=user_id).filter(pk=one).first() if one else None
    return redirect((words.page(row) if row else "") or "notifications:inbox")


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """How I want each kind of news by e-mail."""
    user = request.user
    assert isinstance(user, User)
    wishes = {kind.name: wish for kind, wish in selectors.list_wishes(user_id=user.pk)}
    form = WishesForm(request.POST or None, wishes=wishes)
    if request.method == "POST" and form.is_valid():
        services.set_preferences(user_id=user.pk, mailing=form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("notifications:settings")
    context = {"form": form, "address": user.email, "has_server": common_outbox.has_mail_server()}
    return render(request, "notifications/settings.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def hooks(request: HttpRequest) -> HttpResponse:
    """Programs and chats that are told; POST adds one and shows its secret, this once."""
    names = teams.team_names()
    form = HookForm(request.POST or None, teams=list(names.items()))
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            context["secret"] = services.add_hook(
                name=chosen["name"], way=chosen["way"], address=chosen["address"].strip(),
                kinds=chosen["kinds"], team_id=int(chosen["team"]) if chosen["team"] else None,
                actor_id=request.user.pk, real_now=clock.real_now(),
            )  # fmt: skip
            context |= {"form": HookForm(teams=list(names.items())), "added": chosen["name"]}
        except Refusal as refusal:
            add_refusal(form, refusal)
    labels = {kind.name: kind.label for kind in KINDS}
    context["hooks"] = [
        (row, names.get(row.team_id or 0), [labels.get(kind, kind) for kind in row.kinds])
        for row in selectors.list_hooks()
    ]
    return render(request, "notifications/hooks.html", context)


@require_POST
def retire_hook(request: HttpRequest, hook_id: int) -> HttpResponse:
    """Tell this one no more."""
    services.retire_hook(hook_id=hook_id, actor_id=request.user.pk, real_now=clock.real_now())
    messages.success(request, _("It is told no more."))
    return redirect("notifications:hooks")
