"""GPU-time by whatever one asks, exact to the second; measured use stands beside it.

Whole hours come from the hourly sums; the ends of the period, and hours that are being summed,
from the ledger itself, which knows nothing of measured use.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q, Sum, TextChoices
from django.utils.translation import gettext_lazy as _

from portal.common.pages import once_a_page
from portal.inventory.models import Pool
from portal.teams import selectors as teams
from portal.teams.models import Role, User
from portal.teams.permissions import ANY_ROLE, WORK
from portal.usage import rollups
from portal.usage.appending import hour_of
from portal.usage.models import HourlyUse, StaleHour
from portal.usage.rollups import HOUR
from portal.workloads.models import ChargedTo, Workload

MOST_STALE = 100
"""Of more stale hours the ledger is read whole."""


class Dimension(TextChoices):
    """What GPU-time is told apart by."""

    TEAM = "team", _("Team or project")
    DEPARTMENT = "department", _("Department")
    POOL = "pool", _("Pool")
    MODEL = "model", _("GPU model")
    CHARGED_TO = "charged_to", _("Charged to")
    PERSON = "person", _("Person")
    WORKLOAD = "workload", _("Workload")


_COLUMN = {
    Dimension.TEAM: "team_id", Dimension.DEPARTMENT: "team_id", Dimension.POOL: "pool_id",
    Dimension.MODEL: "gpu_model", Dimension.CHARGED_TO: "charged_to",
    Dimension.PERSON: "user_id", Dimension.WORKLOAD: "workload_id",
}  # fmt: skip
Part = int | str | None


def roles_for(by: Dimension) -> frozenset[Role]:
    """Who may see use told apart so: names of people and jobs are for those who see the work."""
    return WORK if by in (Dimension.PERSON, Dimension.WORKLOAD) else ANY_ROLE


@dataclass(frozen=True, slots=True)
class Filter:
    """Whose use, of which pool; `team_ids` None is everybody's, and that of no team."""

    from_at: datetime
    to_at: datetime
    team_ids: Collection[int] | None = None
    pool_id: int | None = None


@dataclass(slots=True)
class UsePart:
    """One part: held, estimated and measured GPU-time in milli-GPU-seconds.

    `used` is how much of what was measured the devices computed.
    """

    key: Part
    label: str = ""
    held: int = 0
    estimated: int = 0
    measured: int = 0
    used: int = 0


@dataclass(slots=True)
class _Tally:
    parts: dict[Part, UsePart] = field(default_factory=dict)

    def of(self, key: Part) -> UsePart:
        return self.parts.setdefault(key, UsePart(key))

    def add(self, key: Part, held: int, estimated: int) -> None:
        part = self.of(key)
        part.held += held
        part.estimated += estimated


def break_down(by: Dimension, chosen: Filter) -> list[UsePart]:
    """The parts of a period's use, the largest first."""
    tally = _Tally()
    for column, held, estimated, measured, used in _from_sums(by, chosen):
        tally.add(column, held, estimated)
        tally.of(column).measured += measured
        tally.of(column).used += used
    for column, held, estimated in _from_ledger(by, chosen):
        tally.add(column, held, estimated)
    parts = _named(by, list(tally.parts.values()), chosen.to_at)
    return sorted((p for p in parts if p.held or p.measured), key=lambda p: (-p.held, p.label))


def _inside(chosen: Filter) -> tuple[datetime, datetime]:
    """The whole hours within the period."""
    first, last = hour_of(chosen.from_at), hour_of(chosen.to_at)
    return (first if first == chosen.from_at else first + HOUR), last


def _stale(chosen: Filter) -> list[tuple[int, datetime]]:
    return list(_stale_within(*_inside(chosen)))


@once_a_page
def _stale_within(first: datetime, last: datetime) -> tuple[tuple[int, datetime], ...]:
    marks = StaleHour.objects.filter(hour__gte=first, hour__lt=last)
    return tuple(marks.values_list("cluster_id", "hour"))


def _reach(chosen: Filter) -> Q:
    reach = Q() if chosen.team_ids is None else Q(team_id__in=list(chosen.team_ids))
    return reach if chosen.pool_id is None else reach & Q(pool_id=chosen.pool_id)


