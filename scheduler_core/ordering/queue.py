"""The waiting work in order, kept true while starts change the order."""

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush

from scheduler_core.metrics import TeamTree
from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key, Order, Rank, rank


class Queue:
    """Serves each workload once, the first in order next.

    Inside a group the order never changes, so that only the heads of groups compete; after a start
    only the groups of its team (or all, if the order says so) get new keys.
    """

    def __init__(self, order: Order, workloads: Iterable[Workload], tree: TeamTree) -> None:
        self._order = order
        self._tree = tree
        self._groups: dict[Hashable, list[Workload]] = {}
        self._of_team: dict[int, list[Hashable]] = {}
        self._static: list[Workload] = []
        self._heap: list[tuple[Rank, int, Hashable]] = []
        self._keys: dict[Hashable, Key] = {}
        if order.moves == "never":
            self._static = sorted(workloads, key=lambda one: rank(order, one), reverse=True)
        else:
            self._fill(workloads)

    def _fill(self, workloads: Iterable[Workload]) -> None:
        for workload in workloads:
            self._groups.setdefault(self._order.group(workload), []).append(workload)
        for group, members in self._groups.items():
            members.sort(key=_within, reverse=True)
            self._of_team.setdefault(self._tree.index[members[0].team], []).append(group)
            self._keys[group] = self._order.key(members[-1])
            self._heap.append(self._entry(group))
        heapify(self._heap)

    def _entry(self, group: Hashable) -> tuple[Rank, int, Hashable]:
        head = self._groups[group][-1]
        return (self._keys[group], *_within(head)), id(group), group

    def pop(self) -> Workload | None:
        """Return the next workload in order, or None when all were served."""
        if self._order.moves == "never":
            return self._static.pop() if self._static else None
        while self._heap:
            place, _, group = heappop(self._heap)
            members = self._groups[group]
            if not members or place != (self._keys[group], *_within(members[-1])):
                continue
            workload = members.pop()
            if members:
                heappush(self._heap, self._entry(group))
            return workload
        return None

    def changed(self, team: int) -> None:
        """Give new keys to those whose keys the team's use changes."""
        self._order.refresh(team)
        if self._order.moves == "never":
            return
        groups = self._groups if self._order.moves == "all" else self._of_team.get(team, ())
        for group in groups:
            members = self._groups[group]
            if members:
                key = self._order.key(members[-1])
                if key != self._keys[group]:
                    self._keys[group] = key
                    heappush(self._heap, self._entry(group))


def _within(workload: Workload) -> tuple[int, int, str]:
    return (-workload.priority, workload.submitted_at, workload.id)
