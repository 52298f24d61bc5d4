"""The filters of the Queue and of the pages that look back."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm
from portal.common.forms import offer
from portal.dashboards.periods import PeriodForm
from portal.dashboards.selectors import queue, waits
from portal.inventory import selectors as inventory
from portal.teams.selectors import Tree
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
