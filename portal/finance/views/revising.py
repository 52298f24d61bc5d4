"""Correcting a final statement, and talking about its lines."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.finance import selectors, services, words
from portal.finance.forms import RevisionForm
from portal.finance.views import common
from portal.finance.views.common import confirmed
from portal.teams import selectors as teams


@confirmed
def revise(request: HttpRequest, statement_id: int) -> HttpResponse:
    """What was wrong, line by line, and why; then the next revision."""
    detail = selectors.get_statement(statement_id=statement_id)
    tree = teams.get_tree(now=clock.now())
    form = RevisionForm(
        request.POST or None,
        lines=detail.lines,
        teams=[(row.id, tree.path_name(row.id)) for row in tree.rows],
    )
    if request.method == "POST" and form.is_valid():
        try:
            new = services.revise_statement(
                statement_id=statement_id, corrections=form.corrections(),
                reason=form.cleaned_data["reason"], actor_id=common.who(request), now=clock.now(),
            )  # fmt: skip
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("Revision %(number)d is made.") % {"number": new.revision})
            return redirect("finance:statement", statement_id=new.pk)
    row = detail.statement
    context = {
        "form": form,
        "statement": row,
        "month_title": words.month(row.period_starts_at, row.zone),
        **common.verdict(row.period_starts_at),
        "rows": [
            (line, words.line(line), words.rate(line.rate_micro, row.currency), *form.row(line))
            for line in detail.lines
        ],
    }
    return render(request, "finance/revise.html", context)


@require_POST
def comment(request: HttpRequest, statement_id: int) -> HttpResponse:
    """Keep a remark, then show the statement again."""
    line = request.POST.get("line", "")
    try:
        services.comment(
            statement_id=statement_id, text=request.POST.get("text", ""),
            line_id=int(line) if line.isascii() and line.isdigit() and len(line) < 18 else None,
            actor_id=common.who(request), now=clock.now(),
        )  # fmt: skip
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, _("Your remark is kept with the statement."))
    return redirect("finance:statement", statement_id=statement_id)
