"""The one row of filters above a list: a GET form whose values stay in the address."""

from typing import Any

import django_filters
from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


class PlainSelect(forms.Select):
    """A choice among many: drawn at once, where a template for each option takes a second."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """The element with its options."""
        chosen = {str(one) for one in self.format_value(value)}
        options = format_html_join(
            "", '<option value="{}"{}>{}</option>',
            (
                (key, mark_safe(" selected") if str(key) in chosen else "", label)
                for key, label in self.choices
            ),
        )  # fmt: skip
        return format_html(
            '<select name="{}"{}>{}</select>', name,
            flatatt(self.build_attrs(self.attrs, attrs)), options,
        )  # fmt: skip


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
