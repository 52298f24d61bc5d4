"""Forms about oneself and about people."""

import zoneinfo
from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from portal.common.forms import offer
from portal.teams import tokens
from portal.teams.models import Language, Role, Theme


class PreferencesForm(forms.Form):
    """Any of language, theme and zone."""

    language = forms.ChoiceField(choices=Language.choices, required=False)
    theme = forms.ChoiceField(choices=Theme.choices, required=False)
    zone = forms.CharField(max_length=64, required=False)

    def clean_zone(self) -> str:
        """A zone the machine knows."""
        zone = str(self.cleaned_data["zone"])
        if zone and zone not in zoneinfo.available_timezones():
            raise forms.ValidationError("Unknown time zone.")
        return zone

    def chosen(self) -> dict[str, str]:
        """Only what was sent."""
        return {k: v for k, v in self.cleaned_data.items() if k in self.data and v}


class TokenForm(forms.Form):
    """What a new token is for, what it may do and for how long."""

    name = forms.CharField(
        max_length=80, label=_("What is it for?"), help_text=_("Such as “nightly report”.")
    )
    scopes = forms.MultipleChoiceField(
        choices=tokens.scope_choices,
        widget=forms.CheckboxSelectMultiple,
        label=_("What may it do?"),
        help_text=_("Never more than you may yourself. To change includes to read."),
    )
    days = forms.ChoiceField(
        choices=[(7, _("7 days")), (30, _("30 days")), (90, _("90 days")), (365, _("a year"))],
        initial=30,
        label=_("Until when?"),
    )


class RoleForm(forms.Form):
    """A role for somebody who signs in already, or who is invited by e-mail."""

    who = forms.CharField(
        max_length=254, label=_("Who?"),
        help_text=_("A sign-in name, or the e-mail address of somebody to invite."),
    )  # fmt: skip
    role = forms.ChoiceField(label=_("Which role?"), choices=Role.choices)
    team = forms.ChoiceField(label=_("Where?"), required=False)

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "team", teams)

    def clean_who(self) -> str:
        """A name, or an address that could be one."""
        who = str(self.cleaned_data["who"]).strip()
        if "@" in who:
            validate_email(who)
        return who


class AcceptForm(forms.Form):
    """Somebody's own account, made from an invitation."""

    username = forms.CharField(
        max_length=150, label=_("Sign-in name"), validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )  # fmt: skip
    first_name = forms.CharField(max_length=150, label=_("First name"))
    last_name = forms.CharField(max_length=150, label=_("Last name"))
    password = forms.CharField(
        label=_("Password"), strip=False, help_text=_("At least 12 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )  # fmt: skip
