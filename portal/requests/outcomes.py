"""What a person is told once something was saved, submitted or decided, and what comes next."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats
from portal.common import forms as common_forms
from portal.common.errors import Invalid, Refusal
from portal.requests import approving, kinds, services
from portal.requests.forms import AskForm
from portal.requests.models import Request, RequestKind, RequestState
from portal.reservations.models import ReservationState
from portal.teams.models import User

MENDABLE = frozenset(
    {
        "overcommitted", "above_limit", "guarantee_exceeded", "guarantee_fenced", "too_long",
        "too_early", "stacked", "extended_too_early",
    }
)  # fmt: skip


def save(
    request: HttpRequest,
    form: AskForm,
    *,
    now: datetime,
    request_id: int | None = None,
    version: int | None = None,
) -> HttpResponse | None:
    """Save what a form holds, submit it when that button was pressed; None leaves faults on it."""
    assert isinstance(request.user, User)
    if not form.is_valid():
        return None
    try:
        row = services.ask(
            asked=form.asked(), actor_id=request.user.pk, now=now, request_id=request_id,
            version=version, submitting=request.POST.get("do") == "submit",
        )  # fmt: skip
    except Refusal as refusal:
        common_forms.add_refusal(form, refusal)
        return None
    messages.success(request, told(row, now))
    return HttpResponseRedirect(reverse("requests:detail", args=[row.pk]))


def only_checks(request: HttpRequest) -> bool:
    """Whether the button that only looks was pressed: nothing is saved then."""
    return request.POST.get("do") == "check"


def faults(form: AskForm, row: Request | None, now: datetime) -> dict[str, str]:
    """What keeps the live check from answering, by field."""
    if row is None:
        return form.faults()
    return {**kinds.of(row).missing(row, now), **kinds.of(row).faults(row, now)}


def told(row: Request, now: datetime) -> str:
    """What happened to the request, and what comes next."""
    match RequestState(row.state):
        case RequestState.DRAFT:
            return _("Saved as a draft. Nobody decides it until you submit it.")
        case RequestState.SUBMITTED if (left := approving.still_needed(row)) < row.approvals_needed:
            return ngettext(
                "Agreed. %(count)s more person has to agree before it is approved.",
                "Agreed. %(count)s more people have to agree before it is approved.",
                left,
            ) % {"count": left}
        case RequestState.SUBMITTED:
            return _(
                "Submitted. An admin decides; until then it is a soft hold. Without a decision "
                "it lapses %(when)s."
            ) % {"when": formats.when(row.expires_at or now, now, inside=True)}
        case RequestState.APPROVED:
            return _approved(row, now)
        case RequestState.REJECTED:
            return _("Rejected. %(who)s reads your reason on this page.") % {
                "who": row.requested_by
            }
        case RequestState.CANCELLED:
            return _("Cancelled. Nothing is held for it any more.")
        case RequestState.EXPIRED:
            return _("It has lapsed. Ask again if it is still needed.")


def _approved(row: Request, now: datetime) -> str:
    words = {"gpus": row.granted_gpus, "id": row.reservation_id}
    match RequestKind(row.kind):
        case RequestKind.QUOTA:
            return _("Approved: %(gpus)s GPUs guaranteed. The next tick shares them out.") % words
        case RequestKind.SLA:
            return _("Approved: the promise holds for jobs that come from then on.")
        case RequestKind.EXTENSION:
            ends = {**words, "when": formats.when(row.ends_at or now, now, inside=True)}
            return _("Approved: reservation R-%(id)s now ends %(when)s.") % ends
        case RequestKind.GIVE_BACK:
            return _("Done: what is left of reservation R-%(id)s is free for others.") % words
        case RequestKind.RESERVATION:
            begins = max(row.starts_at or now, row.decided_at or now)
            return _(
                "Approved: %(gpus)s GPUs. Reservation R-%(id)s is on the calendar from %(when)s."
            ) % {**words, "when": formats.when(begins, now, inside=True)}


def told_released(state: ReservationState) -> str:
    """What became of the reservation."""
    if state is ReservationState.CANCELLED:
        return _("The reservation is called off. Its GPUs are free for others.")
    return _("Given back. The next tick lets others have its GPUs; what was used stays billed.")


def belongs_to_form(refusal: Refusal) -> bool:
    """Whether another number or note would mend it, so that what was typed is kept."""
    return isinstance(refusal, Invalid) or refusal.code in MENDABLE


def version_of(data: Mapping[str, Any]) -> int | None:
    """The version a page was made from, where it says so."""
    text = str(data.get("version", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
