"""The walk: each waiting workload in its turn, until nothing more starts."""

from dataclasses import dataclass
from functools import partial

from scheduler_core.backfill import Horizon, Planned
from scheduler_core.explain import Explainer, Note
from scheduler_core.model import Preempted, Workload
from scheduler_core.ordering import Order, Queue
from scheduler_core.placement import Placement, fit
from scheduler_core.planner.tryout import Tryout
from scheduler_core.reclaim import Board, Gate, Reclaim, Taken, kind_of
from scheduler_core.scratch import Held, Rules, Spot, State


@dataclass(frozen=True, slots=True)
class Started:
    """A start of this cycle: who must be gone first, and whether it passed work that waits."""

    held: Held
    after: tuple[str, ...]
    backfilled: bool


class Walk:
    """Serves the order; afterwards it knows what starts, what goes and why the rest waits."""

    def __init__(self, state: State, order: Order, placement: Placement) -> None:
        self._state = state
        self._order = order
        self._placement = placement
        self._explainer = Explainer(state)
        self._policy = state.policy
        self._head_blocks = state.policy.head_blocks or state.policy.order == "fifo_strict"
        self._horizon = Horizon(state, placement)
        self.started: dict[str, Started] = {}
        self.preempted: dict[str, Preempted] = {}
        self.notes: dict[str, Note] = {}
        self._firm_starts: set[str] = set()
        self._boards = [Board(state, pool, self._firm_starts) for pool in range(len(state.books))]
        self._undone: dict[str, Workload] = {}
        self._lost = 0
        self._blocked: dict[int, Workload] = {}
        self._passed: set[int] = set()
        self._planned_pools: dict[int, int] = {}
        self._freed = False
        self._has_loose_plans = False
        self._may_displace = False
        self._queue: Queue | None = None
        self._unplanned: list[Workload] = []
        self._failed: dict[object, tuple[int, int]] = {}
        self._remembered: tuple[tuple[str, int, int], Planned | None] | None = None

    @property
    def plans(self) -> dict[str, Planned]:
        """Return when what waits is planned to start, by workload id."""
        return self._horizon.plans

    def run(self) -> None:
        """Walk until nothing more starts, then settle the plans."""
        self._serve_promises()
        while self._pass():
            self._horizon = self._horizon.anew()
        self._catch_up()
        self._settle()

    def _serve_promises(self) -> None:
        """Start what its victims' room or an open reservation was promised to, before all else."""
        state = self._state
        for name in list(state.stopping):
            promised = state.waiting.get(name)
            if promised is not None:
                self._start(promised)
        for workload in list(state.waiting.values()):
            entry = state.reservations.get(workload.reservation or "")
            if entry is not None and entry.open_at(state.now):
                rules = Rules(state, workload, state.pool_index[entry.pool])
                if rules.within_guarantee(workload.gpu_milli):
                    self._serve(workload)

    def _pass(self) -> bool:
        """Give each its turn once; tell whether another pass may start more."""
        state = self._state
        queue = self._queue = Queue(self._order, state.waiting.values(), state.tree)
        self.notes.clear()
        self._failed.clear()
        self._blocked.clear()
        self._passed.clear()
        self._planned_pools.clear()
        self._unplanned.clear()
        self._freed = self._has_loose_plans = False
        started = False
        while (workload := queue.pop()) is not None:
            if workload.id not in self._undone and self._serve(workload):
                started = True
            else:
                self._leave(workload)
        return started and self._freed

    def _serve(self, workload: Workload) -> bool:
        """Start the workload if it fits, else if others may be made to go for it."""
        if self._start(workload):
            return True
        return self._policy.preemption.enabled and self._reclaim(workload)

    def _start(self, workload: Workload) -> bool:
        """Start the workload in the first of its pools that takes it now."""
        state = self._state
        promised = state.stopping.get(workload.id)
        if not promised:
            return self._start_anywhere(workload, [])
        self._catch_up()
        with state.attempt() as attempt:
            for held in promised:
                state.release(held)
            if self._start_anywhere(workload, [held.workload.id for held in promised]):
                attempt.keep()
                return True
        return False

    def _start_anywhere(self, workload: Workload, after: list[str]) -> bool:
        for pool in self._state.pools_for(workload):
            spots = self._spots(workload, pool)
            if spots is not None:
                self._begin(workload, pool, spots, after)
                return True
        return False

    def _begin(self, workload: Workload, pool: int, spots: list[Spot], after: list[str]) -> None:
        held = self._state.start(workload, pool, spots)
        self.started[workload.id] = Started(held, tuple(after), pool in self._passed)
        if self._may_displace and self._has_loose_plans:
            self._freed = True
        if after:
            self._firm_starts.add(workload.id)
        self._horizon.started(held)
        self._changed(held.team)

    def _changed(self, team: int) -> None:
        if self._queue is None:
            self._order.refresh(team)
        else:
            self._queue.changed(team)

    def _spots(self, workload: Workload, pool: int) -> list[Spot] | None:
        """Return where the workload fits now, by quotas, nodes and earlier plans; None if not."""
        shape = self._state.shape(workload)
        if pool in self._blocked or self._state.column(pool, shape.need).total() < shape.least:
            return None
        rules = Rules(self._state, workload, pool)
        most = rules.largest_count()
        if not most:
            return None
        self._catch_up()
        milli = most * shape.need.per_task.gpu_milli
        for guaranteed in (True, False) if rules.within_guarantee(milli) else (False,):
            if self._horizon.allows_now(workload, pool, milli, guaranteed):
                tasks = self._horizon.tasks_now(workload, pool, guaranteed)
                spots = fit(self._state, self._placement, pool, shape, most, tasks)
                if spots is not None:
                    self._may_displace = guaranteed
                    return spots
        return None

    def _reclaim(self, workload: Workload) -> bool:
        """Make others go for the workload in the first of its pools where that is allowed."""
        return any(
            pool not in self._blocked
            and self._explainer.can_ever_run(workload, pool)
            and self._reclaim_in(workload, pool)
            for pool in self._state.pools_for(workload)
        )

    def _reclaim_in(self, workload: Workload, pool: int) -> bool:
        """Look for victims in one pool, unless all that matters is as when there were none."""
        kind = kind_of(self._state, workload, pool)
        failed = self._failed.get(kind)
        if failed is not None and failed[0] == self._state.version:
            self._note_protected(workload, failed[1])
            return False
        search = Reclaim(self._state, self._order, self._boards[pool], workload, pool)
        if self._take_from(workload, pool, search):
            return True
        protected = search.protected()
        self._note_protected(workload, protected)
        if search.refused is not None:
            cost, benefit = search.refused
            self._note(workload).add(
                "not_worth_preempting",
                cost_gpu_seconds=-(-cost // 1000),
                benefit_gpu_seconds=benefit // 1000,
            )
        elif workload.id not in self._state.stopping and not search.is_personal():
            self._failed[kind] = self._state.version, protected
        return False

    def _take_from(self, workload: Workload, pool: int, search: Reclaim) -> bool:
        """Stop victims and start the workload if the search finds any."""
        state = self._state
        promised = state.stopping.get(workload.id, [])
        if not promised and search.is_hopeless():
            return False
        self._catch_up()
        planned = None if search.within else self._planned_for_gate(workload)
        with state.attempt() as attempt:
            for held in promised:
                state.release(held)
            taken = search.find(
                Tryout(state, self._horizon, workload, pool), partial(self._gate, workload, planned)
            )
            if taken is not None:
                after = [held.workload.id for held in promised]
                self._take_over(workload, pool, taken, after)
                attempt.keep()
                return True
        return False

    def _planned_for_gate(self, workload: Workload) -> Planned | None:
        return self._earliest(workload) if self._policy.preemption.cost_gate else None

    def _gate(self, workload: Workload, planned: Planned | None) -> Gate:
        preemption = self._policy.preemption
        benefit = budget = None
        if preemption.cost_gate and planned is not None:
            benefit = workload.gpu_milli * (planned.start - self._state.now)
        if preemption.max_lost_gpu_seconds_per_cycle is not None:
            budget = preemption.max_lost_gpu_seconds_per_cycle * 1000 - self._lost
        return Gate(benefit, budget)

    def _take_over(self, workload: Workload, pool: int, taken: Taken, after: list[str]) -> None:
        """Start the workload where its victims were; starts of this cycle are simply undone."""
        spots = self._spots(workload, pool)
        assert spots is not None
        for victim in taken.victims:
            self._horizon.stopped(victim.held)
            self._changed(victim.held.team)
            if victim.held.fresh:
                self._undo(victim.name, workload)
            else:
                after.append(victim.name)
                whole = victim.tasks == victim.held.tasks
                self.preempted[victim.name] = Preempted(
                    victim.name,
                    workload.id,
                    taken.why,
                    None if whole else victim.tasks,
                    -(-victim.lost // 1000),
                )
        if taken.why != "reclaim_guaranteed":
            self._lost += taken.lost
        self._freed = True
        self._begin(workload, pool, spots, after)

    def _undo(self, name: str, by: Workload) -> None:
        del self.started[name]
        self._undone[name] = by

    def _note(self, workload: Workload) -> Note:
        return self.notes.setdefault(workload.id, Note())

    def _note_protected(self, workload: Workload, count: int) -> None:
        if count:
            self._note(workload).add("protected_by_min_runtime", workloads=count)

    def _earliest(self, workload: Workload) -> Planned | None:
        """Return the start the policy lets the workload plan, or None; remembered for its turn."""
        self._catch_up()
        stamp = (workload.id, len(self._state.nodes.changed), len(self._horizon.plans))
        if self._remembered is None or self._remembered[0] != stamp:
            self._remembered = (stamp, self._find_earliest(workload))
        return self._remembered[1]

    def _find_earliest(self, workload: Workload) -> Planned | None:
        backfill = self._policy.backfill
        if backfill == "off":
            return None
        pools = self._open_pools(workload)
        after = self._state.now
        if backfill == "easy":
            pools = [pool for pool in pools if pool not in self._planned_pools]
        if self._head_blocks and pools:
            after = max([after, *(self._planned_pools.get(pool, after) for pool in pools)])
        return self._horizon.earliest(workload, pools, after) if pools else None

    def _open_pools(self, workload: Workload) -> list[int]:
        return [
            pool
            for pool in self._state.pools_for(workload)
            if self._explainer.can_ever_run(workload, pool)
        ]

    def _leave(self, workload: Workload) -> None:
        """Leave the workload waiting, with its plan; where heads block, it blocks its pools."""
        by = self._undone.get(workload.id)
        if by is not None:
            self._note(workload).add("evicted", **self._named(by, workload))
        for pool in self._open_pools(workload):
            self._note_time(workload, pool)
            self._passed.add(pool)
            if self._head_blocks:
                self._blocked.setdefault(pool, workload)
        if self._policy.backfill != "off":
            self._unplanned.append(workload)

    def _catch_up(self) -> None:
        """Give all that had their turn their plans, in order.

        Put off until a plan may matter: before anything starts or stops, and at the end. A pass in
        which the nodes or the quotas alone hold back the rest plans nothing that the next forgets.
        """
        unplanned, self._unplanned = self._unplanned, []
        for workload in unplanned:
            self._plan(workload)

    def _plan(self, workload: Workload) -> None:
        pools = self._open_pools(workload)
        planned = self._earliest(workload)
        if planned is not None:
            self._horizon.keep(workload, planned)
            self._has_loose_plans = self._has_loose_plans or not planned.guaranteed
            self._planned_pools[planned.pool] = planned.start
        elif self._policy.backfill == "conservative" or not any(
            pool in self._planned_pools for pool in pools
        ):
            self._horizon.keep_for(workload, pools)
            for pool in pools:
                self._planned_pools.setdefault(pool, self._state.now)

    def _note_time(self, workload: Workload, pool: int) -> None:
        """Note what only time explains: it would fit, but for a plan, a reservation, a head."""
        state = self._state
        head = self._blocked.get(pool)
        if head is not None:
            self._note(workload).add("behind", **self._named(head, workload))
            return
        shape = state.shape(workload)
        column = state.column(pool, shape.need)
        if column.total() < shape.least:
            return
        rules = Rules(state, workload, pool)
        most = rules.largest_count()
        tasks = column.tasks()
        if not most or fit(state, self._placement, pool, shape, most, tasks) is None:
            return
        guaranteed = rules.within_guarantee(most * shape.need.per_task.gpu_milli)
        note = self._note(workload)
        beside = self._horizon.tasks_beside_reservations(workload, pool, guaranteed)
        if fit(state, self._placement, pool, shape, most, beside) is None:
            note.add("reservation_ahead", **self._reserved(workload, pool))
        else:
            self._catch_up()
            ahead = self._horizon.in_the_way(workload, pool, guaranteed) or self._horizon.keepers
            found = next((state.waiting[name] for name in ahead if name in state.waiting), None)
            note.add("behind", **({} if found is None else self._named(found, workload)))

    def _reserved(self, workload: Workload, pool: int) -> dict[str, object]:
        names = self._horizon.reserved_ahead(workload, pool)
        entry = self._state.reservations.get(names[0]) if names else None
        if entry is None:
            return {"maintenance": names[:1]}
        return {"reservation": entry.id, "team": entry.team, "starts_at": entry.starts_at}

    def _named(self, ahead: Workload, reader: Workload) -> dict[str, object]:
        """Return who stands ahead: the team, and the workload only to its own branch."""
        tree = self._state.tree
        mine, theirs = (tree.paths[tree.index[one.team]][-1] for one in (reader, ahead))
        named: dict[str, object] = {"team": ahead.team}
        return {**named, "workload": ahead.id} if mine == theirs else named

    def _settle(self) -> None:
        """Plan anew what is beyond guarantees, beside all plans within them."""
        old = self._horizon.plans
        kinds = [planned.guaranteed for planned in old.values()]
        if True not in kinds or False not in kinds[: len(kinds) - kinds[::-1].index(True)]:
            return
        horizon = self._horizon = self._horizon.anew()
        for name, planned in old.items():
            if planned.guaranteed:
                horizon.keep(self._state.waiting[name], planned)
        for name, planned in old.items():
            if not planned.guaranteed:
                workload = self._state.waiting[name]
                found = horizon.earliest(workload, self._open_pools(workload), self._state.now)
                if found is not None:
                    horizon.keep(workload, found)
