"""One replay of jobs under given terms up to a moment, as figures to be held against another's.

What decides is the engine that ticks ask, so a trial is what ticks would have done. It begins with
an empty cluster and ends at a fixed moment, the same for both sides of a comparison: what then
still waits counts with the wait it has had, so that starving somebody never looks like speed.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from portal.common import clock
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling import naming, replaying
from scheduler_core import model as engine
from scheduler_core import traces
from scheduler_core.resources import DEVICE
from scheduler_core.simulator import live, running
from scheduler_core.simulator.log import NEVER, Log
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import (
    CLUSTER,
    PLENTY,
    POOL,
    BadCluster,
    Scenario,
    equal_nodes,
    on_terms,
)

__all__ = [
    "POOL",
    "BadCluster",
    "Figures",
    "TeamFigures",
    "bare_terms",
    "is_cluster",
    "own_terms",
    "run",
]
Ints = NDArray[np.int64]
Watch = Callable[[int], None]
MOMENTS = 60
STARVED_SECONDS = 86_400
"""Who has waited longer than a day, started since or not, was starved."""


@dataclass(frozen=True, slots=True)
class TeamFigures:
    """What became of one team's jobs; waits in seconds, GPU time in GPU-seconds."""

    jobs: int
    wait_p50: float
    wait_p90: float
    wait_p99: float
    still_waiting: int
    starved: int
    gpu_seconds: int
    lost_gpu_seconds: int
    preemptions: int
    by_pool: dict[str, int] = field(default_factory=dict)
    """GPU-seconds held in each pool."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What became of all jobs.

    `allocated_pct` is GPU time held, `utilised_pct` that whose work was not lost, of all there was.
    `held_back_pct` is how much of the waiting was by jobs for which enough GPUs were free in their
    pool: behind the head of the line, for a plan, or in pieces too small. `held` and `waiting` are
    milli-GPU at evenly spaced moments.
    """

    jobs: int
    completed: int
    left_out: int
    never_fit: int
    still_waiting: int
    starved: int
    wait_p50: float
    wait_p90: float
    wait_p99: float
    longest_wait: float
    allocated_pct: float
    utilised_pct: float
    held_back_pct: float
    jain: float
    preemptions: int
    gpu_seconds: int
    lost_gpu_seconds: int
    capacity_milli: int
    teams: dict[str, TeamFigures]
    held: tuple[int, ...]
    waiting: tuple[int, ...]


def own_terms(
    *, cluster_id: int, from_at: datetime, to_at: datetime, now: datetime
) -> engine.Snapshot:
    """Our cluster as it is now, without its work, with the reservations of a period."""
    terms = replaying.own(cluster_id, now)
    known = {team.name for team in terms.teams}
    rows = (
        Reservation.objects.filter(
            pool__cluster_id=cluster_id, starts_at__lt=to_at, ends_at__gt=from_at
        )
        .exclude(state=ReservationState.CANCELLED)
        .order_by("starts_at", "id")
    )
    kept = [_reservation(row) for row in rows]
    return replace(
        terms, reservations=tuple(r for r in kept if r.team in known and r.starts_at < r.ends_at)
    )


def _reservation(row: Reservation) -> engine.Reservation:
    return engine.Reservation(
        id=naming.reservation(row.pk), team=naming.team(row.team_id),
        pool=naming.pool(row.pool_id), gpu_milli=row.gpus * DEVICE,
        starts_at=clock.whole_seconds(row.starts_at), ends_at=clock.whole_seconds(row.ends_at),
        source="guarantee" if row.source == "guarantee" else "pool",
        gpus_per_node=row.gpus_per_node,
    )  # fmt: skip


