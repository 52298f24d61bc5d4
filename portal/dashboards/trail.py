"""The audit trail as a page: who did what to which thing, filtered, exported, linked.

Rows of the chain name people and things by id; names are looked up as the page is drawn, so that
a person who was erased is only a number here too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import django_tables2
from django import forms
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import tables, zones
from portal.common.filters import FilterForm
from portal.common.forms import offer
from portal.common.models import AuditEvent
from portal.teams.models import User
from portal.teams.permissions import OVERSEE
from portal.teams.selectors import Access

PAGES = {
    "request": ("requests:detail", "request_id"),
    "workload": ("dashboards:workload", "workload_id"),
    "statement": ("finance:statement", "statement_id"),
    "study": ("studies:study", "study_id"),
}
ROOMS = {
    "teams": gettext_lazy("People and teams"),
    "inventory": gettext_lazy("Clusters, pools and nodes"),
    "quotas": gettext_lazy("Quotas"),
    "reservations": gettext_lazy("Reservations"),
    "requests": gettext_lazy("Requests"),
    "slas": gettext_lazy("SLAs"),
    "scheduling": gettext_lazy("Policy"),
    "workloads": gettext_lazy("Jobs"),
    "kubernetes": gettext_lazy("Sync and drift"),
    "finance": gettext_lazy("Costs"),
    "studies": gettext_lazy("What-if lab"),
}
ANY = [("", gettext_lazy("Any"))]


class TrailFilter(FilterForm):
    """By words of the action, room, person, team and days."""

    q = forms.CharField(label=gettext_lazy("Action"), max_length=80)
    room = forms.ChoiceField(label=gettext_lazy("About"), choices=[*ANY, *ROOMS.items()])
    person = forms.CharField(label=gettext_lazy("Who"), max_length=150)
    team = forms.ChoiceField(label=gettext_lazy("Team"))
    since = forms.DateField(
        label=gettext_lazy("From day"), widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label=gettext_lazy("To day"), widget=forms.DateInput(attrs={"type": "date"})
    )
    thing = forms.CharField(widget=forms.HiddenInput())

    def __init__(self, *args: Any, teams: Iterable[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "team", [*ANY, *teams])

    def narrow(self, rows: QuerySet[AuditEvent], *, zone: str) -> QuerySet[AuditEvent]:
        """Only rows that match; days are whole days of `zone`."""
        chosen = self.chosen()
        if "q" in chosen:
            rows = rows.filter(action__icontains=chosen["q"])
        if "room" in chosen:
            rows = rows.filter(action__startswith=f"{chosen['room']}.")
        if "person" in chosen:
            rows = rows.filter(actor_id__in=_people(chosen["person"]))
        if "team" in chosen:
            rows = rows.filter(team_id=chosen["team"])
        if "since" in chosen:
            rows = rows.filter(at__gte=_day(chosen["since"], zone)[0])
        if "until" in chosen:
            rows = rows.filter(at__lt=_day(chosen["until"], zone)[1])
        kind, _colon, number = chosen.get("thing", "").partition(":")
        if number.isascii() and number.isdigit() and len(number) < 19:
            rows = rows.filter(target_type=kind, target_id=int(number))
        return rows


def _day(day: date, zone: str) -> tuple[datetime, datetime]:
    return zones.day_of(datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone)), zone)


def _people(words: str) -> list[int]:
    """Ids of those whose name holds every word."""
    wanted = Q()
    for word in words.split():
        wanted &= (
            Q(username__icontains=word)
            | Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
        )
    return list(User.objects.filter(wanted).values_list("pk", flat=True)[:500])


def query_trail(access: Access) -> QuerySet[AuditEvent]:
    """Return the lines one may read, newest first: all, or those of the branches one oversees."""
    ids = access.teams(OVERSEE)
    rows = AuditEvent.objects.order_by("-id")
    return rows if ids is None else rows.filter(team_id__in=ids)


class TrailTable(tables.Table):
    """One line a thing done. Names are read for the rows of the page alone."""

    caption = gettext_lazy("Audit trail, newest first")
    empty_title = gettext_lazy("No line matches")

    at = tables.WhenColumn(verbose_name=gettext_lazy("When"))
    actor_id = django_tables2.Column(
        verbose_name=gettext_lazy("Who"), orderable=False, empty_values=()
    )
    action = django_tables2.Column(
        verbose_name=gettext_lazy("Did"), attrs={"td": {"class": "bare"}}
    )
    target_id = django_tables2.Column(
        verbose_name=gettext_lazy("To what"), orderable=False, empty_values=()
    )
    team_id = django_tables2.Column(verbose_name=gettext_lazy("Team"), orderable=False)
    data = django_tables2.Column(
        verbose_name=gettext_lazy("Details"), orderable=False, attrs={"td": {"class": "anywhere"}}
    )
    request_id = django_tables2.Column(visible=False)
    hash = django_tables2.Column(visible=False)

    class Meta(tables.Table.Meta):
        empty_text = gettext_lazy("Widen the days, or take a filter away.")
        sequence = ("at", "actor_id", "action", "target_id", "team_id", "data")

    def __init__(self, rows: QuerySet[AuditEvent], *, names: Mapping[int, str], **kw: Any) -> None:
        super().__init__(rows, **kw)
        self._teams = names
        self._people: dict[int, str] = {}

    def before_render(self, request: Any) -> None:
        """Read the names of the page's people in one query."""
        ids = {row.record.actor_id for row in self.page.object_list if row.record.actor_id}
        self._people = {user.pk: str(user) for user in User.objects.filter(pk__in=ids)}

    def render_actor_id(self, value: int | None) -> str:
        """By name; what nobody did, the system did."""
        if value is None:
            return _("the system")
        return self._people.get(value, f"#{value}")

    def value_actor_id(self, value: int | None) -> int | None:
        """Programs join by id."""
        return value

    def render_action(self, value: str) -> SafeString:
        """As programs know it, apart at the point."""
        room, _point, verb = value.partition(".")
        about = ROOMS.get(room, room)
        return format_html(
            '<code>{}</code> <span class="soft">{}</span>', verb.replace("_", " "), about
        )

    def value_action(self, value: str) -> str:
        """As programs know it."""
        return value

    def render_target_id(self, record: AuditEvent) -> SafeString | str:
        """With a link where the thing has a page."""
        label = f"{record.target_type.replace('_', ' ')} {record.target_id or ''}".strip()
        page = PAGES.get(record.target_type)
        if page is None or record.target_id is None:
            return label
        url = reverse(page[0], kwargs={page[1]: record.target_id})
        return format_html('<a href="{}">{}</a>', url, label)

    def value_target_id(self, record: AuditEvent) -> str:
        """Kind and id, as the filter `thing` takes it."""
        return f"{record.target_type}:{record.target_id or ''}"

    def render_team_id(self, value: int) -> str:
        """By name."""
        return self._teams.get(value, f"#{value}")

    def value_team_id(self, value: int) -> int:
        """Programs join by id."""
        return value

    def render_data(self, value: dict[str, Any]) -> SafeString:
        """Each figure with its name."""
        return format_html_join(
            " · ", "<span>{} <b>{}</b></span>",
            ((key.replace("_", " "), _short(held)) for key, held in _flat(value)),
        )  # fmt: skip

    def value_data(self, value: dict[str, Any]) -> str:
        """As JSON."""
        return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give each figure that says something, those of an inner object beside the outer ones."""
    for key, held in value.items():
        if isinstance(held, dict):
            yield from _flat(held)
        elif held not in (None, "", []):
            yield key, held


def _short(held: Any) -> str:
    text = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
