"""The filters of the Queue and of the pages that look back."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm
from portal.common.forms import offer
from portal.dashboards.periods import PeriodForm
from portal.dashboards.selectors import queue, usage, waits
from portal.inventory import selectors as inventory
from portal.teams.selectors import TeamRow, Tree
from portal.workloads.models import Kind, WorkloadState


class QueueFilter(FilterForm):
    """Pool, team, state, kind and a word of the name or person."""

    pool = forms.ChoiceField(label=_("Pool"))
    team = forms.ChoiceField(label=_("Team"))
    kind = forms.ChoiceField(label=_("Class"))
    search = forms.CharField(label=_("Job, person or team"), max_length=80)
    state = forms.ChoiceField(widget=forms.HiddenInput)

    def __init__(self, data: Any, *, tree: Tree) -> None:
        super().__init__(data)
        offer(self, "pool", [("", _("All pools")), *inventory.pool_names().items()])
        offer(self, "team", [("", _("All teams")), *((t.id, t.name) for t in tree.rows)])
        offer(self, "state", [(word, word) for word in (*queue.TABS, *WorkloadState.values)])
        offer(self, "kind", [("", _("All classes")), *Kind.choices])


class FairnessFilter(PeriodForm):
    """A time, a pool, and a team to look at more closely."""

    pool = forms.ChoiceField(label=_("Pool"))
    team = forms.ChoiceField(label=_("Team"))
    by = forms.ChoiceField(widget=forms.HiddenInput, choices=waits.By.choices)

    def __init__(self, data: Any, *, tree: Tree) -> None:
        super().__init__(data)
        self.pools = inventory.pool_names()
        offer(self, "pool", [("", _("All pools")), *self.pools.items()])
        offer(self, "team", [("", _("All teams")), *((t.id, t.name) for t in tree.rows)])


class UsageFilter(PeriodForm):
    """A time, what to tell apart, and whose use."""

    by = forms.ChoiceField(label=_("Grouped by"), choices=usage.By.choices)
    team = forms.ChoiceField(label=_("Team"))
    pool = forms.ChoiceField(label=_("Pool"))
    kind = forms.ChoiceField(label=_("Class"), choices=[("", _("All classes")), *Kind.choices])
    field_order = ["by", "period", "since", "until", "team", "pool", "kind"]

    def __init__(self, data: Any, *, teams: Iterable[TeamRow]) -> None:
        super().__init__(data)
        offer(self, "team", [("", _("All I may see")), *((t.id, t.name) for t in teams)])
        offer(self, "pool", [("", _("All pools")), *inventory.pool_names().items()])