def bare_terms(nodes: str, policy: engine.Policy, *, shared: bool = False) -> engine.Snapshot:
    """Equal nodes such as `64x8`, where every team may borrow everything.

    Raises `BadCluster` for words that say no such thing.
    """
    return engine.Snapshot(
        now=0,
        policy=policy,
        pools=(engine.Pool(POOL, sharing="shared" if shared else "dedicated"),),
        nodes=tuple(
            engine.Node(name=node.name, pool=POOL, gpus=node.gpus, cpu_milli=PLENTY,
                        memory_mib=PLENTY)
            for node in equal_nodes(nodes)
        ),
    )  # fmt: skip


def is_cluster(nodes: str) -> bool:
    """Whether these words describe equal nodes."""
    return CLUSTER.fullmatch(nodes) is not None


def run(
    jobs: Sequence[traces.Job], terms: engine.Snapshot, *, until: int, watch: Watch | None = None
) -> Figures:
    """Replay the jobs under the terms up to a moment. `watch` is told now and then how many ended."""
    told = _with_reservations(on_terms([_able(job, terms) for job in jobs], terms), terms)
    edges = live.edges(told.snapshot)
    log = running.replay(told, until, others=edges, watch=watch)
    return _figures(log, told, until)


def _able(job: traces.Job, terms: engine.Snapshot) -> traces.Job:
    """The job, of any model where ours has none of those it names."""
    ours = {node.gpu_model for node in terms.nodes}
    return job if ours & set(job.gpu_models) else replace(job, gpu_models=())


def _with_reservations(told: Scenario, terms: engine.Snapshot) -> Scenario:
    coming = tuple(one for one in terms.reservations if one.ends_at > told.snapshot.now)
    return replace(told, snapshot=replace(told.snapshot, reservations=coming))


def _figures(log: Log, told: Scenario, until: int) -> Figures:
    found = report(log, until)
    submitted, started = np.array(log.submitted, np.int64), np.array(log.started, np.int64)
    waits = np.where(started == NEVER, until, started) - submitted
    spells = _Spells(log, told, until)
    first = told.snapshot.now
    room = max(1, log.capacity_milli * max(1, until - first))
    held, lost = int(spells.held.sum()), int(spells.lost.sum())
    over = _over_time(log, told, first, until)
    teams = {
        team: _team(np.array([t == team for t in log.teams]), waits, started, spells)
        for team in sorted(set(log.teams))
    }
    return Figures(
        jobs=len(log.submitted),
        completed=found.completed,
        left_out=told.left_out,
        never_fit=told.never_fit,
        still_waiting=int((started == NEVER).sum()),
        starved=int((waits > STARVED_SECONDS).sum()),
        wait_p50=_point(waits, 50), wait_p90=_point(waits, 90), wait_p99=_point(waits, 99),
        longest_wait=float(waits.max(initial=0)),
        allocated_pct=100 * held / room,
        utilised_pct=100 * (held - lost) / room,
        held_back_pct=over.held_back_pct,
        jain=found.jain,
        preemptions=log.preemptions,
        gpu_seconds=held // DEVICE,
        lost_gpu_seconds=lost // DEVICE,
        capacity_milli=log.capacity_milli,
        teams=teams,
        held=over.held,
        waiting=over.waiting,
    )  # fmt: skip


def _point(waits: Ints, percent: int) -> float:
    """The smallest wait that so many do not exceed; 0 where there is none."""
    return float(np.percentile(waits, percent, method="inverted_cdf")) if waits.size else 0.0


class _Spells:
    """What each job held, lost and in which pool, summed over its spells."""

    def __init__(self, log: Log, told: Scenario, until: int) -> None:
        count = len(log.submitted)
        self.held, self.lost = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.stops = np.zeros(count, np.int64)
        self.by_pool: list[dict[str, int]] = [{} for _ in range(count)]
        pools = [node.pool for node in told.snapshot.nodes]
        for spell, parts in zip(log.spells, log.held, strict=True):
            seconds = spell.end - spell.start
            self.held[spell.job] += seconds * spell.gpu_milli
            self.lost[spell.job] += spell.lost_seconds * spell.gpu_milli
            self.stops[spell.job] += 1
            mine = self.by_pool[spell.job]
            for part in parts:
                milli = sum(amount for _, amount in part.devices)
                pool = pools[part.node]
                mine[pool] = mine.get(pool, 0) + seconds * milli
        for job, finished in enumerate(log.finished):
            if finished != NEVER:
                self.stops[job] -= 1
        for job in {s.job for s in log.spells if s.end == until and log.finished[s.job] == NEVER}:
            self.stops[job] -= 1


