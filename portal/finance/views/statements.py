"""One statement: as a page and in its exports, and marking it paid."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.common import clock, csv
from portal.finance import downloads, exports, selectors, services, words
from portal.finance.models import StatementState
from portal.finance.views import common
from portal.finance.views.common import confirmed
from portal.teams.middleware import access_of
from portal.teams.permissions import ASK, BILL, COST


@require_safe
def statement(request: HttpRequest, statement_id: int) -> HttpResponse:
    """One statement with its lines, tax apart."""
    access = access_of(request)
    detail = selectors.get_statement(statement_id=statement_id)
    row = detail.statement
    found = selectors.get_reconciliation(instant=row.period_starts_at)
    money = selectors.shows_money()
    context = {
        "statement": row,
        "month_title": words.month(row.period_starts_at, row.zone),
        "lines": [
            (
                line,
                words.line(line),
                words.rate(line.rate_micro, row.currency),
                detail.said_of(line),
            )
            for line in detail.lines
        ],
        "comments": detail.said_of(None),
        "revisions": detail.revisions,
        "may_comment": access.holds(ASK | BILL, team_id=row.team_id),
        "may_revise": access.holds(BILL)
        and row.state is StatementState.FINAL
        and row.superseded_at is None,
        "tone": words.TONES[row.state],
        "idle_words": words.listed(str(x.idle_rule.label) for x in detail.lines if x.idle_rule),
        "meanings": words.meanings(detail.lines),
        "tax_words": words.listed(words.percent(x.tax_basis_points) for x in detail.lines),
        "reconciliation": found,
        "sees_all": access.holds(COST) and money,
        "shows_money": money,
        "held": words.hours(row.held),
        "verdict": words.verdict(found) if found else "",
        "may_pay": access.holds(BILL, team_id=row.team_id)
        and row.state is StatementState.FINAL
        and row.superseded_at is None,
    }
    return render(request, "finance/statement.html", context)


@require_safe
def statement_csv(request: HttpRequest, statement_id: int) -> HttpResponseBase:
    """The statement as its page shows it, as CSV."""
    detail = selectors.get_statement(statement_id=statement_id)
    name = f"statement-{detail.statement.month}-{statement_id}"
    return csv.response(name, exports.for_people(detail, money_too=selectors.shows_money()))


@require_safe
def statement_xlsx(request: HttpRequest, statement_id: int) -> HttpResponse:
    """The statement as a spreadsheet."""
    return downloads.xlsx(statement_id)


@require_safe
def statement_focus(request: HttpRequest, statement_id: int) -> HttpResponseBase:
    """The statement in the columns of FOCUS."""
    detail = selectors.get_statement(statement_id=statement_id)
    return downloads.focus_csv(f"focus-{detail.statement.month}-{statement_id}", [detail])


@require_safe
def statement_pdf(request: HttpRequest, statement_id: int) -> HttpResponse:
    """The statement on paper, in the reader's language; while it is laid out, a page that waits."""
    row = downloads.printed(statement_id, now=clock.now())
    if row.content is not None:
        return downloads.pdf(row)
    detail = selectors.get_statement(statement_id=statement_id)
    statement = detail.statement
    context = {
        "statement": statement,
        "month_title": words.month(statement.period_starts_at, statement.zone),
        "fault": row.fault,
    }
    answer = render(request, "finance/printing.html", context, status=501 if row.fault else 202)
    if not row.fault:
        answer["Refresh"] = "3"
    return answer


@confirmed
def paid(request: HttpRequest, statement_id: int) -> HttpResponse:
    """Ask before a statement is marked paid; then mark it."""
    row = selectors.get_statement(statement_id=statement_id).statement
    refusal = None
    if request.method == "POST":
        refusal = common.attempt(
            lambda: services.mark_paid(
                statement_id=statement_id, actor_id=common.who(request), now=clock.now()
            )
        )
        if refusal is None:
            messages.success(request, _("The statement is marked paid."))
            return redirect("finance:statement", statement_id=statement_id)
    context = {
        "statement": row,
        "month_title": words.month(row.period_starts_at, row.zone),
        **common.verdict(row.period_starts_at),
        "refusal": refusal,
    }
    return render(request, "finance/paid.html", context, status=refusal.status if refusal else 200)