def _from_sums(by: Dimension, chosen: Filter) -> Iterable[tuple[Part, int, int, int, int]]:
    first, last = _inside(chosen)
    stale = _stale(chosen)
    if last <= first or len(stale) > MOST_STALE:
        return []
    rows = HourlyUse.objects.order_by().filter(_reach(chosen), hour__gte=first, hour__lt=last)
    for cluster_id, hour in stale:
        rows = rows.exclude(cluster_id=cluster_id, hour=hour)
    return rows.values_list(_COLUMN[by]).annotate(
        Sum("gpu_milli_seconds"), Sum("estimated_milli_seconds"), Sum("measured_milli_seconds"),
        Sum("used_milli_seconds"),
    )  # fmt: skip


def _from_ledger(by: Dimension, chosen: Filter) -> list[tuple[Part, int, int]]:
    """What the hourly sums do not have, cut at the ends of the period."""
    first, last = _inside(chosen)
    stale = _stale(chosen)
    rows = rollups.within(hour_of(chosen.from_at), chosen.to_at).filter(_reach(chosen))
    if last <= first or len(stale) > MOST_STALE:
        first = last = chosen.to_at
        stale = []
    if not stale and (first, last) == (chosen.from_at, chosen.to_at):
        return []
    whole = Q(pk__in=[])
    if stale:
        whole = rollups.stale_or(whole, stale)
        whole &= Q(from_at__gte=first, from_at__lt=last)
    ends = Q(from_at__gte=hour_of(chosen.from_at), from_at__lt=first) | Q(
        from_at__gte=last, from_at__lt=chosen.to_at
    )
    inside = ends & Q(from_at__gte=chosen.from_at, to_at__lte=chosen.to_at)
    parts: list[tuple[Part, int, int]] = list(
        rows.filter(whole | inside)
        .values_list(_COLUMN[by])
        .annotate(held=Sum(rollups.HELD), e=Sum(rollups.ESTIMATED))
    )
    over = rows.filter(ends, to_at__gt=chosen.from_at).exclude(
        from_at__gte=chosen.from_at, to_at__lte=chosen.to_at
    )
    for row in over:
        seconds = min(row.to_at, chosen.to_at) - max(row.from_at, chosen.from_at)
        held = row.sign * row.gpu_milli * int(seconds.total_seconds())
        parts.append((getattr(row, _COLUMN[by]), held, held if row.estimated else 0))
    return parts


def _named(by: Dimension, parts: list[UsePart], at: datetime) -> list[UsePart]:
    """Parts with a name each; departments put together."""
    if by is Dimension.DEPARTMENT:
        return _departments(parts, at)
    names = _names(by, [part.key for part in parts], at)
    for part in parts:
        part.label = names.get(part.key, "") or ("" if part.key is None else str(part.key))
    return parts


def _departments(parts: list[UsePart], at: datetime) -> list[UsePart]:
    tree, every = teams.get_tree(now=at), teams.team_names()
    tally = _Tally()
    for part in parts:
        row = tree.get(part.key) if isinstance(part.key, int) else None
        whole = tally.of(row.path[0] if row else part.key)
        whole.held += part.held
        whole.estimated += part.estimated
        whole.measured += part.measured
        whole.used += part.used
    for whole in tally.parts.values():
        whole.label = every.get(whole.key, "") if isinstance(whole.key, int) else ""
    return list(tally.parts.values())


def _names(by: Dimension, keys: Collection[Part], at: datetime) -> Mapping[Part, str]:
    match by:
        case Dimension.TEAM | Dimension.DEPARTMENT:
            tree, every = teams.get_tree(now=at), teams.team_names()
            return {pk: tree.path_name(pk) or name for pk, name in every.items()}
        case Dimension.POOL:
            return dict(Pool.objects.values_list("pk", "name"))
        case Dimension.MODEL:
            return {}
        case Dimension.CHARGED_TO:
            return {choice.value: str(choice.label) for choice in ChargedTo}
        case Dimension.PERSON:
            people = User.objects.filter(pk__in=[k for k in keys if k is not None])
            return {user.pk: user.get_full_name() or user.username for user in people}
        case Dimension.WORKLOAD:
            jobs = Workload.objects.filter(pk__in=[k for k in keys if k is not None])
            return dict(jobs.values_list("pk", "name"))
