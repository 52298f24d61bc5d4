"""The lists of the room: clusters, differences, syncs, fields a sync changed, groups of Ray."""

from datetime import datetime
from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats, tables
from portal.kubernetes import words
from portal.kubernetes.models import Drift, RayGroup, SyncRun
from portal.kubernetes.selectors import ClusterRow, sort_of
from portal.kubernetes.selectors.clusters import Beat

_BARE = {"td": {"class": "bare"}}
_MONO = {"td": {"class": "mono"}}


class BeatColumn(django_tables2.Column):
    """How long ago, in real time."""

    def render(self, value: Beat, table: Any) -> SafeString:
        """For people."""
        return words.beat(value, table.real_now)

    def value(self, value: Beat) -> datetime | None:
        """For programs."""
        return value.real_at


class ClusterTable(tables.Table):
    """Every cluster."""

    caption = gettext_lazy("Clusters")
    empty_title = gettext_lazy("There is no cluster yet")

    name = django_tables2.Column(gettext_lazy("Cluster"), attrs=_BARE)
    mode = django_tables2.Column(gettext_lazy("Mode"))
    read = BeatColumn(verbose_name=gettext_lazy("Read"))
    tick = BeatColumn(verbose_name=gettext_lazy("Decided"))
    sync = BeatColumn(verbose_name=gettext_lazy("Written"))
    policies = django_tables2.Column(
        gettext_lazy("Policies"), accessor="policies_there", empty_values=()
    )
    late = tables.NumberColumn(verbose_name=gettext_lazy("Quotas not in force"))
    differs = tables.NumberColumn(verbose_name=gettext_lazy("Differences"))

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards clusters"}
        empty_text = gettext_lazy("Add one with: manage.py add_cluster NAME --kubeconfig FILE")

    def __init__(self, *args: Any, real_now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.real_now = real_now

    def order_read(self, rows: Any, descending: bool) -> Any:
        """Never sorts before anything that was."""
        return _by_beat(rows, "read", descending), True

    def order_tick(self, rows: Any, descending: bool) -> Any:
        """The same of ticks."""
        return _by_beat(rows, "tick", descending), True

    def order_sync(self, rows: Any, descending: bool) -> Any:
        """The same of syncs."""
        return _by_beat(rows, "sync", descending), True

    def render_name(self, record: ClusterRow) -> SafeString:
        """The name as a link, and whether its sync rests."""
        url = reverse("kubernetes:cluster", args=[record.id])
        name = format_html('<a href="{}"><b>{}</b></a>', url, record.name)
        if record.paused_at is None:
            return name
        return format_html('{} <span class="pill warn">{}</span>', name, _("paused"))

    def value_name(self, record: ClusterRow) -> str:
        """The name alone."""
        return record.name

    def render_mode(self, value: str) -> str:
        """In a word."""
        return words.mode(value)

    def value_mode(self, value: str) -> str:
        """As programs call it."""
        return value

    def render_policies(self, record: ClusterRow) -> SafeString:
        """So many of so many; missing ones stand out."""
        tone = "warn" if record.policies_missing else ""
        return format_html('<span class="{}">{}</span>', tone, words.policies(record))

    def value_policies(self, record: ClusterRow) -> str:
        """The same in words."""
        return words.policies(record)

    def render_late(self, value: int) -> SafeString:
        """What is not in force stands out."""
        return _alarm(value)

    def render_differs(self, value: int) -> SafeString:
        """What differs stands out."""
        return _alarm(value)


def _by_beat(rows: Any, name: str, descending: bool) -> list[ClusterRow]:
    def key(row: ClusterRow) -> float:
        at = getattr(row, name).real_at
        return at.timestamp() if at else 0.0

    return sorted(rows, key=key, reverse=descending)


def _alarm(value: int) -> SafeString:
    return format_html('<span class="{}">{}</span>', "warn" if value else "", formats.number(value))


class DriftTable(tables.Table):
    """Fields that are not as wanted."""

    caption = gettext_lazy("Differences")
    empty_title = gettext_lazy("Nothing differs")

    what = django_tables2.Column(
        gettext_lazy("What"), accessor="name", order_by=("kind", "namespace", "name"), attrs=_BARE
    )
    wanted = django_tables2.Column(gettext_lazy("Wanted"), orderable=False, empty_values=())
    found = django_tables2.Column(gettext_lazy("Found"), orderable=False, empty_values=())
    manager = django_tables2.Column(gettext_lazy("Held by"), default="–")
    opened_at = tables.WhenColumn(verbose_name=gettext_lazy("Since"))
    closed_at = tables.WhenColumn(verbose_name=gettext_lazy("Until"))
    act = django_tables2.Column("", accessor="pk", orderable=False, exclude_from_export=True)

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards drift"}
        empty_text = gettext_lazy("Everything we look after is as it was decided.")

    def __init__(
        self, *args: Any, now: datetime, may_act: bool, closed: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        if closed or not may_act:
            self.columns.hide("act")
        if not closed:
            self.columns.hide("closed_at")

    def render_what(self, record: Drift) -> SafeString:
        """The object, the field, and what the difference means."""
        return format_html(
            '<b>{}</b> {}<div class="mono soft">{}</div><div class="why">{}</div>',
            record.kind, words.named(record.namespace, record.name), record.field,
            words.meaning(record),
        )  # fmt: skip

    def value_what(self, record: Drift) -> str:
        """The same in one line."""
        name = words.named(record.namespace, record.name)
        return f"{record.kind} {name} {record.field} ({sort_of(record)})"

    def render_wanted(self, value: Any) -> SafeString:
        """The value, or that there should be none."""
        return _value(value)

    def render_found(self, value: Any) -> SafeString:
        """The value, or that there is none."""
        return _value(value)

    def value_wanted(self, value: Any) -> str:
        """For programs."""
        return "" if value is None else words.value(value)

    def value_found(self, value: Any) -> str:
        """For programs."""
        return "" if value is None else words.value(value)

    def render_act(self, record: Drift) -> SafeString | str:
        """The way to take the field back, where it is ours."""
        if not words.may_take_over(record):
            return ""
        url = reverse("kubernetes:take-over", args=[record.pk])
        label = _("Take over %(field)s") % {"field": record.field}
        return format_html('<a href="{}" aria-label="{}">{}</a>', url, label, _("Take over"))


def _value(found: Any) -> SafeString:
    return format_html(
        '<span class="{}">{}</span>', "soft" if found is None else "mono", words.value(found)
    )


class RunTable(tables.Table):
    """Syncs, newest first."""

    caption = gettext_lazy("Syncs")
    empty_title = gettext_lazy("No sync has written anything")

    at = tables.WhenColumn(verbose_name=gettext_lazy("When"), order_by=("at", "id"))
    state = django_tables2.Column(gettext_lazy("How it ended"))
    writes = tables.NumberColumn(verbose_name=gettext_lazy("Objects written"))
    took_ms = tables.NumberColumn(verbose_name=gettext_lazy("Took, ms"))
    message = django_tables2.Column(
        gettext_lazy("What it says"), orderable=False, default="", attrs={"td": {"class": "why"}}
    )
    fields = django_tables2.Column("", accessor="pk", orderable=False, exclude_from_export=True)

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy(
            "A sync leaves a line when it writes, is refused or fails; one with nothing to do "
            "leaves none."
        )

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now

    def render_state(self, record: SyncRun) -> SafeString:
        """In words, coloured where it went wrong."""
        tone = words.TONES.get(record.state, "")  # type: ignore[call-overload]
        shown = "" if tone == "good" else tone
        return format_html('<span class="{}">{}</span>', shown, words.state(record))

    def value_state(self, record: SyncRun) -> str:
        """As programs call it."""
        return record.state

    def render_writes(self, record: SyncRun) -> str:
        """How many, and of how many where it did not come to the end."""
        if record.intended <= record.writes:
            return formats.number(record.writes)
        numbers = {"there": record.writes, "all": record.intended}
        return _("%(there)s of %(all)s") % numbers

    def render_message(self, value: str) -> str:
        """Its first line."""
        first, _newline, more = value.partition("\n")
        return f"{first} …" if more else first

    def value_message(self, value: str) -> str:
        """All of it."""
        return value

    def render_fields(self, record: SyncRun) -> SafeString:
        """The way to the fields."""
        url = reverse("kubernetes:run", args=[record.pk])
        label = _("Fields of sync %(id)s") % {"id": record.pk}
        return format_html('<a href="{}" aria-label="{}">{}</a>', url, label, _("Fields"))


class ChangeTable(tables.Table):
    """Fields, from what to what: of a sync that was, or of one that would be."""

    caption = gettext_lazy("Fields, from what to what")
    empty_title = gettext_lazy("No field")

    kind = django_tables2.Column(gettext_lazy("Kind"))
    name = django_tables2.Column(gettext_lazy("Name"), order_by=("namespace", "name"), attrs=_BARE)
    field = django_tables2.Column(gettext_lazy("Field"), attrs=_MONO)
    was = django_tables2.Column(gettext_lazy("From"), orderable=False, empty_values=())
    now = django_tables2.Column(gettext_lazy("To"), orderable=False, empty_values=())

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards changes"}
        empty_text = gettext_lazy("Nothing was changed.")

    def render_name(self, record: Any) -> str:
        """After its namespace."""
        return words.named(record.namespace, record.name)

    def value_name(self, record: Any) -> str:
        """The same."""
        return words.named(record.namespace, record.name)

    def render_was(self, value: Any) -> SafeString:
        """The value before."""
        return _value(value)

    def render_now(self, value: Any) -> SafeString:
        """The value after."""
        return _value(value)

    def value_was(self, value: Any) -> str:
        """For programs."""
        return "" if value is None else words.value(value)

    def value_now(self, value: Any) -> str:
        """For programs."""
        return "" if value is None else words.value(value)


class RayTable(tables.Table):
    """Heads and worker groups of Ray clusters."""

    caption = gettext_lazy("Groups of Ray clusters")
    empty_title = gettext_lazy("No Ray cluster with GPUs")

    name = django_tables2.Column(gettext_lazy("Ray cluster"), attrs=_BARE)
    group = django_tables2.Column(gettext_lazy("Group"))
    available = tables.NumberColumn(verbose_name=gettext_lazy("Pods ready"))
    desired = tables.NumberColumn(verbose_name=gettext_lazy("Pods wanted"))
    pod_gpus = tables.NumberColumn(verbose_name=gettext_lazy("GPUs of a pod"))
    ray_gpus = tables.NumberColumn(verbose_name=gettext_lazy("GPUs Ray counts"))
    repair = django_tables2.Column(
        gettext_lazy("What to do"), accessor="id", orderable=False, attrs={"td": {"class": "why"}}
    )

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy(
            "RayClusters and RayJobs appear here as soon as one of their groups asks for GPUs."
        )

    def render_name(self, record: RayGroup) -> str:
        """After its namespace."""
        return words.named(record.namespace, record.name)

    def value_name(self, record: RayGroup) -> str:
        """The same."""
        return words.named(record.namespace, record.name)

    def render_available(self, record: RayGroup) -> SafeString:
        """Fewer than wanted stand out."""
        tone = "warn" if record.available < record.desired else ""
        return format_html('<span class="{}">{}</span>', tone, formats.number(record.available))

    def render_ray_gpus(self, record: RayGroup) -> SafeString:
        """A wrong count stands out."""
        tone = "" if record.matches else "bad"
        return format_html('<span class="{}">{}</span>', tone, formats.number(record.ray_gpus))

    def render_repair(self, record: RayGroup) -> str:
        """In a sentence."""
        return words.repair(record)

    def value_repair(self, record: RayGroup) -> str:
        """The same."""
        return words.repair(record)
