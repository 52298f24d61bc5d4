"""What may start now without moving what was planned before, and when the rest is planned."""

from dataclasses import dataclass

import numpy as np

from scheduler_core.backfill.allowance import Allowance, Terms
from scheduler_core.backfill.clearing import Clearing
from scheduler_core.backfill.profile import Change
from scheduler_core.backfill.reservations import block, of_pool
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.backfill.timeline import NONE, Timeline
from scheduler_core.model import Workload
from scheduler_core.placement import Placement, fit
from scheduler_core.resources import Amount
from scheduler_core.scratch import Held, Shape, Spot, State
from scheduler_core.scratch.nodes import PLENTY, Ints

_TRIES = 64
"""So often quotas and nodes may push a start on before it is given up."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A start in the future: when, where, and whether within the team's guarantee."""

    start: int
    pool: int
    spots: tuple[Spot, ...]
    guaranteed: bool


class Horizon:
    """Two timelines: one of plans within guarantees, one of all plans.

    A plan beyond its team's guarantee stands on the second only, so that it never holds back work
    within one. Whoever changes the state says so with `started` and `stopped`.
    """

    def __init__(self, state: State, placement: Placement, base: Timeline | None = None) -> None:
        self._state = state
        self._placement = placement
        self.base = base or Timeline(state)
        if base is None:
            block(state, self.base)
        self._terms = Terms(state)
        self._nodes = {True: self.base.copy(), False: self.base.copy()}
        self._quotas = {True: Allowance(state, self._terms), False: Allowance(state, self._terms)}
        self._reservations = [of_pool(state, pool) for pool in range(len(state.books))]
        self._bounds: dict[tuple[Timeline, Shape, int, int, frozenset[str]], int] = {}
        self.plans: dict[str, Planned] = {}
        self.keepers: list[str] = []

    def anew(self) -> "Horizon":
        """Return one without any plan; where nothing is reserved, what is known of nodes stays."""
        return Horizon(self._state, self._placement, None if self.base.takes else self.base)

    def exempt(
        self, workload: Workload, pool: int, milli: int, moment: int, guaranteed: bool
    ) -> frozenset[str]:
        """Return the reservations whose GPUs the workload may hold from the moment on."""
        entries = self._reservations[pool]
        if not entries:
            return NONE
        return frozenset(
            entry.id
            for entry in entries
            if entry.id == workload.reservation
            or (
                self._yields_when_open(workload, entry.team, entry.source, guaranteed)
                if entry.starts_at <= moment
                else self._yields_later(workload, pool, milli, moment, entry.starts_at)
            )
        )

    def _yields_when_open(
        self, workload: Workload, team: str, source: str, guaranteed: bool
    ) -> bool:
        if workload.team == team and source == "pool":
            return True
        return workload.preemptible and not guaranteed

    def _yields_later(
        self, workload: Workload, pool: int, milli: int, start: int, opening: int
    ) -> bool:
        """Tell whether the workload can be reclaimed, with its work saved, when one opens."""
        checkpoint = workload.checkpoint
        if not workload.preemptible or checkpoint is None:
            return False
        least = max(checkpoint.save_seconds, self._state.policy.preemption.min_runtime_seconds)
        team = self._state.tree.index[workload.team]
        used = self._quotas[False].steps(("own", pool, team, "")).at(opening)
        entitled = self._terms.book(pool, opening).entitled[team]
        return start + least <= opening and used + milli > entitled

    def tasks_now(self, workload: Workload, pool: int, guaranteed: bool) -> Ints:
        """Return how many tasks each node takes now without moving an earlier plan."""
        return self._tasks_now(self._nodes[guaranteed], workload, pool, guaranteed)

    def tasks_beside_reservations(self, workload: Workload, pool: int, guaranteed: bool) -> Ints:
        """Return how many tasks each node takes now if only reservations were planned."""
        return self._tasks_now(self.base, workload, pool, guaranteed)

    def _tasks_now(
        self, timeline: Timeline, workload: Workload, pool: int, guaranteed: bool
    ) -> Ints:
        exempt = self.exempt(workload, pool, workload.gpu_milli, self._state.now, guaranteed)
        need = self._state.shape(workload).need
        return timeline.tasks_now(pool, need, _duration(workload), exempt)

    def clearing(self, workload: Workload, pool: int, guaranteed: bool) -> Clearing:
        """Return what of the same comes to be when running work is imagined away."""
        exempt = self.exempt(workload, pool, workload.gpu_milli, self._state.now, guaranteed)
        need = self._state.shape(workload).need
        return Clearing(self._nodes[guaranteed], pool, need, _duration(workload), exempt)

    def allows_now(self, workload: Workload, pool: int, milli: int, guaranteed: bool) -> bool:
        """Tell whether quotas allow the ask now for its whole duration, beside earlier plans."""
        now = self._state.now
        if not self.plans:
            return True
        found = self._quotas[guaranteed].earliest(
            workload, pool, milli, now, _duration(workload), guaranteed
        )
        return found == now

    def started(self, held: Held) -> None:
        """Take notice of a start of this cycle."""
        self._note(held, 1)

    def stopped(self, held: Held) -> None:
        """Take notice that work goes; what it held may let others start earlier."""
        self._note(held, -1)
        self._bounds.clear()

    def _note(self, held: Held, sign: int) -> None:
        end = FOREVER if held.ends_at is None else held.ends_at
        for quota in self._quotas.values():
            quota.add(held.workload, held.pool, sign * held.gpu_milli, self._state.now, end)

    def earliest(self, workload: Workload, pools: list[int], after: int) -> Planned | None:
        """Return the earliest start from `after` on, or None when no known end lets it in."""
        best: Planned | None = None
        for pool in pools:
            found = self._earliest_in(workload, pool, after)
            if found is not None and (best is None or found.start < best.start):
                best = found
        return best

    def _earliest_in(self, workload: Workload, pool: int, after: int) -> Planned | None:
        """Return the earliest start in the pool; within the guarantee if that is no later.

        Within it at once borrowing is no sooner; and what is borrowed before the guarantee allows
        the ask is not asked for again within it.
        """
        within = self._allowed(workload, pool, after, True)
        if within == after:
            found = self._find(workload, pool, within, True)
            return found or self._borrowed(workload, pool, after)
        borrowed = self._borrowed(workload, pool, after)
        if within is None or (borrowed is not None and borrowed.start < within):
            return borrowed
        found = self._find(workload, pool, within, True)
        if borrowed is None or (found is not None and found.start <= borrowed.start):
            return found
        return borrowed

    def _borrowed(self, workload: Workload, pool: int, after: int) -> Planned | None:
        allowed = self._allowed(workload, pool, after, False)
        return None if allowed is None else self._find(workload, pool, allowed, False)

    def _allowed(self, workload: Workload, pool: int, after: int, guaranteed: bool) -> int | None:
        """Return from when on quotas allow the least of the workload."""
        shape = self._state.shape(workload)
        milli = shape.least * shape.need.per_task.gpu_milli
        quota = self._quotas[guaranteed]
        return quota.earliest(workload, pool, milli, after, _duration(workload), guaranteed)

    def keep(self, workload: Workload, planned: Planned) -> None:
        """Keep the planned place."""
        self._take(workload, planned)
        self.plans[workload.id] = planned

    def _find(
        self, workload: Workload, pool: int, allowed: int, guaranteed: bool
    ) -> Planned | None:
        """Return the earliest start from a moment on at which quotas allow one."""
        shape = self._state.shape(workload)
        milli = shape.least * shape.need.per_task.gpu_milli
        duration = _duration(workload)
        moment: int | None = allowed
        for _ in range(_TRIES):
            if moment is None:
                return None
            allowed = moment
            exempt = self.exempt(workload, pool, milli, allowed, guaranteed)
            found = self._on_nodes(shape, pool, allowed, duration, guaranteed, exempt)
            if found is None:
                return None
            start, spots = found
            if start > allowed:
                moment = self._allowed(workload, pool, start, guaranteed)
            if moment == start and (
                start == allowed or exempt <= self.exempt(workload, pool, milli, start, guaranteed)
            ):
                if shape.least < shape.tasks:
                    spots = self._largest(workload, pool, start, guaranteed, exempt) or spots
                return Planned(start, pool, tuple(spots), guaranteed)
            if moment == start:
                moment = self._allowed(workload, pool, start + 1, guaranteed)
        return None

    def _on_nodes(
        self,
        shape: Shape,
        pool: int,
        after: int,
        duration: int,
        guaranteed: bool,
        exempt: frozenset[str],
    ) -> tuple[int, list[Spot]] | None:
        timeline = self._nodes[guaranteed]
        if shape.least == 1:
            found = timeline.earliest_node(pool, shape.need, after, duration, exempt)
            return None if found is None else (found[0], [(found[1], 1)])
        return self._gang(timeline, shape, pool, after, duration, exempt)

    def _gang(
        self,
        timeline: Timeline,
        shape: Shape,
        pool: int,
        after: int,
        duration: int,
        exempt: frozenset[str],
    ) -> tuple[int, list[Spot]] | None:
        """Try the moments at which something comes free, from the last one found for the shape.

        Between frees a shape's first moment only moves later.
        """
        bound = (timeline, shape, pool, duration, exempt)
        first = max(after, self._bounds.get(bound, after))
        counts_all = shape.topology is not None or (
            self._placement.counts_all and not shape.spreads
        )
        most = PLENTY if counts_all else shape.least
        for moment, tasks in timeline.earliest_tasks(pool, shape, most, first, duration, exempt):
            spots = fit(self._state, self._placement, pool, shape, shape.least, tasks)
            if spots is not None:
                if after == self._state.now:
                    self._bounds[bound] = moment
                return moment, spots
        return None

    def _largest(
        self,
        workload: Workload,
        pool: int,
        start: int,
        guaranteed: bool,
        exempt: frozenset[str],
    ) -> list[Spot] | None:
        """Return spots for as many tasks as fit and are allowed at the start that was found."""
        shape = self._state.shape(workload)
        duration = _duration(workload)
        quota = self._quotas[guaranteed]
        low, high = shape.least, shape.tasks + 1
        while high - low > 1:
            middle = (low + high) // 2
            milli = middle * shape.need.per_task.gpu_milli
            found = quota.earliest(workload, pool, milli, start, duration, guaranteed)
            low, high = (middle, high) if found == start else (low, middle)
        tasks = self._nodes[guaranteed].tasks(pool, shape.need, start, duration, exempt)
        return fit(self._state, self._placement, pool, shape, low, tasks)

    def _take(self, workload: Workload, planned: Planned) -> None:
        shape = self._state.shape(workload)
        end = min(FOREVER, planned.start + _duration(workload))
        milli = 0
        for node, tasks in planned.spots:
            amount = Amount(*(part * tasks for part in workload.per_task.amount))
            milli += amount.gpu_milli
            gpus = (
                self._nodes[planned.guaranteed]
                .profile(node)
                .devices(shape.need, tasks, planned.start, end)
            )
            change = Change(planned.start, end, -1, shape.need.devices * tasks, amount, gpus)
            for guaranteed in (True, False):
                if planned.guaranteed or not guaranteed:
                    self._nodes[guaranteed].take(node, change, ("workload", workload.id))
        for guaranteed in (True, False):
            if planned.guaranteed or not guaranteed:
                quota = self._quotas[guaranteed]
                quota.add(workload, planned.pool, milli, planned.start, end)

    def keep_for(self, workload: Workload, pools: list[int]) -> None:
        """Keep its place for work that no end lets in: where nodes are what it waits for.

        Nothing behind it without a known end starts on the nodes it could use.
        """
        state = self._state
        shape = state.shape(workload)
        milli = shape.least * shape.need.per_task.gpu_milli
        for pool in pools:
            team = state.tree.index[workload.team]
            for guaranteed in (True, False):
                if self._on_nodes(shape, pool, state.now, _duration(workload), guaranteed, NONE):
                    continue
                own = self._quotas[guaranteed].steps(("own", pool, team, ""))
                entitled = self._terms.book(pool, FOREVER - 1).entitled[team]
                if guaranteed and own.at(FOREVER - 1) + milli > entitled:
                    continue
                self._nodes[guaranteed].keep(pool, shape.need)
                self.keepers.append(workload.id)

    def in_the_way(self, workload: Workload, pool: int, guaranteed: bool) -> list[str]:
        """Return whose plans stand on nodes where the workload would fit now, soonest first."""
        return self._holders(self._nodes[guaranteed], workload, pool, "workload")

    def reserved_ahead(self, workload: Workload, pool: int) -> list[str]:
        """Return whose reservations or maintenance stand on nodes where it would fit now."""
        kinds = ("reservation", "maintenance")
        return [name for kind in kinds for name in self._holders(self.base, workload, pool, kind)]

    def _holders(self, timeline: Timeline, workload: Workload, pool: int, kind: str) -> list[str]:
        state = self._state
        low = state.nodes.slices[pool].start
        end = state.now + _duration(workload)
        tasks = state.column(pool, state.shape(workload).need).tasks()
        found = sorted(
            (take.change.start, take.holder[1])
            for node in (np.flatnonzero(tasks) + low).tolist()
            for take in timeline.takes.get(node, ())
            if take.holder[0] == kind and take.change.start < end
        )
        return list(dict.fromkeys(name for _, name in found))


def _duration(workload: Workload) -> int:
    seconds = workload.duration_seconds
    return FOREVER if seconds is None else max(1, seconds)
