"""Forecasts as rows: made from the live snapshot, kept when they moved, later held against fact.

How long work will take is drawn from what estimates of its team were worth: an owner's own word,
and our guess where there was none, which errs otherwise and is judged by itself.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from django.db import transaction

from portal.scheduling import batches, freezing, naming, reading
from portal.scheduling.freezing import Frozen
from portal.scheduling.models import Forecast, Tick, TickState
from portal.scheduling.selectors import forecasts
from portal.workloads.models import OPEN_STATES, StageEvent, Workload, WorkloadState
from scheduler_core.simulator.forecast import Guesses, Outlook, forecast

FORECASTS_ALL = timedelta(hours=48)
FORECASTS_FIRST = timedelta(days=400)
MOVED = timedelta(minutes=1)
"""An outlook that moved by less is the same."""
LEAST_GRACE = 60
HOLDS = (WorkloadState.STARTING, WorkloadState.RUNNING)
QUEUED = (WorkloadState.WAITING, WorkloadState.ADMITTED)
Ratios = dict[str, list[float]]


def make(*, cluster_id: int, now: datetime) -> int:
    """Settle what started, forecast all that waits, and keep what moved; gives how many moved."""
    frozen = freezing.freeze(cluster_id=cluster_id, now=now)
    said, guessed = _worth(now=now)
    guesses = Guesses(_guessed(frozen), guessed)
    found = forecast(frozen.snapshot, said, guesses=guesses, seed=frozen.snapshot.now)
    grace = _grace(cluster_id)
    with transaction.atomic():
        _settle(cluster_id)
        return _keep(frozen, found, now, grace)


def _worth(*, now: datetime) -> tuple[Ratios, Ratios]:
    """Actual ÷ announced, and actual ÷ our guess, of each team's newest finished work.

    Work that was stopped in between is left out: how long it ran is not told by its ends.
    """
    said: Ratios = defaultdict(list)
    guessed: Ratios = defaultdict(list)
    guess = reading.estimates(now=now)
    finished = reading.finished(now=now).filter(preemptions=0)
    columns = ("team_id", "duration_seconds", "scheduled_at", "ended_at")
    newest = finished.values_list(*columns)[: reading.ESTIMATE_ROWS]
    for team_id, announced, begun, ended in newest:
        took = (ended - begun) // timedelta(seconds=1) if begun and ended else 0
        expected, worth = (announced, said) if announced else (guess.get(team_id or 0), guessed)
        if expected and took > 0:
            worth[naming.team(team_id or 0)].append(took / expected)
            worth[""].append(took / expected)
    return said, guessed


def _guessed(frozen: Frozen) -> frozenset[str]:
    """Engine names of the work that announced nothing itself."""
    names = {pk: name for name, pk in frozen.work.rows.items()}
    silent = Workload.objects.filter(state__in=OPEN_STATES, duration_seconds__isnull=True)
    return frozenset(names[pk] for pk in silent.values_list("pk", flat=True) if pk in names)


def _grace(cluster_id: int) -> int:
    """How far apart the newest ticks came, in seconds."""
    done = Tick.objects.filter(cluster_id=cluster_id, state=TickState.DONE).order_by("-at", "-id")
    newest = list(done.values_list("at", flat=True)[:2])
    gaps = [(later - earlier) // timedelta(seconds=1) for later, earlier in pairwise(newest)]
    return max([LEAST_GRACE, *gaps])


def _settle(cluster_id: int) -> None:
    """Write down when what was forecast started; forget forecasts of what never will."""
    left = Forecast.objects.filter(started_at__isnull=True, workload__cluster_id=cluster_id)
    rows = list(left.exclude(workload__state__in=QUEUED).select_related("workload"))
    starts = _starts({row.workload_id for row in rows})
    settled: list[Forecast] = []
    for row in rows:
        later = [at for at in starts.get(row.workload_id, ()) if at >= row.made_at]
        # One that is told to have started earlier had, without our knowing, as this was made.
        known = later or ([row.made_at] if row.workload.state in OPEN_STATES else [])
        if known:
            row.started_at = min(known)
            settled.append(row)
    Forecast.objects.bulk_update(settled, ["started_at"], batch_size=batches.SIZE)
    done = {row.pk for row in settled}
    for pks in batches.of(row.pk for row in rows if row.pk not in done):
        Forecast.objects.filter(pk__in=pks).delete()


def _starts(workload_ids: set[int]) -> Mapping[int, list[datetime]]:
    found: dict[int, list[datetime]] = defaultdict(list)
    for pks in batches.of(workload_ids):
        events = StageEvent.objects.filter(workload_id__in=pks, state__in=HOLDS)
        for workload_id, at in events.values_list("workload_id", "at"):
            found[workload_id].append(at)
    return found


def _keep(frozen: Frozen, found: Mapping[str, Outlook], now: datetime, grace: int) -> int:
    """Write the outlooks that moved; what starts at once is no forecast."""
    newest = forecasts.newest_of(Forecast.objects.filter(workload__state__in=QUEUED))
    new: list[Forecast] = []
    for name, outlook in found.items():
        pk = frozen.work.rows.get(name)
        if pk is None:
            continue
        before = newest.get(pk)
        row = Forecast(
            workload_id=pk, made_at=now, first=before is None, p50=_moment(outlook.p50),
            p90=_moment(outlook.p90), grace_seconds=grace,
        )  # fmt: skip
        at_once = before is None and row.p90 is not None and row.p90 <= now
        if not at_once and _moved(before, row):
            new.append(row)
    Forecast.objects.bulk_create(new, batch_size=batches.SIZE)
    return len(new)


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _moved(before: Forecast | None, row: Forecast) -> bool:
    if before is None:
        return True
    return _differ(before.p50, row.p50) or _differ(before.p90, row.p90)


def _differ(one: datetime | None, other: datetime | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) >= MOVED


def prune(*, now: datetime) -> int:
    """Forget forecasts past their time; gives how many."""
    later = Forecast.objects.filter(first=False, made_at__lt=now - FORECASTS_ALL)
    first = Forecast.objects.filter(first=True, made_at__lt=now - FORECASTS_FIRST)
    return later.delete()[0] + first.delete()[0]
