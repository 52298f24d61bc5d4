"""The words and their order, and the choice among several pools."""

from collections.abc import Mapping

from scheduler_core.explain.lasting import Lasting
from scheduler_core.explain.notes import Note
from scheduler_core.explain.passing import nodes_short, quota_short
from scheduler_core.model import Workload
from scheduler_core.scratch import Rules, Shape, State

REASONS = (
    "no_quota_in_pool",
    "fraction_on_dedicated_pool",
    "gpu_model_absent",
    "gpu_memory_short",
    "never_fits",
    "zone",
    "taint",
    "topology",
    "quota_exceeded",
    "user_limit",
    "borrowing_limit",
    "lent_out",
    "pool_full",
    "cpu_short",
    "memory_short",
    "fragmented",
    "reservation_ahead",
    "behind",
    "protected_by_min_runtime",
    "not_worth_preempting",
    "evicted",
)
"""From the most permanent down; the first that applies is the reason."""

_PLACE = {word: number for number, word in enumerate(REASONS)}

Found = Mapping[str, Mapping[str, object]]


class Explainer:
    """Explains waiting work in the state of now; shapes that recur are measured once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lasting = Lasting(state)
        self._nodes: dict[tuple[int, Shape], Found] = {}
        self._quotas: dict[object, Found] = {}
        self._above: dict[int, set[int]] = {}

    def can_ever_run(self, workload: Workload, pool: int) -> bool:
        """Tell whether the pool, all free, would hold the workload."""
        return not self._lasting.reasons(self._state.shape(workload), pool)

    def explain(self, workload: Workload, note: Note) -> tuple[str, dict[str, object]]:
        """Return the reason and its detail, with all other words that apply under `also`."""
        pools = self._state.pools_for(workload)
        if not pools:
            return "no_quota_in_pool", {"team": workload.team, "pool": workload.pool, "also": []}
        word, pool, found = max(
            (self._in_pool(workload, pool, note) for pool in pools),
            key=lambda answer: (_PLACE[answer[0]], -answer[1]),
        )
        also = sorted((other for other in found if other != word), key=_PLACE.__getitem__)
        name = self._state.snapshot.pools[pool].name
        return word, {**found[word], "pool": name, "also": also}

    def _in_pool(self, workload: Workload, pool: int, note: Note) -> tuple[str, int, Found]:
        shape = self._state.shape(workload)
        short = self._nodes_short(shape, pool)
        found = {
            **self._lasting.reasons(shape, pool),
            **self._quota_short(workload, shape, pool, bool(short)),
            **short,
            **note.found,
        }
        if not found:
            found = {"behind": {}}
        return min(found, key=_PLACE.__getitem__), pool, found

    def _quota_short(self, workload: Workload, shape: Shape, pool: int, is_short: bool) -> Found:
        """Return what quotas forbid, once for all that quotas cannot tell apart."""
        limited = self._state.books[pool].terms.per_user[self._state.tree.index[workload.team]]
        key = (
            shape,
            pool,
            workload.team,
            workload.reservation,
            workload.preemptible or workload.duration_seconds,
            workload.preemptible,
            None if limited is None else workload.user,
        )
        if key not in self._quotas:
            rules = Rules(self._state, workload, pool)
            borrowers = self._borrowers(pool) if is_short else set()
            self._quotas[key] = quota_short(self._state, rules, shape, borrowers)
        return self._quotas[key]

    def _borrowers(self, pool: int) -> set[int]:
        if pool not in self._above:
            book = self._state.books[pool]
            teams = range(len(self._state.tree))
            self._above[pool] = {team for team in teams if book.is_above(team)}
        return self._above[pool]

    def _nodes_short(self, shape: Shape, pool: int) -> Found:
        key = (pool, shape)
        if key not in self._nodes:
            self._nodes[key] = nodes_short(self._state, shape, pool)
        return self._nodes[key]
