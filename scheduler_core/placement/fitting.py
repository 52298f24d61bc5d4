"""Which tasks of a workload fit where: counts, gangs, topology."""

from collections.abc import Sequence

import numpy as np

from scheduler_core.model import NODE_LEVEL, Mode
from scheduler_core.placement.base import Placement, Room
from scheduler_core.placement.pack import Pack
from scheduler_core.placement.spread import Spread
from scheduler_core.scratch import Shape, Spot, State
from scheduler_core.scratch.nodes import PLENTY, Bools, Ints

_OWN: dict[Mode, Placement] = {"pack": Pack(), "spread": Spread()}
"""What a workload may ask for, whatever the policy."""


def fit(
    state: State, placement: Placement, pool: int, shape: Shape, most: int, tasks: Ints
) -> list[Spot] | None:
    """Return nodes for the largest count from `shape.least` to `most` that fits, or None.

    `tasks` says how many tasks each node of the pool takes; `most` is what quotas let start.
    """
    if most < shape.least:
        return None
    for mask in _narrowing(state, pool, shape, most, tasks):
        inside = tasks if mask is None else np.where(mask, tasks, 0)
        count = min(most, total(inside))
        if count >= shape.least:
            chosen = placement if shape.placement is None else _OWN[shape.placement]
            return chosen.spots(Room(state, pool, shape, inside), count)
    return None


def total(tasks: Ints) -> int:
    """Return how many tasks all nodes take together; plenty stays plenty."""
    return min(PLENTY, int(tasks.sum()))


def _narrowing(state: State, pool: int, shape: Shape, most: int, tasks: Ints) -> list[Bools | None]:
    """Return the domains to try, best first; None is the whole pool."""
    topology = shape.topology
    if topology is None:
        return [None]
    levels = (*state.snapshot.pools[pool].topology_levels, NODE_LEVEL)
    if topology.level not in levels:
        return [] if topology.required else [None]
    if topology.required:
        best = _best_domain(state, pool, topology.level, shape.least, most, tasks)
        return [] if best is None else [best]
    tried: list[Bools | None] = []
    for level in reversed(levels[: levels.index(topology.level) + 1]):
        best = _best_domain(state, pool, level, most, most, tasks)
        if best is not None:
            tried.append(best)
    return [*tried, None]


def _best_domain(
    state: State, pool: int, level: str, least: int, most: int, tasks: Ints
) -> Bools | None:
    """Return the tightest domain that takes all, else the one that takes most, at least `least`.

    Ties go to least free GPU, then to the domain that stands first.
    """
    domains = state.domains(pool, level)
    assert domains is not None
    numbers = np.array(domains, dtype=np.int64)
    sums = domain_sums(domains, np.minimum(tasks, PLENTY))
    free = domain_sums(domains, state.nodes.gpu_free[state.nodes.slices[pool]])
    best = min(
        (domain for domain, fits in enumerate(sums) if fits >= least),
        key=lambda domain: (
            -min(most, sums[domain]),
            sums[domain],
            free[domain],
            domain,
        ),
        default=None,
    )
    return None if best is None else numbers == best


def domain_sums(domains: Sequence[int], values: Ints) -> list[int]:
    """Return the sum of the values in each domain; nodes in none (-1) are left out."""
    sums = [0] * (max(domains, default=-1) + 1)
    for domain, value in zip(domains, values.tolist(), strict=True):
        if domain >= 0:
            sums[domain] += value
    return sums
