"""Whether a study makes sense, before it is put in the queue: said at once, at the field at fault."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from portal.common import clock, zones
from portal.common.errors import Invalid
from portal.inventory.models import Cluster, Node, Pool
from portal.quotas import selectors as quotas
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling import trials
from portal.studies import changes
from portal.studies.models import Draw, Trace
from portal.teams.models import Team

LONGEST = timedelta(days=62)
MOST_GPUS = 100_000
MOST_LETTERS, MOST_ON_A_NODE = 12, 64
FOR_A_TRACE = frozenset({"rules", "nodes"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to know: whose jobs, where, and what changes."""

    name: str
    change: Mapping[str, Any]
    cluster_id: int | None = None
    trace_id: int | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    first_second: int | None = None
    until_second: int | None = None
    nodes: str = ""
    draw: str = Draw.RESAMPLED
    seeds: int = 5
    first_seed: int = 1
    note: str = ""
    team_id: int | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    """The base policy; empty is the one the cluster follows."""


def check(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    """Raise `Invalid` where it makes none."""
    if not asked.name.strip():
        raise _fault("name", _("Give it a name."))
    if asked.draw not in Draw.values:
        raise _fault("draw", _("Unknown."))
    if not 0 <= asked.first_seed < 2**31:
        raise _fault("first_seed", _("A seed is a whole number from 0 to 2,147,483,647."))
    _whose_jobs(asked, now)
    _where(asked)
    kind = asked.change.get("kind")
    if kind not in changes.KINDS:
        raise _fault("change", _("Say what is to change."))
    if (asked.trace_id is not None or asked.nodes) and kind not in FOR_A_TRACE:
        raise _fault(
            "change", _("With a trace, or on bare nodes, only the policy or the nodes can change.")
        )
    _CHECKS[kind](asked, rules, now)


def _fault(field: str, told: str) -> Invalid:
    return Invalid(told, fields={field: told})


def _whose_jobs(asked: Asked, now: datetime) -> None:
    if asked.trace_id is not None:
        if not Trace.objects.filter(pk=asked.trace_id).exists():
            raise _fault("jobs", _("There is no such trace."))
        first, until = asked.first_second, asked.until_second
        if until is not None and until <= (first or 0):
            raise _fault("length_hours", _("The part must end after it begins."))
        return
    at = (asked.from_at, asked.to_at)
    if (
        asked.from_at is None
        or asked.to_at is None
        or any(a and a.year not in zones.YEARS for a in at)
    ):
        raise _fault("from_at", _("Say from when until when."))
    if asked.to_at <= asked.from_at:
        raise _fault("to_at", _("The period must end after it begins."))
    if asked.to_at > now:
        raise _fault("to_at", _("The period must be past."))
    if asked.to_at - asked.from_at > LONGEST:
        raise _fault("from_at", _("The period has at most %(n)d days.") % {"n": LONGEST.days})


def _where(asked: Asked) -> None:
    if asked.nodes:
        if asked.trace_id is None:
            raise _fault("nodes", _("Our own past runs on our own cluster."))
        count, _x, gpus = asked.nodes.partition("x")
        fits = len(asked.nodes) <= MOST_LETTERS and trials.is_cluster(asked.nodes)
        if not fits or int(count) > changes.MOST_NODES or int(gpus) > MOST_ON_A_NODE:
            raise _fault("nodes", _("Write nodes × GPUs of each, such as 64x8."))
    elif asked.cluster_id is None or not Cluster.objects.filter(pk=asked.cluster_id).exists():
        raise _fault("jobs", _("There is no such cluster."))


def _rules(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    given = asked.change.get("rules")
    if not isinstance(given, Mapping) or not given:
        raise _fault("change", _("Say which rule is to change."))
    if changes.changed_rules(asked.change, rules) == changes.changed_rules({}, rules):
        raise _fault("value", _("That is what holds already: nothing would change."))


def _quota(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    team_id, pool = _team(asked.change), _pool(asked)
    guaranteed = _whole(asked.change, "guaranteed", 0)
    limit = None if asked.change.get("limit") is None else _whole(asked.change, "limit", 0)
    if limit is not None and guaranteed > limit:
        raise _fault("limit", _("The limit is below the guarantee."))
    row = quotas.get_quota(team_id=team_id, pool_id=pool, at=now)
    if row is not None and (row.guaranteed, row.limit) == (guaranteed, limit):
        raise _fault("guaranteed", _("That is what holds already: nothing would change."))


def _nodes(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    count = _whole(asked.change, "nodes", -changes.MOST_NODES)
    if not count or abs(count) > changes.MOST_NODES:
        raise _fault("nodes_by", _("Say how many nodes come (+) or go (−)."))
    if asked.nodes:
        have = int(asked.nodes.partition("x")[0])
    else:
        nodes = Node.objects.filter(pool_id=_pool(asked), removed_at__isnull=True)
        have = nodes.count()
    if have + count < 1 or not have:
        told = _("The pool has %(have)d nodes; at least one has to stay.") % {"have": have}
        raise _fault("nodes_by", told)


def _reserve(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    _team(asked.change)
    _pool(asked)
    _whole(asked.change, "gpus", 1)
    starts = _whole(asked.change, "starts_at", 0, most=2**62)
    ends = _whole(asked.change, "ends_at", 0, most=2**62)
    if ends <= starts:
        raise _fault("ends_at", _("It must end after it begins."))
    assert asked.from_at
    assert asked.to_at
    first, last = clock.whole_seconds(asked.from_at), clock.whole_seconds(asked.to_at)
    if ends <= first or starts >= last:
        raise _fault("starts_at", _("The reservation is not in the period."))


def _unreserve(asked: Asked, rules: Mapping[str, object], now: datetime) -> None:
    found = Reservation.objects.filter(
        pk=_whole(asked.change, "reservation", 1, most=2**62), pool__cluster_id=asked.cluster_id or 0,
        starts_at__lt=asked.to_at, ends_at__gt=asked.from_at,
    ).exclude(state=ReservationState.CANCELLED)  # fmt: skip
    if not found.exists():
        raise _fault("reservation", _("Choose a reservation of the period."))


def _team(change: Mapping[str, Any]) -> int:
    team_id = change.get("team")
    if not isinstance(team_id, int) or not Team.objects.filter(pk=team_id).exists():
        raise _fault("team", _("There is no such team."))
    return team_id


def _pool(asked: Asked) -> int:
    pool_id = asked.change.get("pool")
    known = Pool.objects.filter(cluster_id=asked.cluster_id or 0)
    if not isinstance(pool_id, int) or not known.filter(pk=pool_id).exists():
        raise _fault("pool", _("The cluster has no such pool."))
    return pool_id


def _whole(change: Mapping[str, Any], key: str, least: int, most: int = MOST_GPUS) -> int:
    value = change.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _fault(key, _("Give a whole number from %(least)d.") % {"least": least})
    return value


_CHECKS: dict[str, Callable[[Asked, Mapping[str, object], datetime], None]] = {
    "rules": _rules,
    "quota": _quota,
    "nodes": _nodes,
    "reserve": _reserve,
    "unreserve": _unreserve,
}
