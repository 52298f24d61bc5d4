"""A team's calendar for other programs: its addresses, and the calendar behind one."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.common import clock
from portal.common.errors import Missing, Refusal
from portal.reservations import feeds
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import ASK


@require_GET
def mine(request: HttpRequest) -> HttpResponse:
    """The teams whose calendars one may hand out."""
    rows = teams.list_teams(access_of(request), roles=ASK, tree=teams.get_tree(now=clock.now()))
    if len(rows) == 1:
        return HttpResponseRedirect(reverse("requests:feeds", args=[rows[0].id]))
    return render(request, "requests/feeds.html", {"teams": rows})


@require_http_methods(["GET", "HEAD", "POST"])
def of_team(request: HttpRequest, team_id: int) -> HttpResponse:
    """A team's feeds; a POST opens another and shows its address, this once."""
    assert isinstance(request.user, User)
    address, fault = "", ""
    if request.method == "POST":
        try:
            _feed, token = feeds.open_feed(
                team_id=team_id, name=request.POST.get("name", ""), actor_id=request.user.pk,
                now=clock.now(),
            )  # fmt: skip
        except Refusal as refusal:
            fault = str(refusal.message)
        else:
            path = reverse("requests:calendar", args=[token])
            address = request.build_absolute_uri(path)
    context = {
        "team": teams.get_tree(now=clock.now()).get(team_id),
        "feeds": feeds.list_feeds(team_id=team_id),
        "address": address,
        "fault": fault,
    }
    return render(request, "requests/feeds.html", context, status=422 if fault else 200)


@require_POST
def revoke(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Let an address lead nowhere any more."""
    assert isinstance(request.user, User)
    try:
        feeds.revoke_feed(feed_id=feed_id, actor_id=request.user.pk, now=clock.now())
    except Missing:
        raise Http404 from None
    messages.success(request, _("Revoked. Whoever has the address finds nothing there."))
    return HttpResponseRedirect(reverse("requests:my-feeds"))


@require_GET
def calendar(request: HttpRequest, token: str) -> HttpResponse:
    """The calendar behind a token, for whoever has it."""
    try:
        text = feeds.get_calendar(token=token, now=clock.now())
    except Missing:
        raise Http404 from None
    response = HttpResponse(text, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'inline; filename="reservations.ics"'
    return response
