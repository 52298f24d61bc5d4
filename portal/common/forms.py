"""The one form: how every field is drawn, its help and faults tied to it for screen readers."""

from django.forms.renderers import TemplatesSetting


class FormRenderer(TemplatesSetting):
    """Draws forms and fields with our own templates."""

    form_template_name = "common/form.html"
    field_template_name = "common/field.html"
