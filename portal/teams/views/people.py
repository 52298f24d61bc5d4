"""Who holds which role where: given, taken, and offered by invitation."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from portal.common import clock, outbox
from portal.common.errors import Missing, Refusal
from portal.common.forms import add_refusal
from portal.teams import inviting, selectors
from portal.teams.forms import AcceptForm, RoleForm
from portal.teams.middleware import access_of
from portal.teams.models import Role
from portal.teams.permissions import ASK
from portal.teams.selectors import Access

PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """List the people of one's branches; POST gives a role, or invites who has no account."""
    access = access_of(request)
    choices = _teams(access)
    form = RoleForm(request.POST or None, teams=choices)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        try:
            link = _give(access, form.cleaned_data)
        except Refusal as refusal:
            add_refusal(form, _named(refusal))
        else:
            if link is None:
                messages.success(request, _("The role is given."))
                return redirect("teams:people")
            context = {
                "link": link, "invited": form.cleaned_data["who"],
                "has_server": outbox.has_mail_server(),
            }  # fmt: skip
            form = RoleForm(teams=choices)
    return render(request, "teams/people.html", _page(request, access) | context | {"form": form})


def _give(access: Access, chosen: dict[str, Any]) -> str | None:
    """Give the role, or return the link of an invitation."""
    role, team_id = Role(chosen["role"]), int(chosen["team"]) if chosen["team"] else None
    if "@" in chosen["who"]:
        return inviting.invite(
            access=access, email=chosen["who"], role=role, team_id=team_id,
            real_now=clock.real_now(),
        ).link  # fmt: skip
    inviting.grant(
        access=access, username=chosen["who"], role=role, team_id=team_id, now=clock.now()
    )
    return None


def _named(refusal: Refusal) -> Refusal:
    """Show at the form's one field what a service says of a sign-in name."""
    if "username" in refusal.fields:
        refusal.fields["who"] = refusal.fields.pop("username")
    return refusal


def _teams(access: Access) -> list[tuple[str, str]]:
    """Where this person may give roles, as choices."""
    tree = selectors.get_tree(now=clock.now())
    own = selectors.list_teams(access, roles=ASK, tree=tree)
    choices = [(str(team.id), tree.path_name(team.id)) for team in own]
    everywhere = [("", str(_("The whole organisation")))] if access.holds({Role.ADMIN}) else []
    return everywhere + choices


def _page(request: HttpRequest, access: Access) -> dict[str, Any]:
    ids = access.teams(ASK)
    words = request.GET.get("q", "")[:100]
    found = selectors.query_people(team_ids=ids, words=words)
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    names = selectors.team_names()
    rows = [
        (person, [
            (held, names.get(held.team_id or 0), held.role in inviting.grantable(access, held.team_id))
            for held in person.roles
        ])
        for person in selectors.list_people(page.object_list, team_ids=ids)
    ]  # fmt: skip
    invitations = [
        (row, names.get(row.team_id or 0))
        for row in selectors.list_invitations(team_ids=ids, real_now=clock.real_now())
    ]
    may_forget = access.holds({Role.ADMIN})
    return {
        "page": page, "people": rows, "invitations": invitations, "q": words,
        "may_forget": may_forget,
    }  # fmt: skip


@require_POST
def revoke(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Take a role back."""
    try:
        inviting.revoke(access=access_of(request), assignment_id=assignment_id)
    except Missing:
        raise Http404 from None
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, _("The role is taken back."))
    return redirect("teams:people")


@require_POST
def withdraw(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """Let an invitation open nothing any more."""
    try:
        inviting.withdraw(
            access=access_of(request), invitation_id=invitation_id, real_now=clock.real_now()
        )
    except Missing:
        raise Http404 from None
    messages.success(request, _("The invitation no longer opens anything."))
    return redirect("teams:people")


@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Make one's own account from an invitation."""
    if inviting.find_open(token=token, real_now=clock.real_now()) is None:
        raise Http404
    form = AcceptForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            inviting.accept(
                token=token, now=clock.now(), real_now=clock.real_now(), **form.cleaned_data
            )
        except Missing:
            raise Http404 from None
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("Your account is ready. Sign in."))
            return redirect("account_login")
    return render(request, "teams/accept.html", {"form": form})
