"""Pages of the What-if lab."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from portal.common import charts, clock, csv, tables
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.inventory.models import Cluster
from portal.scheduling import ruling
from portal.studies import (
    asking,
    figuring,
    pictures,
    scoping,
    selectors,
    services,
    starting,
    words,
)
from portal.studies.forms import (
    FOR_A_TRACE,
    LABELS,
    PARTS,
    RULES,
    TRACE,
    DescribeForm,
    StudyFilter,
    UploadForm,
)
from portal.studies.selectors import StudyDetail
from portal.studies.tables import StudyTable, TraceTable
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE
from portal.teams.selectors import Tree

confirmed = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def studies(request: HttpRequest) -> HttpResponseBase:
    """Every study the reader may see, with its result in a line."""
    access = access_of(request)
    form = StudyFilter(request.GET)
    table = StudyTable(selectors.query_studies(access, **form.chosen()), now=clock.now())
    if request.GET.get("format") == "csv":
        table.tell(selectors.rows(table.data.data))
        return tables.export(table, "studies")
    tables.arrange(request, table)
    table.tell(selectors.rows([row.record for row in table.page.object_list]))
    context = {
        "table": table,
        "form": form,
        "may_run": access.holds_anywhere(DECIDE),
        "has_cluster": Cluster.objects.exists(),
        "none": not table.paginator.count and not form.chosen(),
    }
    return render(request, "studies/list.html", context)


@confirmed
def new(request: HttpRequest) -> HttpResponse:
    """Ask for a study: whose jobs, and the one thing that changes."""
    access, now = access_of(request), clock.now()
    tree = teams.get_tree(now=now)
    post = request.POST if request.method == "POST" else None
    sheet = asking.sheet(post, request.GET, access, tree, now)
    if post is not None and sheet.is_valid():
        refusal, study_id = _ask(request, sheet, tree)
        if refusal is None:
            return redirect("studies:study", study_id=study_id)
        _spread(sheet, refusal)
    faulty = post is not None
    return render(request, "studies/new.html", _sheet_context(sheet), status=422 if faulty else 200)


def _ask(request: HttpRequest, sheet: asking.Sheet, tree: Tree) -> tuple[Refusal | None, int]:
    try:
        study = services.ask(
            asked=asking.settled(sheet.asked(), access_of(request), tree),
            actor_id=_who(request), now=clock.now(), real_now=clock.real_now(),
        )  # fmt: skip
    except Refusal as refusal:
        return refusal, 0
    transaction.on_commit(starting.wake)
    return None, study.pk


def _spread(sheet: asking.Sheet, refusal: Refusal) -> None:
    """Show a refusal at the fields it names, on whichever form has them."""
    part = sheet.part
    mine = part is not None and any(name in part.fields for name in refusal.fields)
    add_refusal(part if mine and part is not None else sheet.study, refusal)


def _sheet_context(sheet: asking.Sheet) -> dict[str, Any]:
    choice = sheet.choice
    known = [name for name in PARTS if choice.source != TRACE or name in FOR_A_TRACE]
    draft = choice.draft or {}
    return {
        "sheet": sheet,
        "choice": choice,
        "of_policy": [(name, LABELS[name]) for name in known if name in RULES],
        "of_others": [(name, LABELS[name]) for name in known if name not in RULES],
        "drafted": ruling.differences(sheet.desk.rules, draft) if draft else [],
        "lacks_traces": choice.source == TRACE and not sheet.desk.traces,
        "lacks_cluster": not sheet.desk.clusters,
    }


@require_safe
def study(request: HttpRequest, study_id: int) -> HttpResponseBase:
    """One study: how far it is, then both sides beside each other; live while it runs."""
    detail, now = _found(request, study_id), clock.now()
    drawn = pictures.of(detail, now)
    download = charts.download(request, drawn)
    if download is not None:
        return download
    state, tone = words.STATES[detail.row.state]
    context = {
        "detail": detail,
        "row": detail.row,
        "state": state,
        "tone": tone,
        "is_open": detail.row.state in ("queued", "running"),
        "percent": round(detail.row.share * 100),
        "doing": figuring.doing(detail),
        "fault": words.fault(detail.row.message) if detail.row.state == "failed" else "",
        "conclusion": figuring.conclusion(detail),
        "whole": figuring.whole(detail),
        "teams": figuring.teams(detail),
        "charts": drawn,
        "base": ruling.describe(detail.base_rules),
        "may_change": _may_change(request, detail),
        "address": request.build_absolute_uri(reverse("studies:study", args=[study_id])),
        "now": now,
    }
    return render(request, "studies/study.html", context)


@require_safe
def figures(request: HttpRequest, study_id: int) -> HttpResponseBase:
    """Every figure of the whole and of each team on both sides, as CSV."""
    detail = _found(request, study_id)
    return csv.response(f"study-{study_id}", figuring.csv_rows(detail))


@confirmed
def describe(request: HttpRequest, study_id: int) -> HttpResponse:
    """Name, keep and share it."""
    detail, access, now = _found(request, study_id), access_of(request), clock.now()
    tree = teams.get_tree(now=now)
    sharing = asking.desk(access, tree, now).sharing
    row = detail.row
    initial = {"name": row.name, "note": detail.note, "is_kept": row.is_kept, "team": row.team_id}
    form = DescribeForm(request.POST or None, sharing=sharing, initial=initial)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        refusal = _attempt(
            lambda: services.describe(
                study_id=study_id, name=said["name"], note=said["note"], is_kept=said["is_kept"],
                team_id=scoping.team_for(access, tree, int(said["team"]) if said["team"] else None),
                actor_id=_who(request),
            )
        )  # fmt: skip
        if refusal is None:
            messages.success(request, _("The study is as you wrote it."))
            return redirect("studies:study", study_id=study_id)
        add_refusal(form, refusal)
    status = 422 if form.errors else 200
    return render(request, "studies/describe.html", {"row": row, "form": form}, status=status)


@confirmed
def cancel(request: HttpRequest, study_id: int) -> HttpResponse:
    """Stop it, once asked."""
    return _confirm(
        request, study_id, "studies/cancel.html",
        lambda: services.cancel(
            study_id=study_id, actor_id=_who(request), real_now=clock.real_now()
        ),
    )  # fmt: skip


@confirmed
def again(request: HttpRequest, study_id: int) -> HttpResponse:
    """Run it once more with other seeds."""

    def act() -> int:
        new = services.again(
            study_id=study_id, actor_id=_who(request), now=clock.now(), real_now=clock.real_now()
        )
        transaction.on_commit(starting.wake)
        return int(new.pk)

    return _confirm(request, study_id, "studies/again.html", act)


@confirmed
def delete(request: HttpRequest, study_id: int) -> HttpResponse:
    """Forget it, once asked."""

    def act() -> str:
        services.delete(study_id=study_id, actor_id=_who(request))
        messages.success(request, _("The study is deleted."))
        return "list"

    return _confirm(request, study_id, "studies/delete.html", act)


def _confirm(
    request: HttpRequest, study_id: int, template: str, act: Callable[[], object]
) -> HttpResponse:
    """Ask first, then do it; a number it gives is the study to go to."""
    detail = _found(request, study_id)
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            done = act()
        except Refusal as error:
            refusal = error
        else:
            if done == "list":
                return redirect("studies:list")
            return redirect("studies:study", study_id=done if isinstance(done, int) else study_id)
    context = {"row": detail.row, "refusal": refusal}
    return render(request, template, context, status=refusal.status if refusal else 200)


@require_safe
def traces(request: HttpRequest) -> HttpResponseBase:
    """Uploaded traces."""
    table = TraceTable(
        selectors.list_traces(), now=clock.real_now(), may_delete=access_of(request).holds(DECIDE)
    )
    return tables.listing(request, table, "studies/traces.html", {}, filename="traces")


@confirmed
def upload(request: HttpRequest) -> HttpResponse:
    """Bring a trace of somewhere else."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            trace = services.upload(
                name=said["name"], form=said["form"], pieces=said["file"].chunks(),
                actor_id=_who(request), real_now=clock.real_now(),
            )  # fmt: skip
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            told = _("%(name)s holds %(jobs)d jobs; %(bad)d rows could not be read.")
            words_of = {"name": trace.name, "jobs": trace.jobs, "bad": trace.bad_rows}
            messages.success(request, told % words_of)
            return redirect("studies:traces")
    context = {"form": form, "mib": settings.TRACE_MIB}
    status = 422 if request.method == "POST" else 200
    return render(request, "studies/upload.html", context, status=status)


@confirmed
def delete_trace(request: HttpRequest, trace_id: int) -> HttpResponse:
    """Forget a trace, once asked."""
    row = selectors.get_trace(trace_id=trace_id)
    if row is None:
        raise Http404
    refusal: Refusal | None = None
    if request.method == "POST":
        refusal = _attempt(lambda: services.delete_trace(trace_id=trace_id, actor_id=_who(request)))
        if refusal is None:
            messages.success(request, _("The trace is deleted."))
            return redirect("studies:traces")
    context = {"row": row, "refusal": refusal}
    status = refusal.status if refusal else 200
    return render(request, "studies/delete_trace.html", context, status=status)


def _found(request: HttpRequest, study_id: int) -> StudyDetail:
    detail = selectors.get_study(access_of(request), study_id=study_id, real_now=clock.real_now())
    if detail is None:
        raise Http404
    return detail


def _may_change(request: HttpRequest, detail: StudyDetail) -> bool:
    return access_of(request).holds(DECIDE, team_id=detail.row.team_id)


def _attempt(act: Callable[[], object]) -> Refusal | None:
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None


def _who(request: HttpRequest) -> int | None:
    return request.user.pk if isinstance(request.user, User) else None
