"""What the page of SLAs shows: promises beside how often they were kept, and what was late."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import django_tables2
from django import forms
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import drawing, formats, tables
from portal.common.filters import FilterForm, PlainSelect
from portal.common.forms import offer
from portal.requests import answering, local_times, selectors
from portal.requests.forms import moment
from portal.slas import selectors as slas
from portal.slas import targets
from portal.slas.models import Breach, BreachKind
from portal.slas.tallying import NOTHING, Kept
from portal.slas.targets import SlaRow
from portal.teams.selectors import TeamRow, Tree

PERIODS = (7, 30, 90)
ANY = [("", gettext_lazy("Any"))]


@dataclass(frozen=True, slots=True)
class Line:
    """One promise: whose, what, and how often it was kept."""

    sla: SlaRow
    team: TeamRow
    pool: str
    waits: Kept
    answers: Kept

    @property
    def tone(self) -> str:
        """Good where the goal is reached, bad where it is not, nothing where nothing came."""
        if self.waits.permille is None:
            return ""
        return "good" if self.waits.permille >= self.sla.goal_permille else "bad"

    @property
    def kept(self) -> str:
        """The share kept, in percent."""
        return percent(self.waits)

    @property
    def answered(self) -> str:
        """The share of requests answered in time, in percent."""
        return percent(self.answers) if self.sla.answer_seconds else ""

    @property
    def goal(self) -> str:
        """The share that should be kept, in percent."""
        return _("%(share)s %%") % {"share": formats.number(self.sla.goal_permille / 10, 1)}


def percent(kept: Kept) -> str:
    """Parts kept in percent, rounded down to a tenth; a dash where nothing is decided."""
    if kept.permille is None:
        return "—"
    return _("%(share)s %%") % {"share": formats.number(kept.permille / 10, 1)}


def list_lines(*, teams: list[TeamRow], tree: Tree, days: int, now: datetime) -> list[Line]:
    """The promises of these teams that hold, or held in the period, in the order of the tree."""
    from_at = now - timedelta(days=days)
    promised = targets.get_targets(now=now, from_at=from_at, tree=tree)
    waits = slas.list_kept(from_at=from_at, now=now, promised=promised)
    answers = answering.list_kept(from_at=from_at, now=now, promised=promised)
    by_team: dict[int, list[SlaRow]] = {}
    for (team_id, _pool_id), rows in sorted(promised.rows.items(), key=lambda one: one[0][1] or 0):
        by_team.setdefault(team_id, []).extend(rows)
    return [
        Line(
            sla=row, team=team, pool=row.pool or _("all pools"),
            waits=waits.get(row.id, NOTHING), answers=answers.get(row.id, NOTHING),
        )
        for team in teams
        for row in by_team.get(team.id, [])
    ]  # fmt: skip


class BreachFilter(FilterForm):
    """By kind, team, and whether somebody has answered for it."""

    kind = forms.ChoiceField(label=gettext_lazy("What"), choices=[*ANY, *BreachKind.choices])
    team = forms.TypedChoiceField(label=gettext_lazy("Team"), coerce=int, widget=PlainSelect)
    seen = forms.ChoiceField(
        label=gettext_lazy("Acknowledged"),
        choices=[*ANY, ("no", gettext_lazy("No")), ("yes", gettext_lazy("Yes"))],
    )
    days = forms.ChoiceField(widget=forms.HiddenInput())

    def __init__(self, *args: Any, teams: list[TeamRow], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(team.id, team.name) for team in teams]
        offer(self, "team", [*ANY, *names])
        offer(self, "days", [(str(d), str(d)) for d in PERIODS])


class BreachTable(tables.Table):
    """What came too late, newest first."""

    caption: Any = gettext_lazy("What came too late")
    empty_title = gettext_lazy("Nothing was late")

    what = django_tables2.Column(
        verbose_name=gettext_lazy("What"), empty_values=(), order_by=("kind", "-id"),
        attrs={"td": {"class": "bare"}},
    )  # fmt: skip
    team = django_tables2.Column(verbose_name=gettext_lazy("Team"), order_by=("team__name", "-id"))
    tier = django_tables2.Column(
        verbose_name=gettext_lazy("Tier"), accessor="sla__tier__name",
        order_by=("sla__tier__name", "-id"),
    )  # fmt: skip
    due_at = tables.WhenColumn(verbose_name=gettext_lazy("Was due"))
    late = django_tables2.Column(
        verbose_name=gettext_lazy("Late by"), empty_values=(), orderable=False
    )
    owner = django_tables2.Column(
        verbose_name=gettext_lazy("Owner"), empty_values=(), order_by=("owner__username", "-id")
    )
    note = django_tables2.Column(
        verbose_name=gettext_lazy("Acknowledged"), empty_values=(), orderable=False
    )

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy("Every promise was kept, or nothing matches.")

    def __init__(self, *args: Any, now: datetime, may_answer: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self.may_answer = may_answer

    def render_what(self, record: Breach) -> SafeString:
        """A link to the job or the request."""
        if record.workload is not None:
            url = reverse("dashboards:workload", args=[record.workload.pk])
            return format_html('<a href="{}">{}</a>', url, record.workload.name)
        words = _("request #%(id)s") % {"id": record.request_id}
        url = reverse("requests:detail", args=[record.request_id])
        return format_html('<a href="{}">{}</a>', url, words)

    def value_what(self, record: Breach) -> str:
        """What it is, for programs."""
        if record.workload is not None:
            return record.workload.name
        return f"request {record.request_id}"

    def render_team(self, record: Breach) -> SafeString:
        """The team with its colour."""
        dot = drawing.hue_class(record.team.hue)
        return format_html('<span class="dot {}"></span>{}', dot, record.team.name)

    def value_team(self, record: Breach) -> str:
        """The team's name."""
        return record.team.name

    def render_late(self, record: Breach) -> str:
        """By how much, so far where it still is."""
        span = formats.duration((record.ended_at or max(self.now, record.due_at)) - record.due_at)
        return _("%(span)s so far") % {"span": span} if record.ended_at is None else span

    def value_late(self, record: Breach) -> int:
        """The same in seconds."""
        return int(((record.ended_at or self.now) - record.due_at).total_seconds())

    def render_owner(self, record: Breach) -> str:
        """Who looks after it."""
        return str(record.owner) if record.owner else _("nobody")

    def render_note(self, record: Breach) -> str | SafeString:
        """What was said of it, or a link to say something."""
        if record.acknowledged_at is not None:
            return record.note
        if not self.may_answer(record.team_id):
            return _("not yet")
        url = reverse("requests:breach", args=[record.pk])
        return format_html('<a href="{}">{}</a>', url, _("Acknowledge"))

    def value_note(self, record: Breach) -> str:
        """What was said of it."""
        return record.note


