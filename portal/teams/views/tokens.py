"""A person's API tokens: made after a fresh second factor, shown once, revoked at will."""

import time
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from allauth.account import app_settings as account
from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.teams import selectors, services
from portal.teams.forms import TokenForm
from portal.teams.models import User


def tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens; POST makes one and shows it, this once."""
    user = request.user
    assert isinstance(user, User)
    if not is_mfa_enabled(user):
        return _page(request, form=None)
    if not _has_fresh_second_factor(request, user):
        back = urlencode({"next": request.path})
        return HttpResponseRedirect(f"{reverse('mfa_reauthenticate')}?{back}")
    form = TokenForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form=form)
    try:
        secret = services.create_token(
            user_id=user.pk, name=form.cleaned_data["name"], scopes=form.cleaned_data["scopes"],
            days=int(form.cleaned_data["days"]),
        )  # fmt: skip
    except Refusal as refusal:
        add_refusal(form, refusal)
        return _page(request, form=form)
    return _page(request, form=TokenForm(), secret=secret, name=form.cleaned_data["name"])


@require_POST
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """End one of one's own tokens at once."""
    services.revoke_token(user_id=int(request.user.pk or 0), public_id=token_id)
    messages.success(request, _("The token no longer opens anything."))
    return redirect("teams:tokens")


def _page(request: HttpRequest, **context: Any) -> HttpResponse:
    rows = selectors.list_tokens(user_id=int(request.user.pk or 0), real_now=clock.real_now())
    return render(request, "teams/tokens.html", {"tokens": rows, **context})


def _has_fresh_second_factor(request: HttpRequest, user: User) -> bool:
    """Whether this session gave a code of the second factor in the last minutes."""
    given = [
        float(record["at"])
        for record in get_authentication_records(request, user)
        if record.get("method") == "mfa"
    ]
    return bool(given) and time.time() - max(given) < account.REAUTHENTICATION_TIMEOUT
