"""Whether a workload would start once some running work is gone, before any of it has to go."""

from scheduler_core.backfill import Horizon
from scheduler_core.backfill.clearing import Clearing
from scheduler_core.model import Workload
from scheduler_core.placement.fitting import domain_sums
from scheduler_core.scratch import Held, Rules, State, freed


class Tryout:
    """Asks the same as a start would, of quotas, nodes and earlier plans.

    Who goes is counted as stopped in the state, but keeps its devices there.
    """

    def __init__(self, state: State, horizon: Horizon, workload: Workload, pool: int) -> None:
        self._state = state
        self._horizon = horizon
        self._workload = workload
        self._pool = pool
        self._shape = state.shape(workload)
        self._rules = Rules(state, workload, pool)
        self._clearings: dict[bool, Clearing] = {}
        self._allowed: dict[tuple[int, bool], bool] = {}
        self._gone: list[tuple[int, Held, Held | None]] = []

    def leave(self, held: Held, left: Held | None) -> None:
        """Imagine the work away, all but what is left of it."""
        self._move(held, left, 1)

    def come_back(self, held: Held, left: Held | None) -> None:
        """Take that back."""
        self._move(held, left, -1)

    def _move(self, held: Held, left: Held | None, sign: int) -> None:
        self._gone.append((sign, held, left))
        for clearing in self._clearings.values():
            _change(clearing, sign, held, left)

    def fits(self) -> bool:
        """Tell whether the workload would start now."""
        most = self._rules.largest_count()
        if not most:
            return False
        milli = most * self._shape.need.per_task.gpu_milli
        kinds = (True, False) if self._rules.within_guarantee(milli) else (False,)
        return any(
            self._is_allowed(milli, guaranteed) and self._has_room(self._clearing(guaranteed))
            for guaranteed in kinds
        )

    def _is_allowed(self, milli: int, guaranteed: bool) -> bool:
        key = (milli, guaranteed)
        if key not in self._allowed:
            self._allowed[key] = self._horizon.allows_now(
                self._workload, self._pool, milli, guaranteed
            )
        return self._allowed[key]

    def _has_room(self, clearing: Clearing) -> bool:
        """Tell whether the least of the shape fits somewhere."""
        least, topology = self._shape.least, self._shape.topology
        if topology is None or not topology.required:
            return clearing.total >= least
        domains = self._state.domains(self._pool, topology.level)
        return domains is not None and max(domain_sums(domains, clearing.tasks), default=0) >= least

    def _clearing(self, guaranteed: bool) -> Clearing:
        clearing = self._clearings.get(guaranteed)
        if clearing is None:
            clearing = self._horizon.clearing(self._workload, self._pool, guaranteed)
            self._clearings[guaranteed] = clearing
            for sign, held, left in self._gone:
                _change(clearing, sign, held, left)
        return clearing


def _change(clearing: Clearing, sign: int, held: Held, left: Held | None) -> None:
    for node, gpus, amount in freed(held, left):
        clearing.change(node, held.ends_at, sign, gpus, amount)
