"""The period cut at every instant at which anything changes, and sums of intervals over it.

Between two such instants nothing changes, so figures per step are exact, and there are as many
steps as there are changes, not as there are seconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

STEADY = 0
"""The place of use on nodes that were ready all through the period; other places are node ids."""


@dataclass(frozen=True, slots=True)
class UseKey:
    """Whose use, and against what it is counted; team None is work of no team."""

    team_id: int | None
    charged_to: str
    reservation_id: int | None = None


class UseRow(NamedTuple):
    """So many milli-GPU held from `starts` to `ends`; negative where a correction takes back."""

    place: int
    key: UseKey
    milli: int
    starts: int
    ends: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A reservation from the pool while it was open."""

    reservation_id: int
    team_id: int
    milli: int
    starts: int
    ends: int


@dataclass(frozen=True, slots=True)
class Columns:
    """Use as columns; `key` counts into `keys`."""

    keys: tuple[UseKey, ...]
    place: Ints
    key: Ints
    milli: Ints
    starts: Ints
    ends: Ints


class Axis:
    """The steps of one period."""

    def __init__(self, starts: int, ends: int, instants: Iterable[Ints]) -> None:
        edges = np.concatenate([np.array([starts, ends], dtype=np.int64), *instants])
        self.edges: Ints = np.unique(np.clip(edges, starts, ends))
        self.seconds: Ints = np.diff(self.edges)

    def index(self, instants: Ints) -> Ints:
        """Where each instant, clipped to the period, falls among the edges."""
        clipped = np.clip(instants, self.edges[0], self.edges[-1])
        return np.searchsorted(self.edges, clipped).astype(np.int64)

    def level(self, starts: Ints, ends: Ints, milli: Ints) -> Ints:
        """The sum of intervals, one figure per step."""
        change = np.zeros(len(self.edges), dtype=np.int64)
        np.add.at(change, self.index(starts), milli)
        np.add.at(change, self.index(ends), -milli)
        return np.cumsum(change)[:-1]

    def inside(self, starts: Ints, ends: Ints) -> Ints:
        """How many seconds of each interval lie in the period."""
        return self.edges[self.index(ends)] - self.edges[self.index(starts)]

    def total(self, level: Ints) -> int:
        """A level times time, over the whole period."""
        return int(np.dot(level, self.seconds))


def columns(use: Sequence[UseRow]) -> Columns:
    """Rows as columns, each key once."""
    keys: dict[UseKey, int] = {}
    table = np.array(
        [(place, keys.setdefault(key, len(keys)), *rest) for place, key, *rest in use],
        dtype=np.int64,
    ).reshape(-1, 5)
    return Columns(tuple(keys), *(np.ascontiguousarray(column) for column in table.T))


def rows_by_place(use: Columns) -> dict[int, Ints]:
    """Row numbers of use at each place that is one node."""
    order = np.argsort(use.place, kind="stable")
    places, firsts = np.unique(use.place[order], return_index=True)
    groups = np.split(order, firsts[1:]) if len(places) else []
    return {int(p): rows for p, rows in zip(places, groups, strict=True) if p != STEADY}