class SlaSetForm(forms.Form):
    """Whose a tier is to be."""

    team = forms.TypedChoiceField(label=gettext_lazy("Team"), coerce=int)
    pool = forms.TypedChoiceField(label=gettext_lazy("Pool"), coerce=int, required=False)
    tier = forms.TypedChoiceField(label=gettext_lazy("Tier"), coerce=int, required=False)
    starts_at = moment(gettext_lazy("From"), gettext_lazy("Empty: as soon as it is saved."))
    ends_at = moment(gettext_lazy("Until"), gettext_lazy("Empty: until it is changed."))
    zone = forms.CharField(max_length=64, widget=forms.HiddenInput())

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, teams: list[TeamRow], zone: str
    ) -> None:
        super().__init__(data, initial={"zone": zone})
        tiers = [
            (tier.pk, f"{tier.name} · {formats.duration(tier.target_wait_seconds)}")
            for tier in slas.list_tiers()
        ]
        choices: dict[str, list[tuple[Any, Any]]] = {
            "team": [(team.id, team.name) for team in teams],
            "pool": [("", _("all pools")), *selectors.list_pool_names()],
            "tier": [("", _("none: the promise ends")), *tiers],
        }
        for name, found in choices.items():
            offer(self, name, found)

    def clean(self) -> dict[str, Any]:
        """Read local times."""
        cleaned = super().clean() or self.cleaned_data
        for name in ("starts_at", "ends_at"):
            text = cleaned.get(name) or ""
            cleaned[name] = None
            if text:
                try:
                    cleaned[name] = local_times.read(text, cleaned.get("zone") or "UTC")
                except (local_times.NotATime, KeyError, ValueError) as fault:
                    self.add_error(name, str(fault))
        return cleaned


class TierForm(forms.Form):
    """A promise by name."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=60)
    wait_minutes = forms.IntegerField(
        label=gettext_lazy("A job starts within, in minutes"), min_value=1, max_value=525_600
    )
    goal = forms.DecimalField(
        label=gettext_lazy("Goal, in percent of the jobs"), min_value=0, max_value=100,
        decimal_places=1, initial=95,
    )  # fmt: skip
    answer_hours = forms.IntegerField(
        label=gettext_lazy("A request is answered within, in hours"), min_value=1, max_value=8760,
        required=False, help_text=gettext_lazy("Empty: no target."),
    )  # fmt: skip


class AcknowledgeForm(forms.Form):
    """What somebody says of what was late."""

    owner = forms.TypedChoiceField(
        label=gettext_lazy("Who looks after it"), coerce=int, required=False
    )
    note = forms.CharField(
        label=gettext_lazy("What happened, and what is done about it"), max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )  # fmt: skip
    version = forms.IntegerField(widget=forms.HiddenInput())

    def __init__(self, *args: Any, people: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "owner", [("", _("I do")), *people])
