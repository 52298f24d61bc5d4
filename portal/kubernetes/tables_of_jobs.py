"""The list of what was asked of a cluster for its jobs."""

from datetime import datetime
from typing import Any

import django_tables2
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from portal.common import tables
from portal.kubernetes import words
from portal.kubernetes.models import Ask


class AskTable(tables.Table):
    """Starts, stops and the like, newest first."""

    caption = _("Asked of jobs")
    empty_title = _("Nothing was asked of a job")

    at = tables.WhenColumn(verbose_name=_("When"), order_by=("at", "id"))
    verb = django_tables2.Column(_("What was asked"))
    name = django_tables2.Column(
        _("Of"), order_by=("kind", "namespace", "name"), attrs={"td": {"class": "bare"}}
    )
    changes = django_tables2.Column(_("Fields"), orderable=False, empty_values=())
    times = tables.NumberColumn(verbose_name=_("Times"))
    answer = django_tables2.Column(
        _("Answer"), orderable=False, empty_values=(), attrs={"td": {"class": "why"}}
    )

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards changes"}
        empty_text = _(
            "In the modes Quota and reclaim and Admission each start and stop leaves a line here."
        )

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now

    def render_verb(self, record: Ask) -> str:
        """In a word."""
        return record.get_verb_display()

    def value_verb(self, record: Ask) -> str:
        """As programs call it."""
        return record.verb

    def render_name(self, record: Ask) -> SafeString:
        """Kind and name."""
        name = words.named(record.namespace, record.name)
        return format_html("<b>{}</b> {}", record.kind, name)

    def value_name(self, record: Ask) -> str:
        """The same in one line."""
        return f"{record.kind} {words.named(record.namespace, record.name)}"

    def render_changes(self, record: Ask) -> SafeString:
        """Each field, from what to what."""
        return format_html_join(
            "", '<div class="mono">{}: {} → {}</div>',
            ((field, words.value(was), words.value(now)) for field, was, now in record.changes),
        )  # fmt: skip

    def value_changes(self, record: Ask) -> str:
        """The same in one line."""
        return "; ".join(
            f"{field}: {words.value(was)} → {words.value(now)}"
            for field, was, now in record.changes
        )

    def render_answer(self, record: Ask) -> SafeString:
        """Done, or the cluster's own words."""
        tone = "warn" if record.answer else "soft"
        return format_html('<span class="{}">{}</span>', tone, record.answer or _("done"))

    def value_answer(self, record: Ask) -> str:
        """Empty is "done"."""
        return record.answer
