"""What may be chosen and filled in on the pages of this room."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm
from portal.common.forms import offer
from portal.inventory.models import ClusterMode
from portal.kubernetes import standing, words
from portal.kubernetes.models import SyncState, Verb


class DriftFilter(FilterForm):
    """Which differences to list."""

    state = forms.ChoiceField(label=_("State"), choices=[("", _("open")), ("closed", _("closed"))])
    sort_of = forms.ChoiceField(label=_("What differs"), choices=[])
    manager = forms.ChoiceField(label=_("Held by"), choices=[])
    search = forms.CharField(label=_("Search"), max_length=200)

    def __init__(self, *args: Any, managers: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "sort_of", [("", _("anything")), *words.SORTS.items()])
        names = [(name, name) for name in managers]
        offer(self, "manager", [("", _("anybody")), *names])


class LogFilter(FilterForm):
    """Which syncs to list."""

    state = forms.ChoiceField(label=_("State"), choices=[("", _("any")), *SyncState.choices])


class AskFilter(FilterForm):
    """Which asks to list."""

    verb = forms.ChoiceField(label=_("What was asked"), choices=[("", _("any")), *Verb.choices])
    answer = forms.ChoiceField(
        label=_("Answer"), choices=[("", _("any")), ("refused", _("refused"))]
    )


class ModeForm(forms.Form):
    """How much the portal shall do in a cluster."""

    was = forms.CharField(widget=forms.HiddenInput)
    mode = forms.ChoiceField(label=_("Mode from now on"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, mode: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {"was": mode}
        ladder = standing.LADDER
        reach = ladder[: ladder.index(ClusterMode(mode)) + 2]
        offer(self, "mode", [(step.value, step.label) for step in reach if step != mode])


class PauseForm(forms.Form):
    """Why a sync rests."""

    reason = forms.CharField(
        label=_("Why"), max_length=standing.LONGEST_REASON, strip=True,
        help_text=_("Everybody who looks at the cluster reads this."),
    )  # fmt: skip
