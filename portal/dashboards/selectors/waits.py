"""How long jobs wait, those that still wait counted, by team, pool, size or class.

Waits are estimated by the product-limit method (Kaplan and Meier, "Nonparametric estimation from
incomplete observations", Journal of the American Statistical Association 53, 1958, 457-481): a job
that still waits, or ended without ever starting, is known to have waited at least so long, and is
"at risk" until then. Leaving it out would make a stuck queue look fast; counting its wait so far
as whole would do the same, only less. The q-th quantile is the least time by which the share of
those that still wait falls to 1 - q or below; where it never does, only a lower bound is known, and
that is said: "more than".
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Q, TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats
from portal.dashboards.periods import Window
from portal.slas import targets
from portal.teams.selectors import Tree
from portal.workloads.models import Kind, Workload, WorkloadState

DEVICE = 1000
SECOND = timedelta(seconds=1)
QUANTILES = (50, 90, 95, 99)
NEAR = 1e-9


class By(TextChoices):
    """What waits are told apart by."""

    TEAM = "team", gettext_lazy("Team")
    POOL = "pool", gettext_lazy("Pool")
    SIZE = "size", gettext_lazy("Size")
    KIND = "kind", gettext_lazy("Class")


class Wait(NamedTuple):
    """How long a job waited; not started: at least so long."""

    seconds: int
    started: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """A wait in seconds that so many do not pass; not `reached`: it is more than that."""

    percent: int
    seconds: int
    reached: bool

    @property
    def words(self) -> str:
        """As people read it; one that is not reached is more than the longest that is known."""
        said = formats.duration(self.seconds)
        return said if self.reached else _("over %(span)s") % {"span": said}


@dataclass(frozen=True, slots=True)
class WaitsRow:
    """One group: how many, how many of them still wait, and the quantiles in order."""

    key: int | str | None
    label: str
    jobs: int
    still: int
    quantiles: tuple[Quantile, ...]

    @property
    def p50(self) -> Quantile:
        """Half of them wait no longer."""
        return self.quantiles[0]

    @property
    def p90(self) -> Quantile:
        """Nine of ten wait no longer."""
        return self.quantiles[1]

    @property
    def p99(self) -> Quantile:
        """Ninety-nine of a hundred wait no longer."""
        return self.quantiles[3]


@dataclass(frozen=True, slots=True)
class StarvedRow:
    """A job that waits long for what was promised, or long at all where nothing was."""

    workload_id: int
    waited_seconds: int
    target_seconds: int | None

    @property
    def times(self) -> float | None:
        """Its wait so far in targets."""
        return self.waited_seconds / self.target_seconds if self.target_seconds else None


def quantiles(waits: Sequence[Wait], percents: Sequence[int] = QUANTILES) -> tuple[Quantile, ...]:
    """The product-limit quantiles of some waits."""
    ordered = sorted(waits, key=lambda w: (w.seconds, not w.started))
    longest = ordered[-1].seconds if ordered else 0
    left, wanted = 1.0, list(percents)
    found: dict[int, Quantile] = {}
    for place, wait in enumerate(ordered):
        if wait.started:
            left *= 1 - 1 / (len(ordered) - place)
            for percent in [p for p in wanted if left <= 1 - p / 100 + NEAR]:
                found[percent] = Quantile(percent, wait.seconds, reached=True)
                wanted.remove(percent)
    return tuple(found.get(p, Quantile(p, longest, reached=False)) for p in percents)


def size_of(milli: int) -> str:
    """The class of size a job belongs to, by all its GPUs."""
    if milli < DEVICE:
        return "part"
    bounds = ((1, "1"), (7, "2-7"), (8, "8"))
    return next((name for most, name in bounds if milli <= most * DEVICE), "more")


def size_words(size: str) -> str:
    """A class of size in words."""
    return {
        "part": _("part of a GPU"), "1": _("1 GPU"), "2-7": _("2 to 7 GPUs"), "8": _("8 GPUs"),
        "more": _("more than 8 GPUs"),
    }[size]  # fmt: skip


SIZES = ("part", "1", "2-7", "8", "more")


class Job(NamedTuple):
    """What is asked of one job."""

    id: int
    team_id: int
    pool_id: int | None
    kind: str
    tasks: int
    gpu_milli: int
    submitted_at: datetime
    scheduled_at: datetime | None
    ended_at: datetime | None
    state: str

    @property
    def waits(self) -> bool:
        """Whether it waits now."""
        return self.scheduled_at is None and self.state == WorkloadState.WAITING

    def wait(self, now: datetime) -> Wait:
        """How long it waited, so far."""
        until = self.scheduled_at or self.ended_at or now
        return Wait(max(0, (until - self.submitted_at) // SECOND), self.scheduled_at is not None)


_KEYS: dict[By, Callable[[Job], int | str | None]] = {
    By.TEAM: lambda job: job.team_id,
    By.POOL: lambda job: job.pool_id,
    By.SIZE: lambda job: size_of(job.tasks * job.gpu_milli),
    By.KIND: lambda job: job.kind,
}


@dataclass(frozen=True, slots=True)
class Names:
    """What teams and pools are called, where a page has read it already."""

    teams: Mapping[int, str]
    pools: Mapping[int, str]


def list_jobs(window: Window, *, pool_id: int | None = None) -> list[Job]:
    """What teams submitted in a window, and all that waits now: one query."""
    asked = Q(submitted_at__gte=window.from_at, submitted_at__lt=window.to_at)
    jobs = Workload.objects.filter(
        asked | Q(state=WorkloadState.WAITING), team__isnull=False
    ).order_by()
    if pool_id is not None:
        jobs = jobs.filter(pool_id=pool_id)
    return [Job(*row) for row in jobs.values_list(*Job._fields)]


def group_waits(
    by: By, jobs: Iterable[Job], window: Window, *, now: datetime, names: Names
) -> list[WaitsRow]:
    """Waits of what was submitted in a window, groups in their usual order."""
    groups: dict[int | str | None, list[Job]] = defaultdict(list)
    for job in jobs:
        if window.from_at <= job.submitted_at < window.to_at:
            groups[_KEYS[by](job)].append(job)
    rows = [
        WaitsRow(
            key, _label(by, key, names), len(found), sum(job.waits for job in found),
            quantiles([job.wait(now) for job in found]),
        )
        for key, found in groups.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: _order(by, row))


def _order(by: By, row: WaitsRow) -> tuple[int, str]:
    return (SIZES.index(str(row.key)), "") if by is By.SIZE else (0, row.label.casefold())


def _label(by: By, key: int | str | None, names: Names) -> str:
    match by:
        case By.TEAM:
            return names.teams.get(int(key or 0), "")
        case By.POOL:
            return names.pools.get(int(key), "") if key else _("any")
        case By.SIZE:
            return size_words(str(key))
        case By.KIND:
            return str(Kind(str(key)).label)


def rank_waiting(jobs: Iterable[Job], *, now: datetime, tree: Tree) -> list[StarvedRow]:
    """Those that wait: the longest for their target first, then those without one by their wait."""
    promised = targets.get_targets(now=now, tree=tree)
    found: list[StarvedRow] = []
    for job in jobs:
        if job.waits:
            sla = promised.of(job.team_id, job.pool_id, job.submitted_at)
            target = sla.target_wait_seconds if sla else None
            found.append(StarvedRow(job.id, job.wait(now).seconds, target))
    return sorted(found, key=_hunger)


def _hunger(row: StarvedRow) -> tuple[float, int, int]:
    return (-(row.times or 0.0), -row.waited_seconds, row.workload_id)
