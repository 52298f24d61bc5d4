"""Filters of the room's lists."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm
from portal.inventory import selectors as inventory
from portal.teams.permissions import ANY_ROLE
from portal.usage import breakdown
from portal.usage.breakdown import Dimension


class UseFilter(FilterForm):
    """Which month's use, told apart by what, of which pool."""

    month = forms.ChoiceField(label=_("Month"))
    by = forms.ChoiceField(label=_("By"))
    pool = forms.ChoiceField(label=_("Pool"))

    def __init__(self, data: Any, *, months: Sequence[tuple[str, str]], sees_work: bool) -> None:
        super().__init__(data)
        offered = [d for d in Dimension if sees_work or breakdown.roles_for(d) == ANY_ROLE]
        self._offer("month", list(months))
        self._offer("by", [(d.value, d.label) for d in offered])
        self._offer("pool", [("", _("All pools")), *inventory.pool_names().items()])

    def _offer(self, name: str, choices: list[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
