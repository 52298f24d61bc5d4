"""The moves of one request: submit, approve, reject, cancel, comment."""

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from portal.common import clock
from portal.common import forms as common_forms
from portal.common.errors import Missing, Refusal
from portal.requests import outcomes, pages, services
from portal.requests.forms import CommentForm, DecisionForm
from portal.requests.models import Request
from portal.teams.middleware import access_of
from portal.teams.models import User


@require_POST
def submit(request: HttpRequest, request_id: int) -> HttpResponse:
    """Put a draft before those who decide."""
    return _plain(request, request_id, services.submit)


@require_POST
def cancel(request: HttpRequest, request_id: int) -> HttpResponse:
    """Take a request back."""
    return _plain(request, request_id, services.cancel)


@require_POST
def approve(request: HttpRequest, request_id: int) -> HttpResponse:
    """Agree, to all or to a part."""
    return _decide(request, request_id, services.approve, ("granted_gpus", "note", "version"))


@require_POST
def reject(request: HttpRequest, request_id: int) -> HttpResponse:
    """Say no, and why."""
    return _decide(request, request_id, services.reject, ("note", "version"))


@require_POST
def release(request: HttpRequest, request_id: int) -> HttpResponse:
    """Let go of the reservation it became."""
    try:
        state = services.release(request_id=request_id, actor_id=_who(request), now=clock.now())
    except Missing:
        raise Http404 from None
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, outcomes.told_released(state))
    return HttpResponseRedirect(reverse("requests:detail", args=[request_id]))


@require_POST
def comment(request: HttpRequest, request_id: int) -> HttpResponse:
    """Say something on the thread."""
    form = CommentForm(request.POST)
    if form.is_valid():
        services.comment(
            request_id=request_id, text=form.cleaned_data["text"], actor_id=_who(request),
            now=clock.now(),
        )  # fmt: skip
        return HttpResponseRedirect(f"{reverse('requests:detail', args=[request_id])}#thread")
    return _again(request, request_id, comment_form=form)


def _plain(request: HttpRequest, request_id: int, act: Callable[..., Request]) -> HttpResponse:
    """A move that takes nothing but the version it was made from."""
    return _move(
        request,
        request_id,
        lambda: act(
            request_id=request_id, actor_id=_who(request), now=clock.now(),
            version=outcomes.version_of(request.POST),
        ),
    )  # fmt: skip


def _decide(
    request: HttpRequest, request_id: int, act: Callable[..., Request], names: tuple[str, ...]
) -> HttpResponse:
    """A move of whoever decides, with what the form says of these names."""
    form = pages.decision_of(pages.find(request_id), request.POST)
    if not form.is_valid():
        return _again(request, request_id, form)
    said = {name: form.cleaned_data[name] for name in names}
    return _move(
        request,
        request_id,
        lambda: act(request_id=request_id, actor_id=_who(request), now=clock.now(), **said),
        form,
    )


def _move(
    request: HttpRequest,
    request_id: int,
    act: Callable[[], Request],
    form: DecisionForm | None = None,
) -> HttpResponse:
    """Make the move and say what happened; a refusal is shown where it was asked for."""
    try:
        row = act()
    except Missing:
        raise Http404 from None
    except Refusal as refusal:
        if form is not None and outcomes.belongs_to_form(refusal):
            common_forms.add_refusal(form, refusal)
            return _again(request, request_id, form)
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, outcomes.told(row, clock.now()))
    return HttpResponseRedirect(reverse("requests:detail", args=[request_id]))


def _again(
    request: HttpRequest,
    request_id: int,
    form: DecisionForm | None = None,
    comment_form: CommentForm | None = None,
) -> HttpResponse:
    """The same page with the faults where they belong."""
    row = pages.find(request_id)
    context = pages.of_request(
        row, access=access_of(request), now=clock.now(), decision=form, comment=comment_form
    )
    return render(request, "requests/detail.html", context, status=422)


def _who(request: HttpRequest) -> int:
    assert isinstance(request.user, User)
    return request.user.pk
