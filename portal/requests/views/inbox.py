"""The list of requests, and one request with all that belongs to it."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from portal.common import clock, tables
from portal.requests import pages, selectors
from portal.requests.filters import RequestFilter
from portal.requests.tables import RequestTable
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import ANY_ROLE, ASK


@require_GET
def inbox(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Requests in reach, by tab; filtered, sorted and paged here, whole as CSV."""
    now, access = clock.now(), access_of(request)
    tree = teams.get_tree(now=now)
    waiting = selectors.count_to_decide(access=access, now=now)
    request.waiting_to_decide = waiting  # type: ignore[attr-defined]  # the frame shows it too
    tab = pages.tab_of(request.GET.get("tab", ""), waiting, access)
    narrowed = RequestFilter(
        request.GET,
        teams=[(t.id, t.name) for t in teams.list_teams(access, roles=ANY_ROLE, tree=tree)],
        pools=selectors.list_pool_names(),
    )
    rows = narrowed.narrow(selectors.list_requests(access=access, now=now, tab=tab))
    return tables.listing(
        request,
        RequestTable(rows, now=now, access=access),
        "requests/inbox.html",
        {
            "form": narrowed,
            "tabs": pages.tabs(tab, waiting, access),
            "tab": tab,
            "may_ask": access.holds_anywhere(ASK),
        },
        filename="requests",
    )


@require_GET
def detail(request: HttpRequest, request_id: int) -> HttpResponse:
    """One request: asked, possible, decided, said, and what became of it."""
    row = pages.find(request_id)
    context = pages.of_request(row, access=access_of(request), now=clock.now())
    return render(request, "requests/detail.html", context)
