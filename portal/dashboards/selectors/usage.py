"""The Usage explorer: GPU-time by whatever one asks, step by step, beside the time before.

Whole hours alone are shown, and read from the hourly sums of the ledger (usage.HourlyUse); an hour
that is being summed anew is not complete, and said to be. What cannot be measured is not idle:
`used` and `idle` are parts of what the cluster's monitoring measured.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum, TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.dashboards.periods import Window
from portal.inventory import selectors as inventory
from portal.teams.models import Role, User
from portal.teams.permissions import ANY_ROLE, WORK
from portal.teams.selectors import Tree
from portal.usage.models import HourlyUse, StaleHour
from portal.workloads.models import ChargedTo, Kind, Workload

Key = int | str | None


class By(TextChoices):
    """What use is told apart by."""

    TEAM = "team", gettext_lazy("Team or project")
    DEPARTMENT = "department", gettext_lazy("Department")
    POOL = "pool", gettext_lazy("Pool")
    MODEL = "model", gettext_lazy("GPU model")
    CHARGED_TO = "charged_to", gettext_lazy("Charged to")
    KIND = "kind", gettext_lazy("Class")
    PERSON = "person", gettext_lazy("Person")
    WORKLOAD = "workload", gettext_lazy("Job")


_COLUMNS = {
    By.TEAM: "team_id", By.DEPARTMENT: "team_id", By.POOL: "pool_id", By.MODEL: "gpu_model",
    By.CHARGED_TO: "charged_to", By.KIND: "kind", By.PERSON: "user_id",
    By.WORKLOAD: "workload_id",
}  # fmt: skip


def roles_for(by: By) -> frozenset[Role]:
    """Who may see use told apart so: people and jobs are for those who see the work."""
    return WORK if by in (By.PERSON, By.WORKLOAD) else ANY_ROLE


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose use; `team_ids` None is everybody's, and that of no team."""

    team_ids: Collection[int] | None = None
    pool_id: int | None = None
    kind: str = ""


