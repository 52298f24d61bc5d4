"""New job: a manifest to copy, and at once whether it would start now or why it waits."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from portal.common import clock
from portal.kubernetes import composing, job_form, weighing
from portal.kubernetes.job_form import Desk, JobForm
from portal.kubernetes.weighing import Weighed
from portal.teams.middleware import access_of


@dataclass(frozen=True, slots=True)
class Seen:
    """What is answered to a form: the verdict and the manifest, or what is at fault."""

    weighed: Weighed | None = None
    text: str = ""
    download: str = ""
    faults: tuple[str, ...] = ()
    refused: str = ""


@require_safe
def new_job(request: HttpRequest) -> HttpResponse:
    """The form, filled in as most would have it, with its answer."""
    desk = _desk(request)
    form = JobForm(job_form.beginning(desk, request.GET.dict()), desk=desk)
    asked = "name" in request.GET
    context = {"desk": desk, "form": form, "seen": _seen(request, desk, form), "asked": asked}
    return render(request, "kubernetes/new_job.html", context)


@require_safe
def check(request: HttpRequest) -> HttpResponse:
    """The answer to the form as it stands."""
    desk = _desk(request)
    form = JobForm(request.GET, desk=desk)
    context = {"seen": _seen(request, desk, form), "swap": True}
    return render(request, "kubernetes/parts/answer.html", context)


@require_safe
def download(request: HttpRequest) -> HttpResponse:
    """The manifest as a file."""
    desk = _desk(request)
    form = JobForm(job_form.beginning(desk, request.GET.dict()), desk=desk)
    seen = _seen(request, desk, form)
    if not seen.text:
        return HttpResponse("\n".join(seen.faults), status=422, content_type="text/plain")
    response = HttpResponse(seen.text, content_type="application/yaml; charset=utf-8")
    name = form.cleaned_data["name"]
    response["Content-Disposition"] = f'attachment; filename="{name}.yaml"'
    return response


def _desk(request: HttpRequest) -> Desk:
    return job_form.desk_of(access_of(request), now=clock.now())


def _seen(request: HttpRequest, desk: Desk, form: JobForm) -> Seen:
    if desk.is_empty:
        return Seen()
    if not form.is_valid():
        return Seen(faults=tuple(_faults(form)))
    wish, pool = form.wish()
    weighed = weighing.weigh(
        wish, pool, access=access_of(request), zone=timezone.get_current_timezone(), now=desk.now
    )
    said = {name: value for name, value in form.data.items() if name in job_form.NAMES}
    order = form.order(weighed.charge)
    address = f"{reverse('kubernetes:new-job-yaml')}?{urlencode(said)}"
    refused = weighing.refused_as(order.charge, wish, pool)
    return Seen(weighed, composing.text(order), address, refused=refused)


def _faults(form: JobForm) -> list[str]:
    """Each fault after the name of its field."""
    found: list[str] = []
    for name, errors in form.errors.items():
        label: Any = form.fields[name].label if name in form.fields else ""
        found += [f"{label}: {one}" for one in errors]
    return found
