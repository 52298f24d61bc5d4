"""A form of the admin: a namespace and the team it belongs to."""

from typing import Any

from django import forms

from portal.inventory.models import Namespace
from portal.teams.models import Team


class NamespaceForm(forms.ModelForm[Namespace]):
    """Whose a namespace is from now on; without a team it is nobody's."""

    team = forms.ModelChoiceField(queryset=Team.objects.order_by("name"), required=False)

    class Meta:
        model = Namespace
        fields = ("cluster", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            owner = self.instance.owners.filter(valid_to__isnull=True).first()
            self.initial["team"] = owner.team_id if owner else None
