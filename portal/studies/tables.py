"""The lists of the room: studies, uploaded traces, the figures of one study."""

from datetime import datetime, timedelta
from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats, tables
from portal.studies import words
from portal.studies.models import StudyState
from portal.studies.selectors import StudyRow, TraceRow

_BARE = {"td": {"class": "bare"}}


class StudyTable(tables.Table):
    """Studies the reader may see. `told` brings the rows of the page that is shown."""

    caption = gettext_lazy("Studies")
    empty_title = gettext_lazy("No study fits")

    name = django_tables2.Column(gettext_lazy("Study"), attrs=_BARE)
    jobs_of = django_tables2.Column(gettext_lazy("Jobs of"), accessor="pk", orderable=False)
    result = django_tables2.Column(gettext_lazy("Result"), accessor="pk", orderable=False)
    state = django_tables2.Column(gettext_lazy("State"))
    shared = django_tables2.Column(
        gettext_lazy("Shared with"), empty_values=(), order_by=("team__name", "id")
    )
    created_at = tables.WhenColumn(verbose_name=gettext_lazy("Asked"))

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards studies"}
        empty_text = gettext_lazy("Filter less.")

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self._told: dict[int, StudyRow] = {}

    def tell(self, rows: list[StudyRow]) -> None:
        """Take what is said of each study."""
        self._told = {row.id: row for row in rows}

    def render_name(self, record: Any) -> SafeString:
        """The name as a link, what changes below it."""
        url = reverse("studies:study", args=[record.pk])
        kept = format_html(' <span class="pill">{}</span>', _("kept")) if record.is_kept else ""
        return format_html(
            '<a href="{}"><b>{}</b></a>{}<div class="why">{}</div>', url, record.name, kept,
            self._told[record.pk].change,
        )  # fmt: skip

    def value_name(self, record: Any) -> str:
        """Without a link."""
        return str(record.name)

    def render_jobs_of(self, record: Any) -> str:
        """Whose jobs."""
        return self._told[record.pk].jobs_of

    def render_result(self, record: Any) -> str:
        """What came of it."""
        return self._told[record.pk].result

    def render_state(self, record: Any) -> SafeString:
        """As a pill, with how far it is."""
        word, tone = words.STATES[record.state]
        if record.state == StudyState.RUNNING:
            word = f"{word} {formats.number(record.done_share * 100, 0)} %"
        return format_html('<span class="pill {}">{}</span>', tone, word)

    def value_state(self, record: Any) -> str:
        """The word that programs know."""
        return str(record.state)

    def render_shared(self, record: Any) -> str:
        """The team, if any."""
        return self._told[record.pk].team


class TraceTable(tables.Table):
    """Uploaded traces."""

    caption = gettext_lazy("Uploaded traces")
    empty_title = gettext_lazy("No trace was uploaded yet")

    name = django_tables2.Column(gettext_lazy("Trace"), attrs=_BARE)
    form = django_tables2.Column(gettext_lazy("Format"))
    jobs = tables.NumberColumn(verbose_name=gettext_lazy("Jobs"))
    bad_rows = tables.NumberColumn(verbose_name=gettext_lazy("Rows skipped"))
    length = django_tables2.Column(gettext_lazy("Length"))
    size = tables.NumberColumn(verbose_name=gettext_lazy("MiB"))
    studies = tables.NumberColumn(verbose_name=gettext_lazy("Studies"))
    by = django_tables2.Column(gettext_lazy("Uploaded by"))
    created_at = tables.WhenColumn(verbose_name=gettext_lazy("Uploaded"))
    act = django_tables2.Column("", empty_values=(), orderable=False, exclude_from_export=True)

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy("Upload one to try policies on somebody else's jobs.")

    def __init__(self, *args: Any, now: datetime, may_delete: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self._may_delete = may_delete

    def render_length(self, value: timedelta) -> str:
        """From the first job to the last."""
        return formats.duration(value)

    def value_length(self, value: timedelta) -> float:
        """In seconds."""
        return value.total_seconds()

    def render_size(self, value: int) -> str:
        """To a tenth."""
        return formats.number(value / (1 << 20), 1)

    def render_act(self, record: TraceRow) -> SafeString | str:
        """Forget it, where no study uses it."""
        if record.studies or not self._may_delete:
            return ""
        url = reverse("studies:delete-trace", args=[record.id])
        return format_html('<a href="{}">{}</a>', url, _("Delete"))