def _team(mine: NDArray[np.bool_], waits: Ints, started: Ints, spells: _Spells) -> TeamFigures:
    by_pool: dict[str, int] = defaultdict(int)
    for job in np.flatnonzero(mine):
        for pool, amount in spells.by_pool[job].items():
            by_pool[pool] += amount
    own = waits[mine]
    return TeamFigures(
        jobs=int(mine.sum()),
        wait_p50=_point(own, 50), wait_p90=_point(own, 90), wait_p99=_point(own, 99),
        still_waiting=int((started[mine] == NEVER).sum()),
        starved=int((own > STARVED_SECONDS).sum()),
        gpu_seconds=int(spells.held[mine].sum()) // DEVICE,
        lost_gpu_seconds=int(spells.lost[mine].sum()) // DEVICE,
        preemptions=int(spells.stops[mine].sum()),
        by_pool={pool: amount // DEVICE for pool, amount in sorted(by_pool.items())},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OverTime:
    held: tuple[int, ...]
    waiting: tuple[int, ...]
    held_back_pct: float


def _over_time(log: Log, told: Scenario, first: int, until: int) -> _OverTime:
    """What was held and waited for in the middle of evenly long stretches."""
    edges = np.linspace(first, max(until, first + 1), MOMENTS + 1)
    moments = ((edges[:-1] + edges[1:]) / 2).astype(np.int64)
    names = [pool.name for pool in told.snapshot.pools]
    free = _free(log, told, moments, names)
    asks = np.array(log.gpu_milli, np.int64)
    begins = np.array(log.submitted, np.int64)
    begun = np.array([until + 1 if s == NEVER else s for s in log.started], np.int64)
    pool_of = np.array(
        [names.index(one.pool) if one.pool in names else -1 for one in told.workloads], np.int64
    )
    waiting: list[int] = []
    total = back = 0
    for number, moment in enumerate(moments):
        waits = (begins <= moment) & (begun > moment)
        waiting.append(int(asks[waits].sum()))
        most = np.where(pool_of < 0, free[:, number].max(initial=0), free[pool_of, number])
        total += int(waits.sum())
        back += int((waits & (asks <= most)).sum())
    held = log.capacity_milli - free.sum(axis=0)
    return _OverTime(
        held=tuple(int(one) for one in held),
        waiting=tuple(waiting),
        held_back_pct=100 * back / total if total else 0.0,
    )


def _free(log: Log, told: Scenario, moments: Ints, names: list[str]) -> Ints:
    """Free milli-GPU, a row a pool and a column a moment."""
    place = {name: number for number, name in enumerate(names)}
    pools = [place[node.pool] for node in told.snapshot.nodes]
    change = np.zeros((len(names), len(moments) + 1), np.int64)
    for node, pool in zip(told.snapshot.nodes, pools, strict=True):
        change[pool, 0] += node.gpus * DEVICE
    starts = np.searchsorted(moments, [spell.start for spell in log.spells])
    ends = np.searchsorted(moments, [spell.end for spell in log.spells])
    for parts, begin, end in zip(log.held, starts, ends, strict=True):
        for part in parts:
            milli = sum(amount for _, amount in part.devices)
            change[pools[part.node], begin] -= milli
            change[pools[part.node], end] += milli
    free: Ints = np.cumsum(change, axis=1)[:, :-1]
    return free
