"""Reads of tiers, promises, how often they were kept, and what was not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from portal.common.errors import Missing
from portal.slas import targets
from portal.slas.models import Breach, Sla, Tier
from portal.slas.targets import SlaRow, Targets
from portal.workloads.models import Workload

SECOND = timedelta(seconds=1)


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


NOTHING = Kept(0, 0, 0, 0)


def list_tiers() -> list[Tier]:
    """Tiers one may still give, the strictest first."""
    return list(Tier.objects.filter(retired_at__isnull=True))


def list_slas(*, at: datetime | None = None, team_ids: Iterable[int] | None = None) -> list[SlaRow]:
    """Promises by team and pool, oldest first; at an instant, those that hold or begin later."""
    rows = Sla.objects.select_related("tier", "pool")
    if at is not None:
        rows = rows.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=at))
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    return [targets.row_of(row) for row in rows.order_by("team_id", "pool_id", "valid_from")]


def list_kept(
    *, from_at: datetime, now: datetime, promised: Targets | None = None
) -> dict[int, Kept]:
    """By promise, how often jobs submitted from `from_at` on started in time: one pass.

    `promised` are the promises since then, where they have been read already.
    """
    counts: dict[int, list[int]] = {}
    found_targets = promised or targets.get_targets(now=now, from_at=from_at)
    for sla, until, due, started in _waits(found_targets, from_at, now):
        found = counts.setdefault(sla.id, [0, 0, 0, 0])
        _count(found, until, due, now, started=started)
    return {sla_id: Kept(*found) for sla_id, found in counts.items()}


def _waits(
    found: Targets, from_at: datetime, now: datetime
) -> Iterator[tuple[SlaRow, datetime, datetime, bool]]:
    """Each job's promise, until when it waited, when it should have started, and if it did."""
    if not found.rows:
        return
    jobs = Workload.objects.filter(
        submitted_at__gte=from_at, submitted_at__lt=now, team__isnull=False
    )
    columns = ("team_id", "pool_id", "submitted_at", "scheduled_at", "ended_at")
    for team_id, pool_id, submitted, scheduled, ended in jobs.values_list(*columns):
        sla = None if team_id is None else found.of(team_id, pool_id, submitted)
        if sla is not None:
            due = submitted + sla.target_wait_seconds * SECOND
            yield sla, scheduled or ended or now, due, scheduled is not None


def count_within(
    *, team_id: int, pool_id: int, seconds: int, from_at: datetime, now: datetime
) -> Kept:
    """How often a target would have been kept by a team's jobs submitted from `from_at` on."""
    jobs = Workload.objects.filter(
        submitted_at__gte=from_at, submitted_at__lt=now, team_id=team_id, pool_id=pool_id
    )
    counts = [0, 0, 0, 0]
    for submitted, scheduled, ended in jobs.values_list("submitted_at", "scheduled_at", "ended_at"):
        until, due = scheduled or ended or now, submitted + seconds * SECOND
        _count(counts, until, due, now, started=scheduled is not None)
    return Kept(*counts)


def _count(
    counts: list[int], until: datetime, due: datetime, now: datetime, *, started: bool
) -> None:
    """Count one job among those met, missed, still late and undecided."""
    if until > due:
        counts[1] += 1
        counts[2] += not started and until == now
    else:
        counts[0 if started else 3] += 1


def query_breaches(
    *, team_ids: frozenset[int] | None, kind: str | None = None, team_id: int | None = None,
    acknowledged: bool | None = None, late: bool | None = None,
) -> QuerySet[Breach]:  # fmt: skip
    """Breaches of these teams (None: of all) for a list that is paged by the database."""
    rows = Breach.objects.select_related("sla__tier", "team", "workload", "owner")
    if team_ids is not None:
        rows = rows.filter(team_id__in=team_ids)
    wanted = {"kind": kind, "team_id": team_id}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    if acknowledged is not None:
        rows = rows.filter(acknowledged_at__isnull=not acknowledged)
    if late is not None:
        rows = rows.filter(ended_at__isnull=late)
    return rows.order_by("-due_at", "-id")


def get_breach(*, breach_id: int) -> Breach:
    """One breach with what it names. Raises `Missing`."""
    rows = Breach.objects.select_related("sla__tier", "team", "workload", "owner")
    row = rows.filter(pk=breach_id).first()
    if row is None:
        raise Missing
    return row
