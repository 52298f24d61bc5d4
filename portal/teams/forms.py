"""Forms about oneself."""

import zoneinfo

from django import forms

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
