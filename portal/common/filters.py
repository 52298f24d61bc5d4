"""The one row of filters above a list: a GET form whose values stay in the address."""

from typing import Any

import django_filters
from django import forms


class FilterSet(django_filters.FilterSet):
    """Base of filters over a queryset; `{% include "common/filters.html" with form=filter.form %}`."""


class FilterForm(forms.Form):
    """Base of filters that a selector takes as arguments; nothing in it is ever required."""

    template_name = "common/filters.html"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.required = False

    def chosen(self) -> dict[str, Any]:
        """What was chosen; a value that makes no sense counts as not chosen."""
        self.is_valid()
        return {k: v for k, v in self.cleaned_data.items() if v not in (None, "", [])}
