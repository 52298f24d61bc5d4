"""What could be taken back in one pool, kept up to date team by team.

Most workloads that do not fit cannot reclaim either. The board says so from a few sums, before any
victim is tried: which branches borrow how much, and what each node would have free if everything
that is borrowed went.
"""

from collections.abc import Container

import numpy as np

from scheduler_core.metrics.tree import ROOT
from scheduler_core.reclaim.shares import Share, Shares
from scheduler_core.reclaim.victims import Victim, in_order, is_protected, victim_of
from scheduler_core.scratch import Held, Need, Shape, State
from scheduler_core.scratch.nodes import PLENTY, Ints

_FIELDS = 3


class Board:
    """The teams above their entitlement, their victims, and what these hold where.

    Work named in `spared` is no victim.
    """

    def __init__(self, state: State, pool: int, spared: Container[str]) -> None:
        self._state = state
        self.spared = spared
        self._pool = pool
        self.book = state.books[pool]
        self.shares = Shares(self.book)
        self._low = state.nodes.slices[pool].start
        size = state.nodes.slices[pool].stop - self._low
        self._held: Ints = np.zeros((_FIELDS, size), dtype=np.int64)
        self._given: dict[int, list[tuple[int, int, int, int]]] = {}
        self._victims: dict[int, tuple[dict[str, Held], list[Victim]]] = {}
        self._read: dict[int, tuple[bool, dict[str, Held]]] = {}
        self._known: dict[str, Victim] = {}
        self._stale: set[int] = set()
        self._stale_victims: set[int] = set()
        self._seen = 0
        self._above: set[int] = set()
        self._protected: dict[int, int] = {}
        self._by_parent: dict[int, list[tuple[Share, int]]] | None = None
        self._barren: dict[tuple[int, int], tuple[int, tuple[Share, ...]]] = {}
        for team in range(len(state.tree)):
            if self.book.is_above(team):
                self._above.add(team)
            self._update(team)

    def refresh(self) -> None:
        """Take notice of the teams whose use changed; what they hold is read when asked for."""
        touched = self.book.touched
        if self._seen < len(touched):
            for team in set(touched[self._seen :]):
                self._stale.add(team)
                self._stale_victims.add(team)
                (self._above.add if self.book.is_above(team) else self._above.discard)(team)
            self._by_parent = None
            self._seen = len(touched)

    def _read_stale(self) -> None:
        """Read again what changed; a what-if that was undone left everything as it was."""
        for team in self._stale:
            work = self._work(team)
            if self._read.get(team) != (team in self._above, work):
                self._update(team)
        self._stale.clear()

    def _work(self, team: int) -> dict[str, Held]:
        return self._state.of_team.get((self._pool, team), {})

    def _update(self, team: int) -> None:
        is_above = team in self._above
        self._read[team] = (is_above, dict(self._work(team)))
        for node, whole, cpu, memory in self._given.pop(team, ()):
            self._held[:, node] -= (whole, cpu, memory)
        self._protected.pop(team, None)
        if is_above:
            self._protected[team] = self._count_protected(team)
            given = self._given[team] = [
                (
                    node - self._low,
                    len(gpus),
                    tasks * held.workload.per_task.cpu_milli,
                    tasks * held.workload.per_task.memory_mib,
                )
                for held in self._stoppable(team)
                for node, tasks, gpus in held.spots
            ]
            for node, whole, cpu, memory in given:
                self._held[:, node] += (whole, cpu, memory)

    def _stoppable(self, team: int) -> list[Held]:
        return [
            held
            for held in self._work(team).values()
            if held.workload.preemptible
            and held.workload.id not in self.spared
            and not is_protected(self._state, held)
        ]

    def _count_protected(self, team: int) -> int:
        return sum(
            held.workload.preemptible and is_protected(self._state, held)
            for held in self._work(team).values()
        )

    def protected_beside(self, team: int) -> int:
        """Return how much work of other teams above theirs only its minimum runtime saves."""
        self._read_stale()
        return sum(self._protected.values()) - self._protected.get(team, 0)

    def above(self) -> set[int]:
        """Return the teams that use more than they are entitled to."""
        return self._above

    def victims(self, team: int) -> list[Victim]:
        """Return the team's stoppable work, the first to go first."""
        known = self._victims.get(team)
        if known is None or team in self._stale_victims:
            self._stale_victims.discard(team)
            work = self._work(team)
            if known is None or known[0] != work:
                stoppable = [self._victim(held) for held in self._stoppable(team)]
                victims = in_order(self._state, self._pool, team, stoppable)
                known = self._victims[team] = (dict(work), victims)
        return known[1]

    def _victim(self, held: Held) -> Victim:
        known = self._known.get(held.workload.id)
        if known is None or known.held is not held:
            known = self._known[held.workload.id] = victim_of(held, self._state.now)
        return known

    def could_hold(self, shape: Shape) -> bool:
        """Tell whether the shape would fit if all that teams above hold were given back."""
        if shape.need.is_fraction or self._state.nodes.shared[self._pool]:
            return True
        self._read_stale()
        return int(self._tasks(shape.need).sum()) >= shape.least

    def note_barren(self, place: tuple[int, int], shares: tuple[Share, ...]) -> None:
        """Remember that with these shares the rule of fairness let nobody go.

        The place is the team that asked, and the nodes it asked for.
        """
        self._barren[place] = self._state.version, shares

    def is_barren(self, place: tuple[int, int], shares: tuple[Share, ...]) -> bool:
        """Tell whether nobody went with shares no larger: then nobody goes now.

        For more is asked of those who borrow the more the own side borrows.
        """
        version, known = self._barren.get(place, (-1, ()))
        return version == self._state.version and all(
            old <= new for old, new in zip(known, shares, strict=True)
        )

    def _tasks(self, need: Need) -> Ints:
        nodes, where = self._state.nodes, self._state.nodes.slices[self._pool]
        per_task = need.per_task
        whole, cpu, memory = self._held
        count: Ints = np.full(whole.shape, PLENTY, dtype=np.int64)
        if need.devices:
            count = (nodes.whole[where] + whole) // need.devices
        if per_task.cpu_milli:
            count = np.minimum(count, (nodes.cpu_free[where] + cpu) // per_task.cpu_milli)
        if per_task.memory_mib:
            count = np.minimum(count, (nodes.memory_free[where] + memory) // per_task.memory_mib)
        allowed = self._state.column(self._pool, need).allowed
        return np.where(allowed, np.maximum(count, 0), 0)

    def largest_beside(self, team: int) -> list[tuple[int, Share]]:
        """Return (own branch, largest share of a borrowing branch beside it) on the way up."""
        if self._by_parent is None:
            self._by_parent = self._rank_branches()
        found = []
        for branch in self._state.tree.paths[team]:
            parent = self._state.tree.parent[branch]
            others = self._by_parent.get(parent, ())
            best = next((share for share, other in others if other != branch), None)
            if best is not None:
                found.append((branch, best))
        return found

    def _rank_branches(self) -> dict[int, list[tuple[Share, int]]]:
        tree = self._state.tree
        seen: set[int] = set()
        ranked: dict[int, list[tuple[Share, int]]] = {}
        for team in self._above:
            for branch in tree.paths[team]:
                if branch not in seen:
                    seen.add(branch)
                    share = self.shares.of_branch(branch)
                    ranked.setdefault(tree.parent[branch], []).append((share, branch))
        for parent, entries in ranked.items():
            entries.sort(reverse=True)
            if parent != ROOT:
                own = self.shares.of_team(parent)
                if parent in self._above:
                    entries.append((own, parent))
                    entries.sort(reverse=True)
        return ranked
