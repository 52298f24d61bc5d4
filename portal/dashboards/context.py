"""The frame around every page: where one may go, what waits there, what is simulated.

It stands here, in the highest room, since it looks into others. Nothing is read from the database
before a template asks for it.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from portal.common import clock, counting, formats
from portal.dashboards.selectors import common
from portal.inventory import selectors as inventory
from portal.inventory.models import Cluster, ClusterKind
from portal.notifications import selectors as notifications
from portal.requests import selectors as requests
from portal.teams import permissions
from portal.teams.middleware import access_of, rule_for
from portal.teams.permissions import Verdict

SECTIONS = (
    (
        "",
        (
            ("dashboards:home", gettext_lazy("Home")),
            ("notifications:inbox", gettext_lazy("Inbox")),
        ),
    ),
    (
        gettext_lazy("Work"),
        (
            ("kubernetes:new-job", gettext_lazy("New job")),
            ("dashboards:queue", gettext_lazy("Queue")),
            ("requests:reserve", gettext_lazy("Reserve")),
            ("requests:list", gettext_lazy("Requests")),
        ),
    ),
    (
        gettext_lazy("Overview"),
        (
            ("dashboards:capacity", gettext_lazy("Capacity")),
            ("dashboards:fairness", gettext_lazy("Fairness")),
            ("requests:slas", gettext_lazy("SLAs")),
        ),
    ),
    (
        gettext_lazy("Plan"),
        (
            ("requests:quotas", gettext_lazy("Quotas")),
            ("requests:maintenance", gettext_lazy("Maintenance")),
            ("scheduling:policy", gettext_lazy("Policy")),
            ("studies:list", gettext_lazy("What-if lab")),
            ("requests:rules", gettext_lazy("Rules")),
        ),
    ),
    (
        gettext_lazy("Use and money"),
        (
            ("dashboards:usage", gettext_lazy("Usage")),
            ("finance:costs", gettext_lazy("Costs")),
        ),
    ),
    (
        gettext_lazy("Administration"),
        (
            ("kubernetes:clusters", gettext_lazy("Clusters")),
            ("teams:people", gettext_lazy("People")),
            ("dashboards:audit", gettext_lazy("Audit")),
            ("admin:index", gettext_lazy("Admin")),
        ),
    ),
)
"""The pages by what one comes for. A page that is not there yet, or not for the reader, is left out."""


@dataclass(frozen=True, slots=True)
class NavItem:
    """One page in the navigation."""

    url: str
    label: str
    current: bool
    count: int = 0
    count_text: str = ""


@dataclass(frozen=True, slots=True)
class NavSection:
    """Pages that belong together."""

    label: str
    items: tuple[NavItem, ...]


class Frame:
    """What base.html asks for."""

    hatch_names = ("1", "2", "3", "4", "5", "6", "7", "8", "none", "accent")

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def sections(self) -> list[NavSection]:
        """The pages this person may open."""
        found = (
            (label, tuple(item for page in pages if (item := self._item(*page))))
            for label, pages in SECTIONS
        )
        return [NavSection(str(label), items) for label, items in found if items]

    def _item(self, name: str, label: object) -> NavItem | None:
        verdict = permissions.decide(
            rule_for(name), access_of(self._request), writes=False, kwargs={}
        )
        if verdict is not Verdict.OPEN:
            return None
        try:
            url = reverse(name)
        except NoReverseMatch:
            return None
        here = self._request.path
        current = here == url if name == "dashboards:home" else here.startswith(url)
        count, text = self._count(name)
        return NavItem(url, str(label), current, count, text % {"count": count})

    def _count(self, name: str) -> tuple[int, str]:
        """The number beside a page, and what it counts in words."""
        if name == "requests:list":
            waiting = self.waiting
            return waiting, ngettext("%(count)d waits for you", "%(count)d wait for you", waiting)
        if name == "notifications:inbox":
            unread = self._counts["unread"]
            return unread, ngettext("%(count)d is unread", "%(count)d are unread", unread)
        return 0, ""

    @cached_property
    def waiting(self) -> int:
        """Requests this person may decide now, as the Requests page counts them."""
        known: int | None = getattr(self._request, "waiting_to_decide", None)
        return self._counts["waiting"] if known is None else known

    @cached_property
    def _counts(self) -> dict[str, int]:
        """What the numbers beside pages are, of those this person may open: one query."""
        access = access_of(self._request)
        wanted: dict[str, QuerySet[Any]] = {}
        if access.user_id is not None:
            wanted["unread"] = notifications.query_inbox(user_id=access.user_id, unread=True)
        known = hasattr(self._request, "waiting_to_decide")
        if access.holds_anywhere(permissions.DECIDE) and not known:
            wanted["waiting"] = requests.query_to_decide(access=access, now=clock.now())
        return {"unread": 0, "waiting": 0, **counting.together(wanted)}

    @cached_property
    def _clusters(self) -> list[Cluster]:
        grants = access_of(self._request).grants
        return [cluster for cluster, _at in common.list_clusters()] if grants else []

    @property
    def simulated(self) -> list[str]:
        """Names of the clusters that are simulated, to be said on every page."""
        return [c.name for c in self._clusters if c.kind == ClusterKind.SIMULATED]

    @property
    def stale(self) -> list[str]:
        """A sentence for each cluster whose last good read is too old for what pages say of now."""
        now = clock.real_now()
        return [
            _stale(cluster, now)
            for cluster in self._clusters
            if inventory.is_stale(cluster=cluster, real_now=now)
        ]


def _stale(cluster: Cluster, real_now: datetime) -> str:
    if cluster.seen_real_at is None:
        return _("The cluster %(name)s has not been read yet.") % {"name": cluster.name}
    words = {"name": cluster.name, "ago": formats.ago(cluster.seen_real_at, real_now)}
    return (
        _(
            "The cluster %(name)s was last read %(ago)s in real time. What pages say of its jobs and "
            "nodes is from then, and nothing new is decided until it answers."
        )
        % words
    )


def frame(request: HttpRequest) -> dict[str, Frame]:
    """The frame, read as far as a template uses it."""
    return {"frame": Frame(request)}
