"""What an order must answer."""

from collections.abc import Hashable
from typing import Any, Literal, Protocol

from scheduler_core.model import Workload

Key = Any
"""Compared with keys of the same order only; the lowest is served first. Exact, never a float."""

Rank = tuple[Key, int, int, str]
"""A key and what settles its ties: priority (highest first), `submitted_at`, id."""


class Order(Protocol):
    """Gives each workload its key.

    `moves` says whose keys a start changes: nobody's, its team's, or everybody's. Workloads of
    one `group` have one key at any moment, and belong to one team.
    """

    moves: Literal["never", "team", "all"]

    def group(self, workload: Workload) -> Hashable:
        """Return the group the workload shares its key with."""
        ...

    def key(self, workload: Workload) -> Key:
        """Return the workload's key in the state of now."""
        ...

    def refresh(self, team: int) -> None:
        """Take notice that the team's use changed."""
        ...


def rank(order: Order, workload: Workload) -> Rank:
    """Return where the workload stands: the key, then priority, `submitted_at`, id."""
    return (order.key(workload), -workload.priority, workload.submitted_at, workload.id)


class Static:
    """An order whose keys no start changes."""

    moves: Literal["never", "team", "all"] = "never"

    def group(self, workload: Workload) -> Hashable:
        """Return the workload's own group."""
        return workload.id

    def refresh(self, team: int) -> None:
        """Nothing changes."""
