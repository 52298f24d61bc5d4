"""How often promises were kept, counted by the database: one pass, whatever the number of rows.

Between two instants at which a promise begins or ends, what a team was promised in a pool stays the
same. So rows are grouped by team, pool and stretch, and counted against each target time there is;
each group then takes the counts of the target it came under.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, ExpressionWrapper, F, IntegerField, Q, QuerySet, When
from django.db.models.expressions import Combinable
from django.db.models.fields import DateTimeField
from django.db.models.functions import Coalesce

from portal.slas.targets import SlaRow, Targets


@dataclass(frozen=True, slots=True)
class Kept:
    """How often a promise was kept in a period.

    `missed` counts those that still wait beyond the target, `still_late` how many of them do;
    `undecided` wait within it yet, or ended within it unserved, and count neither way.
    """

    met: int
    missed: int
    still_late: int
    undecided: int

    @property
    def permille(self) -> int | None:
        """Parts in a thousand that were kept, rounded down; None where nothing is decided."""
        decided = self.met + self.missed
        return self.met * 1000 // decided if decided else None

    def __add__(self, other: "Kept") -> "Kept":
        return Kept(
            self.met + other.met, self.missed + other.missed,
            self.still_late + other.still_late, self.undecided + other.undecided,
        )  # fmt: skip


NOTHING = Kept(0, 0, 0, 0)
NOBODY = Q(pk__isnull=True)


@dataclass(frozen=True, slots=True)
class Waits:
    """What the columns of some rows say of their waiting.

    `until` is when one waited no more, null for now; `served` got what it waited for, `still` waits
    yet, and `never` was late whatever the time.
    """

    begun: str
    until: Combinable
    served: Q
    still: Q
    never: Q = NOBODY


def tally(
    rows: QuerySet[Any],
    waits: Waits,
    promised: Targets,
    seconds_of: Callable[[SlaRow], int | None],
    *,
    from_at: datetime,
    now: datetime,
) -> dict[int, Kept]:
    """By promise, how these rows fared since `from_at`; a promise without a target counts none."""
    edges = [from_at, *_edges(promised, from_at, now)]
    targets = sorted({s for row in promised.each() if (s := seconds_of(row)) is not None})
    if not targets:
        return {}
    grouped = (
        _within(rows, waits, from_at, now)
        .annotate(stretch=_stretch(waits.begun, edges))
        .values("team_id", "pool_id", "stretch")
        .annotate(**{k: v for seconds in targets for k, v in _counts(waits, seconds).items()})
    )
    found: dict[int, Kept] = {}
    for row in grouped:
        sla = promised.of(row["team_id"], row["pool_id"], edges[row["stretch"]])
        seconds = None if sla is None else seconds_of(sla)
        if sla is not None and seconds is not None:
            found[sla.id] = found.get(sla.id, NOTHING) + _kept(row, seconds)
    return found


def count(
    rows: QuerySet[Any], waits: Waits, seconds: int, *, from_at: datetime, now: datetime
) -> Kept:
    """How these rows fared since `from_at` against one target time."""
    found = _within(rows, waits, from_at, now).aggregate(**_counts(waits, seconds))
    return _kept(found, seconds)


def _within(rows: QuerySet[Any], waits: Waits, from_at: datetime, now: datetime) -> QuerySet[Any]:
    begun = {f"{waits.begun}__gte": from_at, f"{waits.begun}__lt": now}
    within = rows.filter(**begun).order_by()
    found: QuerySet[Any] = within.annotate(waited_until=Coalesce(waits.until, now))
    return found


def _kept(row: Mapping[str, Any], seconds: int) -> Kept:
    return Kept(*(row[f"{name}_{seconds}"] for name in Kept.__dataclass_fields__))


def _edges(promised: Targets, from_at: datetime, now: datetime) -> list[datetime]:
    """The instants in the period at which a promise begins or ends."""
    moments = {at for row in promised.each() for at in (row.valid_from, row.valid_to) if at}
    return sorted(at for at in moments if from_at < at < now)


def _stretch(begun: str, edges: list[datetime]) -> Case:
    """The number of the stretch a row began in."""
    cases = [When(**{f"{begun}__lt": end}, then=n) for n, end in enumerate(edges[1:])]
    return Case(*cases, default=len(edges) - 1, output_field=IntegerField())


def _counts(waits: Waits, seconds: int) -> dict[str, Count]:
    """Counts of rows against one target time, named after it."""
    due = ExpressionWrapper(F(waits.begun) + timedelta(seconds=seconds), DateTimeField())
    late = Q(waited_until__gt=due) | waits.never
    conditions = {
        "met": ~late & waits.served, "missed": late, "still_late": late & waits.still,
        "undecided": ~late & ~waits.served,
    }  # fmt: skip
    return {f"{name}_{seconds}": Count("pk", filter=said) for name, said in conditions.items()}
