"""A person's own settings."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from portal.teams import services
from portal.teams.forms import PreferencesForm
from portal.teams.models import User


@require_POST
def preferences(request: HttpRequest) -> HttpResponse:
    """Save language, theme or zone, and go back where one came from."""
    form = PreferencesForm(request.POST)
    if form.is_valid() and isinstance(request.user, User):
        services.set_preferences(user_id=request.user.pk, **form.chosen())
    back = request.POST.get("next", "/")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    return HttpResponseRedirect(back if safe else "/")
