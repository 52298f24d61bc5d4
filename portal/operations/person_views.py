"""One person for admins: what stands about them, as a file, and to make them nobody."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.operations import persons
from portal.teams.models import User


class ForgetForm(forms.Form):
    """The sign-in name once more, since nothing brings a person back."""

    username = forms.CharField(label=gettext_lazy("Their sign-in name"), max_length=150)

    def __init__(self, *args: object, person: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # as a form takes them
        self._person = person

    def clean_username(self) -> str:
        """Only theirs."""
        if self.cleaned_data["username"] != self._person.username:
            raise forms.ValidationError(_("This is another name."))
        return self._person.username


@require_http_methods(["GET", "HEAD", "POST"])
def forget(request: HttpRequest, user_id: int) -> HttpResponse:
    """Say what goes and what stays; POST with the name makes them nobody."""
    person = persons.get_person(user_id=user_id)
    form = ForgetForm(request.POST or None, person=person)
    if request.method == "POST" and form.is_valid():
        try:
            called = persons.forget(user_id=user_id, actor_id=request.user.pk, now=clock.now())
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("They are %(name)s from now on.") % {"name": called})
            return redirect("teams:people")
    return render(request, "operations/forget_person.html", {"person": person, "form": form})


@require_POST
def export(request: HttpRequest, user_id: int) -> HttpResponse:
    """Give all that stands about them as a file; that it was taken stands in the audit trail."""
    told = persons.export(user_id=user_id, actor_id=request.user.pk)
    answer = JsonResponse(told, json_dumps_params={"ensure_ascii": False, "indent": 2})
    answer["Content-Disposition"] = f'attachment; filename="person-{user_id}.json"'
    return answer
