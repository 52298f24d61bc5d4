"""The page that asks for a study: what may be chosen, how it begins filled in, what was asked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Invalid
from portal.inventory.models import Cluster, Pool
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling import policies, ruling
from portal.studies import changes, scoping
from portal.studies.checking import Asked
from portal.studies.forms import FOR_A_TRACE, PARTS, PAST, TRACE, Desk, Part, StudyForm
from portal.studies.models import Trace
from portal.teams.selectors import Access, Tree

WEEK = timedelta(days=7)
HOUR = 3600
MOST_RESERVATIONS = 200
DRAFT = "draft"
"""A whole policy from the Policy page, brought in the address."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the address says: whose jobs, which kind of change, a policy brought along."""

    source: str
    change: str
    draft: dict[str, Any] | None


def read(query: Mapping[str, str]) -> Choice:
    """What the address says; what it cannot mean counts as not said."""
    source = TRACE if query.get("jobs_of") == TRACE else PAST
    draft = _draft(query.get("rules", ""))
    change = query.get("change", "")
    known = FOR_A_TRACE if source == TRACE else PARTS.keys()
    if draft is not None:
        return Choice(source, DRAFT, draft)
    return Choice(source, change if change in known else "order", None)


def _draft(text: str) -> dict[str, Any] | None:
    if not text or len(text) > 4000:
        return None
    try:
        found = json.loads(text)
        return changes.changed_rules({}, found) if isinstance(found, dict) else None
    except (ValueError, RecursionError, Invalid):
        return None


def desk(access: Access, tree: Tree, now: datetime) -> Desk:
    """What may be chosen."""
    clusters = list(Cluster.objects.order_by("id"))
    first = clusters[0] if clusters else None
    rules: Mapping[str, Any] = policies.DEFAULT_RULES
    if first is not None:
        policy = policies.get_policy(cluster_id=first.pk, now=now)
        rules = policies.rules_of(policy, cluster_id=first.pk)
    several = len(clusters) > 1
    private = [("", _("nobody but those who oversee everything"))]
    return Desk(
        clusters=[(one.pk, one.name) for one in clusters],
        pools=[
            (one.pk, f"{one.cluster.name}: {one.name}" if several else one.name)
            for one in Pool.objects.select_related("cluster").order_by("cluster_id", "position")
        ],
        teams=[(row.id, tree.path_name(row.id)) for row in tree.rows],
        traces=[
            (one.pk, f"{one.name} ({formats.number(one.jobs)})") for one in Trace.objects.all()
        ],
        reservations=_reservations(now),
        sharing=[
            *(private if scoping.may_keep_private(access) else ()),
            *((str(r.id), tree.path_name(r.id)) for r in scoping.teams_to_share(access, tree)),
        ],
        rules=changes.changed_rules({}, rules),
    )  # fmt: skip


def _reservations(now: datetime) -> list[tuple[int, str]]:
    rows = (
        Reservation.objects.exclude(state=ReservationState.CANCELLED)
        .filter(starts_at__lt=now)
        .select_related("team", "pool")
        .order_by("-starts_at", "-id")[:MOST_RESERVATIONS]
    )
    words = _("R-%(id)d: %(team)s, %(gpus)d of %(pool)s, %(span)s")
    return [
        (
            row.pk,
            words % {
                "id": row.pk, "team": row.team.name, "gpus": row.gpus, "pool": row.pool.name,
                "span": formats.span(row.starts_at, row.ends_at),
            },
        )
        for row in rows
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sheet:
    """The forms of the page: the study's own, and the part that says what changes."""

    choice: Choice
    desk: Desk
    study: StudyForm
    part: Part | None

    def is_valid(self) -> bool:
        """Whether both are; each shows its own faults."""
        parts = [self.study.is_valid()]
        if self.part is not None:
            parts.append(self.part.is_valid())
        return all(parts)

    def asked(self) -> Asked:
        """What was asked, once both are valid."""
        said = self.study.cleaned_data
        first = _seconds(said.get("begin_hours"))
        return Asked(
            name=said["name"], change=self.change(), cluster_id=None if said.get("nodes") else said["cluster"],
            trace_id=said.get("jobs") or None, from_at=said.get("from_at"), to_at=said.get("to_at"),
            first_second=first, until_second=_until(said, first), nodes=said.get("nodes") or "",
            draw=said["draw"], seeds=said["seeds"], first_seed=said["first_seed"],
            team_id=int(said["shared"]) if said["shared"] else None,
        )  # fmt: skip

    def change(self) -> dict[str, Any]:
        """The one thing that changes."""
        if self.part is not None:
            change = self.part.change()
            return {**change, "pool": None} if self._is_bare(change) else change
        after = ruling.flat(self.choice.draft or {})
        before = ruling.flat(self.desk.rules)
        new = {key: value for key, value in after.items() if before.get(key) != value}
        return {"kind": "rules", "rules": ruling.nested(new)}

    def _is_bare(self, change: Mapping[str, Any]) -> bool:
        return change["kind"] == "nodes" and bool(self.study.cleaned_data.get("nodes"))


def _seconds(hours: int | None) -> int | None:
    return hours * HOUR if hours else None


def _until(said: Mapping[str, Any], first: int | None) -> int | None:
    """Where the part of a trace ends, on its own clock."""
    length = _seconds(said.get("length_hours"))
    return None if length is None else (first or 0) + length


def settled(asked: Asked, access: Access, tree: Tree) -> Asked:
    """What was asked, shared as the asker may, with the hours of a trace on its own clock.

    They are counted from its first job, whatever its clock says then.
    """
    asked = replace(asked, team_id=scoping.team_for(access, tree, asked.team_id))
    if asked.trace_id is None:
        return asked
    begins = Trace.objects.filter(pk=asked.trace_id).values_list("first_second", flat=True).first()
    shift = begins or 0
    return replace(
        asked,
        first_second=None if asked.first_second is None else asked.first_second + shift,
        until_second=None if asked.until_second is None else asked.until_second + shift,
    )


def sheet(data: Any, query: Mapping[str, str], access: Access, tree: Tree, now: datetime) -> Sheet:
    """The forms, filled in as most would have them or as they were sent."""
    choice = read(query)
    found = desk(access, tree, now)
    initial = _initial(choice, query, now)
    part = None
    if choice.change != DRAFT:
        part = PARTS[choice.change](data, desk=found, initial=dict(query.items()))
    return Sheet(
        choice, found, StudyForm(data, desk=found, source=choice.source, initial=initial), part
    )


def _initial(choice: Choice, query: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Last week, whole hours; a name that says what is asked."""
    until = timezone.localtime(now).replace(minute=0, second=0, microsecond=0)
    names = {
        "order": _("Another order, last week"),
        "placement": _("Another placement, last week"),
        "quota": _("Another quota, last week"),
        "nodes": _("More nodes, last week"),
        DRAFT: _("The policy drafted, last week"),
    }
    usual = _("What if, last week") if choice.source == PAST else _("What if, on a trace")
    name = names.get(choice.change, usual) if choice.source == PAST else usual
    return {
        "name": query.get("name") or name, "from_at": until - WEEK, "to_at": until,
    }  # fmt: skip
