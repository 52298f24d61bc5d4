"""Forms about oneself."""

import zoneinfo

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.teams import tokens
from portal.teams.models import Language, Theme


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
