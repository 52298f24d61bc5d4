"""The one form: how every field is drawn, its help and faults tied to it for screen readers."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.forms.renderers import TemplatesSetting

from portal.common.errors import Refusal


class FormRenderer(TemplatesSetting):
    """Draws forms and fields with our own templates."""

    form_template_name = "common/form.html"
    field_template_name = "common/field.html"


def add_refusal(form: forms.Form, refusal: Refusal) -> None:
    """Show a service's refusal on the form: at the fields it names, and above them what to do.

    What the fields say already is not said twice.
    """
    named = {name: text for name, text in refusal.fields.items() if name in form.fields}
    for name, text in named.items():
        form.add_error(name, str(text))
    if str(refusal.message) != " ".join(dict.fromkeys(map(str, named.values()))):
        form.add_error(None, str(refusal.message))


def offer(form: forms.BaseForm, name: str, choices: Iterable[Any]) -> None:
    """Set what a field offers, where that is known only as the form is made."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = list(choices)


def offered(form: forms.BaseForm, name: str) -> list[tuple[Any, Any]]:
    """What a field offers, as values with their labels."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    choices: Any = field.choices
    return [(value, label) for value, label in choices]


class DateTimeInput(forms.DateTimeInput):
    """A day and a time, as the browser lets one pick them."""

    input_type = "datetime-local"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs={"step": 60, **(attrs or {})}, format="%Y-%m-%dT%H:%M")