class Amount(NamedTuple):
    """GPU-time in milli-GPU-seconds: held, measured, and computed of what was measured."""

    held: int = 0
    measured: int = 0
    used: int = 0

    @property
    def idle(self) -> int:
        """Held and measured, and not computing."""
        return max(0, self.measured - self.used)

    @property
    def percent_used(self) -> float | None:
        """How much of what was measured computed."""
        return 100 * self.used / self.measured if self.measured else None

    def plus(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class UseRow:
    """One group over the window, and what it held in the time before (None: not recorded)."""

    key: Key
    label: str
    amount: Amount
    before: int | None
    share: float

    @property
    def hours(self) -> float:
        """GPU-hours."""
        return self.amount.held / 3_600_000

    @property
    def hours_before(self) -> float | None:
        """GPU-hours in the time before."""
        return None if self.before is None else self.before / 3_600_000

    @property
    def change(self) -> float | None:
        """Percent more than before; None where there was nothing."""
        return 100 * (self.amount.held / self.before - 1) if self.before else None

    @property
    def idle_hours(self) -> float | None:
        """GPU-hours held without computing, where it was measured."""
        return self.amount.idle / 3_600_000 if self.amount.measured else None

    @property
    def percent_used(self) -> float | None:
        """How much of what was measured computed."""
        return self.amount.percent_used


@dataclass(frozen=True, slots=True)
class Use:
    """A window's use: groups, the most first, and amounts step by step (None: not recorded)."""

    window: Window
    rows: tuple[UseRow, ...]
    total: tuple[Amount | None, ...]
    of_key: Mapping[Key, tuple[Amount | None, ...]]
    before: tuple[Amount | None, ...]
    incomplete_hours: int

    @property
    def whole(self) -> Amount:
        """All of it."""
        return _sum(row.amount for row in self.rows)


def _sum(amounts: Iterable[Amount]) -> Amount:
    whole = Amount()
    for amount in amounts:
        whole = whole.plus(amount)
    return whole


def get_use(by: By, window: Window, scope: Scope, *, tree: Tree, lines: int) -> Use:
    """What was used, with the steps of the first `lines` groups: six queries and one for names."""
    began = HourlyUse.objects.order_by("hour").values_list("hour", flat=True).first()
    earlier_from, earlier_to = window.before
    rows = _rows(by, scope)
    now = _by_key(by, rows, window.from_at, window.to_at)
    then = _by_key(by, rows, earlier_from, earlier_to)
    known_before = began is not None and began <= earlier_from
    if by is By.DEPARTMENT:
        now, then = _to_tops(now, tree), _to_tops(then, tree)
    names = _labels(by, now.keys(), tree)
    whole = sum(amount.held for amount in now.values()) or 1
    found = [
        UseRow(
            key, names.get(key, "") or _unnamed(by, key), amount,
            then.get(key, Amount()).held if known_before else None, amount.held / whole,
        )
        for key, amount in now.items()
        if amount.held or amount.measured
    ]  # fmt: skip
    found.sort(key=lambda row: (-row.amount.held, row.label))
    steps = _steps(by, rows, window, tree, {row.key for row in found[:lines]}, began)
    stale = StaleHour.objects.filter(hour__gte=window.from_at, hour__lt=window.to_at).count()
    earlier = _totals(rows, window, earlier_from, earlier_to, began)
    return Use(
        window, tuple(found), _totals(rows, window, window.from_at, window.to_at, began), steps,
        earlier, stale,
    )  # fmt: skip


def _rows(by: By, scope: Scope) -> QuerySet[HourlyUse]:
    reach = Q() if scope.team_ids is None else Q(team_id__in=list(scope.team_ids))
    if scope.pool_id is not None:
        reach &= Q(pool_id=scope.pool_id)
    rows = HourlyUse.objects.order_by().filter(reach)
    if by is not By.KIND and not scope.kind:
        return rows
    jobs = Workload.objects.filter(pk=OuterRef("workload_id"))
    with_kind = rows.annotate(kind=Subquery(jobs.values("kind")[:1]))
    return with_kind.filter(kind=scope.kind) if scope.kind else with_kind


_SUMS = (Sum("gpu_milli_seconds"), Sum("measured_milli_seconds"), Sum("used_milli_seconds"))


def _by_key(
    by: By, rows: QuerySet[HourlyUse], from_at: datetime, to_at: datetime
) -> dict[Key, Amount]:
    inside = rows.filter(hour__gte=from_at, hour__lt=to_at).values_list(_COLUMNS[by])
    return {key: Amount(*sums) for key, *sums in inside.annotate(*_SUMS)}


def _to_tops(found: Mapping[Key, Amount], tree: Tree) -> dict[Key, Amount]:
    """Teams put together in the branch they belong to."""
    top = {row.id: row.path[0] for row in tree.rows}
    sums: dict[Key, Amount] = defaultdict(Amount)
    for key, amount in found.items():
        branch = top.get(key, key) if isinstance(key, int) else key
        sums[branch] = sums[branch].plus(amount)
    return dict(sums)


def _totals(
    rows: QuerySet[HourlyUse], window: Window, from_at: datetime, to_at: datetime,
    began: datetime | None,
) -> tuple[Amount | None, ...]:  # fmt: skip
    """All use of each step; of an earlier time, step by step as the window is cut."""
    by_hour = rows.filter(hour__gte=from_at, hour__lt=to_at).values_list("hour")
    shift = window.from_at - from_at
    found = [(hour + shift, Amount(*sums)) for hour, *sums in by_hour.annotate(*_SUMS)]
    return _into_steps(found, window, None if began is None else began + shift)


def _steps(
    by: By, rows: QuerySet[HourlyUse], window: Window, tree: Tree, keys: Collection[Key],
    began: datetime | None,
) -> dict[Key, tuple[Amount | None, ...]]:  # fmt: skip
    """Each of these groups step by step."""
    column = _COLUMNS[by]
    top = {row.id: row.path[0] for row in tree.rows} if by is By.DEPARTMENT else {}
    wanted = [pk for pk, branch in top.items() if branch in keys] if top else list(keys)
    named = Q(**{f"{column}__in": [key for key in wanted if key is not None]})
    if None in keys:
        named |= Q(**{f"{column}__isnull": True})
    inside = rows.filter(named, hour__gte=window.from_at, hour__lt=window.to_at)
    found: dict[Key, list[tuple[datetime, Amount]]] = defaultdict(list)
    for hour, key, *sums in inside.values_list("hour", column).annotate(*_SUMS):
        found[top.get(key, key)].append((hour, Amount(*sums)))
    return {key: _into_steps(found[key], window, began) for key in keys}


def _into_steps(
    found: Collection[tuple[datetime, Amount]], window: Window, began: datetime | None
) -> tuple[Amount | None, ...]:
    """Hours put into steps; a step before anything was recorded, or not yet over, has no amount."""
    sums = [Amount() for _place in window.places]
    for hour, amount in found:
        place = window.place_of(hour)
        if place is not None:
            sums[place] = sums[place].plus(amount)
    ends = [*window.places[1:], window.to_at]
    return tuple(
        amount if began is not None and end > began else None
        for amount, end in zip(sums, ends, strict=True)
    )


def _labels(by: By, keys: Collection[Key], tree: Tree) -> Mapping[Key, str]:
    ids = [key for key in keys if isinstance(key, int)]
    match by:
        case By.TEAM | By.DEPARTMENT:
            return {row.id: row.name for row in tree.rows}
        case By.POOL:
            return dict[Key, str](inventory.pool_names().items())
        case By.CHARGED_TO | By.KIND:
            return {choice.value: str(choice.label) for choice in (*ChargedTo, *Kind)}
        case By.PERSON:
            return {user.pk: str(user) for user in User.objects.filter(pk__in=ids)}
        case By.WORKLOAD:
            return dict(Workload.objects.filter(pk__in=ids).values_list("pk", "name"))
        case By.MODEL:
            return {}


def _unnamed(by: By, key: Key) -> str:
    if key is not None:
        return str(key)
    return _("no team") if by in (By.TEAM, By.DEPARTMENT) else _("not known")
