"""How the list of requests is narrowed."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from portal.common.filters import FilterForm, PlainSelect
from portal.common.forms import offer
from portal.requests.models import Request, RequestKind, RequestState

ANY = [("", _("Any"))]


class RequestFilter(FilterForm):
    """By state, kind, team and pool; the tab stays."""

    state = forms.ChoiceField(label=_("State"), choices=[*ANY, *RequestState.choices])
    kind = forms.ChoiceField(label=_("Kind"), choices=[*ANY, *RequestKind.choices])
    team = forms.ChoiceField(label=_("Team"), widget=PlainSelect)
    pool = forms.ChoiceField(label=_("Pool"))
    tab = forms.CharField(widget=forms.HiddenInput())

    def __init__(
        self, *args: Any, teams: list[tuple[int, str]], pools: list[tuple[int, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "team", [*ANY, *teams])
        offer(self, "pool", [*ANY, *pools])

    def narrow(self, rows: QuerySet[Request]) -> QuerySet[Request]:
        """Only rows that match what was chosen."""
        names = {"state": "state", "kind": "kind", "team": "team_id", "pool": "pool_id"}
        chosen = self.chosen()
        return rows.filter(**{names[name]: v for name, v in chosen.items() if name in names})
