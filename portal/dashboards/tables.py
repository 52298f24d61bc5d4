"""The tables of the room: the queue, and the nodes of a pool."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import drawing, formats, tables
from portal.dashboards import words
from portal.dashboards.selectors import common
from portal.dashboards.selectors.capacity import NodeUse
from portal.dashboards.selectors.common import TeamMark
from portal.dashboards.selectors.queue import Ahead
from portal.scheduling.selectors import QueueRow


class QueueTable(tables.Table):
    """Jobs in queue order, each with its reason as a sentence; `tell` gives each row its words."""

    caption = gettext_lazy("Jobs in queue order")
    empty_title = gettext_lazy("No job matches")

    name = django_tables2.Column(
        gettext_lazy("Job"), accessor="pk", orderable=False, attrs={"td": {"class": "bare job"}}
    )
    team = django_tables2.Column(gettext_lazy("Team"), accessor="pk", order_by=("team__name", "id"))
    pool = django_tables2.Column(
        gettext_lazy("Pool"), accessor="pk", order_by=("pool__name", "id"),
        attrs={"td": {"class": "soft"}},
    )  # fmt: skip
    gpus = tables.GpusColumn(
        accessor="total_milli", verbose_name=gettext_lazy("GPUs"), order_by=("total_milli", "id")
    )
    state = django_tables2.Column(
        gettext_lazy("State"), accessor="pk", order_by=("standing__position", "submitted_at", "id")
    )
    why = django_tables2.Column(
        gettext_lazy("Why"), accessor="pk", orderable=False, attrs={"td": {"class": "reason"}}
    )
    starts = django_tables2.Column(
        gettext_lazy("Starts"), accessor="pk", order_by=("standing__planned_start", "id"),
        attrs={"td": {"class": "n nowrap"}, "th": {"class": "n"}},
    )  # fmt: skip

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards queue"}
        empty_text = gettext_lazy(
            "Clear the filters, or wait: what is submitted in a namespace of a team "
            "appears here within a minute."
        )

    def __init__(
        self, *args: Any, now: datetime, ahead: Ahead, waiting: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self.ahead = ahead
        if waiting:
            self.columns["state"].column.verbose_name = _("Place")
        self.marks = common.team_marks()
        self.told: dict[int, QueueRow] = {}

    def tell(self, rows: Iterable[QueueRow]) -> None:
        """Hand the table what this reader may see of its rows."""
        self.told = {row.id: row for row in rows}

    def render_name(self, value: int) -> SafeString:
        """The name as a link, who and which class below it; or whose it is."""
        row = self.told[value]
        if not row.visible:
            return format_html('<span class="soft">{}</span>', row.title)
        return format_html(
            '<a href="{}"><b>{}</b></a><div class="why">{}</div>',
            reverse("dashboards:workload", args=[row.id]), row.title, words.byline(row),
        )  # fmt: skip

    def render_team(self, value: int) -> SafeString:
        """The team after its dot."""
        return team_dot(self.marks.get(self.told[value].team_id or 0))

    def render_pool(self, value: int) -> str:
        """The pool it asks for."""
        return self.told[value].pool_name or _("any")

    def render_state(self, value: int) -> str:
        """Its place while it waits and has one, else its state; only a fault stands out."""
        row = self.told[value]
        if row.waits and row.position is not None:
            return formats.number(row.position)
        tone = "bad" if words.tone(row) == "bad" else ""
        return format_html('<span class="{}">{}</span>', tone, words.state(row))

    def render_why(self, value: int) -> str:
        """The sentence, and behind it what else stands in the way and who is ahead."""
        row = self.told[value]
        main = words.why(row).text
        more = words.also(row)
        ahead = words.ahead_sentence(self.ahead.of(row.cluster_id, row.position))
        if row.waits and ahead:
            more.append(ahead)
        if not more:
            return main
        items = format_html_join("", "<li>{}</li>", ((line,) for line in more))
        return format_html(
            '<details id="more-{}"><summary>{}</summary><ul>{}</ul></details>', row.id, main, items
        )

    def render_starts(self, value: int) -> SafeString:
        """When it starts, started or ended, and below it how sure the start is."""
        row = self.told[value]
        likely = words.outlook(row, self.now)
        below = format_html('<div class="why">{}</div>', likely) if likely else ""
        return format_html("{}{}", words.moment(row, self.now), below)


HEADER = (
    gettext_lazy("Job"), gettext_lazy("Person"), gettext_lazy("Class"), gettext_lazy("Team"),
    gettext_lazy("Pool"), gettext_lazy("GPUs"), gettext_lazy("State"), gettext_lazy("Place"),
    gettext_lazy("Submitted"), gettext_lazy("Planned start"), gettext_lazy("Likely from"),
    gettext_lazy("Likely until"), gettext_lazy("Why"),
)  # fmt: skip


def queue_values(rows: Iterable[QueueRow]) -> Iterator[tuple[object, ...]]:
    """The queue's rows for programs."""
    for row in rows:
        yield (
            row.title, row.person, row.kind, row.team_name, row.pool_name, row.gpu_milli / 1000,
            row.state, row.position, row.submitted_at, row.planned_start,
            row.outlook.p50 if row.outlook else None, row.outlook.p90 if row.outlook else None,
            words.why(row).text,
        )  # fmt: skip


def team_dot(mark: TeamMark | None) -> SafeString:
    """A team's name after its dot; nobody's work says so."""
    hue = drawing.hue_class(mark.hue if mark else 0)
    return format_html(
        '<span class="team"><span class="dot {}"></span>{}</span>', hue, words.team_name(mark)
    )


class NodeTable(tables.Table):
    """The nodes of a pool: the same as the map, in words."""

    caption = gettext_lazy("Nodes")
    empty_title = gettext_lazy("This pool has no node")

    name = django_tables2.Column(gettext_lazy("Node"), accessor="row__name")
    state = django_tables2.Column(gettext_lazy("State"), accessor="row__state")
    gpus = tables.NumberColumn(accessor="row__gpus", verbose_name=gettext_lazy("GPUs"))
    free = tables.GpusColumn(accessor="free_milli", verbose_name=gettext_lazy("Free"))
    who = django_tables2.Column(gettext_lazy("Who is on it"), accessor="devices", orderable=False)

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy("Nodes appear here as soon as the cluster lists them.")

    def __init__(self, *args: Any, marks: dict[int, TeamMark], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.marks = marks

    def render_state(self, record: NodeUse) -> SafeString:
        """The state; one out of use stands out."""
        tone = "" if record.usable else "warn"
        return format_html('<span class="{}">{}</span>', tone, words.node_state(record))

    def value_state(self, record: NodeUse) -> str:
        """The state in words."""
        return words.node_state(record)

    def render_who(self, record: NodeUse) -> SafeString:
        """Teams and their parts."""
        return format_html_join(
            ", ", "{} {} {}",
            (
                (team_dot(self.marks.get(use.team_id or 0)), formats.gpus(use.milli),
                 words.charge(use.charged_to))
                for use in record.by_team()
            ),
        )  # fmt: skip

    def value_who(self, record: NodeUse) -> str:
        """The same without colour."""
        return ", ".join(
            f"{words.team_name(self.marks.get(use.team_id or 0))} {formats.gpus(use.milli)}"
            for use in record.by_team()
        )
