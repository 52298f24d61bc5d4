"""What is filled in on the pages of this room."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.usage.monitoring import MonitoringRow


class MonitoringForm(forms.Form):
    """Where a cluster's Prometheus is."""

    address = forms.CharField(
        label=_("Address of the Prometheus"), max_length=400, required=False,
        help_text=_("Such as http://prometheus.monitoring:9090. Empty: nobody is asked."),
    )  # fmt: skip
    selector = forms.CharField(
        label=_("Labels of this cluster"), max_length=400, required=False,
        help_text=_('Only where one Prometheus watches several clusters: cluster="seoul-1".'),
    )  # fmt: skip
    token = forms.CharField(
        label=_("Token"), max_length=4000, required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Only where it asks for one. Empty keeps the one that is set."),
    )  # fmt: skip

    def __init__(self, *args: Any, row: MonitoringRow | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if row is not None:
            self.initial = {"address": row.address, "selector": row.selector}
