"""The list of requests."""

from datetime import datetime
from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from portal.common import drawing, money, tables
from portal.requests import words
from portal.requests.models import Request
from portal.teams.permissions import COST
from portal.teams.selectors import Access

NOWRAP = {"td": {"class": "nowrap"}}
# On a telephone a row is a card: these stand without their word, and what they say is not said twice.
BARE = {"td": {"class": "bare"}}


class RequestTable(tables.Table):
    """One line a request: what, for whom, by whom, where it stands."""

    caption: Any = _("Requests")
    empty_title = _("No requests here")

    id = django_tables2.Column(verbose_name=_("Request"), attrs=BARE)
    asked = django_tables2.Column(
        verbose_name=_("What"), empty_values=(), order_by=("starts_at", "-id"), attrs=BARE
    )
    team = django_tables2.Column(
        verbose_name=_("Team"), order_by=("team__name", "-id"), attrs=NOWRAP
    )
    pool = django_tables2.Column(
        verbose_name=_("Pool"), order_by=("pool__name", "-id"), visible=False
    )
    gpus = tables.NumberColumn(
        verbose_name=_("GPUs"), empty_values=(), order_by=("gpus", "guaranteed", "-id"),
        attrs={"td": {"class": "n gone"}, "th": {"class": "n"}},
    )  # fmt: skip
    starts_at = tables.WhenColumn(verbose_name=_("Begins"), visible=False)
    ends_at = tables.WhenColumn(verbose_name=_("Ends"), visible=False)
    requested_by = django_tables2.Column(
        verbose_name=_("Asked by"), order_by=("requested_by__username", "-id")
    )
    state = django_tables2.Column(verbose_name=_("State"))
    submitted_at = tables.WhenColumn(verbose_name=_("Submitted"))
    cost_micro = tables.NumberColumn(
        verbose_name=_("Estimate"), attrs={"td": {"class": "n nowrap"}, "th": {"class": "n"}}
    )

    class Meta(tables.Table.Meta):
        empty_text = _("Nothing matches, or nothing was asked yet.")
        sequence = (
            "id", "asked", "team", "pool", "gpus", "starts_at", "ends_at", "requested_by", "state",
            "submitted_at", "cost_micro",
        )  # fmt: skip

    def __init__(self, *args: Any, now: datetime, access: Access, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self.access = access

    def render_id(self, value: int) -> SafeString:
        """A link to the request."""
        return format_html('<a href="{}">#{}</a>', reverse("requests:detail", args=[value]), value)

    def value_id(self, value: int) -> int:
        """Its number."""
        return value

    def render_asked(self, record: Request) -> str:
        """What is asked, in a few words."""
        return words.what(record, self.now)

    def value_asked(self, record: Request) -> str:
        """Which kind it is."""
        return str(record.get_kind_display())

    def render_team(self, record: Request) -> SafeString:
        """The team with its colour."""
        dot = drawing.hue_class(record.team.hue)
        return format_html('<span class="dot {}"></span>{}', dot, record.team.name)

    def value_team(self, record: Request) -> str:
        """The team's name."""
        return record.team.name

    def render_gpus(self, record: Request) -> str:
        """Asked, and granted where it is less."""
        return words.gpus(record)

    def value_gpus(self, record: Request) -> int | None:
        """Asked."""
        return words.asked_gpus(record)

    def render_state(self, record: Request) -> SafeString:
        """The state as a pill."""
        tone = words.tone(record, self.now)
        return format_html('<span class="pill {}">{}</span>', tone, words.state(record, self.now))

    def value_state(self, record: Request) -> str:
        """The state's word for programs."""
        return record.state

    def render_cost_micro(self, record: Request, value: int) -> str:
        """The estimate, for those who may see what the team pays."""
        if not self.access.holds(COST, team_id=record.team_id):
            return "—"
        return money.show(value, record.currency)

    def value_cost_micro(self, record: Request, value: int | None) -> object:
        """The estimate in whole currency units."""
        if value is None or not self.access.holds(COST, team_id=record.team_id):
            return None
        return money.from_micro(value)
