"""What is on its way out of the portal, what was given up, and once more."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from portal.common import clock
from portal.common import outbox as common_outbox
from portal.notifications import leaving, services

PAGE = 50


@require_safe
def outbox(request: HttpRequest) -> HttpResponse:
    """List what was given up, or what still waits to be sent."""
    waiting = request.GET.get("show") == "waiting"
    page = Paginator(leaving.query(given_up=not waiting), PAGE).get_page(request.GET.get("page"))
    rows = leaving.list_rows(list(page.object_list))
    context = {
        "page": page,
        "rows": [(row, leaving.why(row)) for row in rows],
        "waiting": waiting,
        "has_server": common_outbox.has_mail_server(),
        "given_up": leaving.query(given_up=True).count(),
    }
    return render(request, "notifications/outbox.html", context)


@require_POST
def try_again(request: HttpRequest) -> HttpResponse:
    """Let one message, or all that were given up, be sent once more."""
    number = request.POST.get("message", "")
    one = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None
    if number and one is None:
        return redirect("notifications:outbox")
    again = services.try_again(message_id=one, actor_id=request.user.pk, real_now=clock.real_now())
    messages.success(
        request,
        ngettext("%(n)d message is sent again.", "%(n)d messages are sent again.", again)
        % {"n": again}
        if again
        else _("Nothing was given up."),
    )
    return redirect("notifications:outbox")
