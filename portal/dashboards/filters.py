"""The filters of the Queue."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm
from portal.dashboards.selectors import queue
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
        self._offer("pool", [("", _("All pools")), *inventory.pool_names().items()])
        self._offer("team", [("", _("All teams")), *((t.id, t.name) for t in tree.rows)])
        self._offer("state", [(word, word) for word in (*queue.TABS, *WorkloadState.values)])
        self._offer("kind", [("", _("All classes")), *Kind.choices])

    def _offer(self, name: str, choices: list[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
