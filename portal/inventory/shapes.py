"""Whether blocks of GPUs find nodes: pure arithmetic, no database.

Nodes and blocks are counted by size: `{8: 3, 4: 1}` is three of eight GPUs and one of four. A
block lies on one node whole.

What `packs` guarantees: it never says yes to blocks that do not all fit. Where each block size
divides the next larger one (1, 2, 4, 8: nearly always) its no is exact too. For other sizes (3
beside 2, say) it searches; only when the search is cut short, after `SEARCH_STEPS`, may it say no
to blocks that a cleverer packing would have placed. It speaks of one instant: it does not promise
that a block keeps its node while its neighbours come and go.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

Sizes = tuple[tuple[int, int], ...]
"""(size, how many), largest first, each size once."""

SEARCH_STEPS = 20_000


def packs(blocks: Mapping[int, int], nodes: Mapping[int, int]) -> bool:
    """Tell whether all blocks fit on the nodes at once."""
    return _packs(_sizes(blocks), _sizes(nodes))


def unplaced(blocks: Mapping[int, int], nodes: Mapping[int, int]) -> int:
    """GPUs of the blocks that find no node when the largest go first."""
    return sum(_left_over(_sizes(blocks), _sizes(nodes)))


def room_for(size: int, blocks: Mapping[int, int], nodes: Mapping[int, int], most: int) -> int:
    """How many more blocks of this size fit beside the others, counted up to `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if packs({**blocks, size: blocks.get(size, 0) + middle}, nodes):
            low = middle
        else:
            high = middle - 1
    return low


def _sizes(counts: Mapping[int, int]) -> Sizes:
    return tuple(sorted(((s, n) for s, n in counts.items() if s > 0 and n > 0), reverse=True))


@lru_cache(maxsize=4096)
def _packs(blocks: Sizes, nodes: Sizes) -> bool:
    if not blocks:
        return True
    if not _within_bounds(blocks, nodes):
        return False
    if all(larger % smaller == 0 for (larger, _), (smaller, _) in pairwise(blocks)):
        return True  # the bounds are exact: what a block leaves on its node is the same anywhere
    return not _left_over(blocks, nodes) or _search(blocks, nodes)


def _within_bounds(blocks: Sizes, nodes: Sizes) -> bool:
    """No packing exists unless this holds.

    For every size: the blocks of at least that size, each counted in whole multiples of it, are
    no more than the nodes hold of it.
    """
    for size, _ in blocks:
        held = sum(count * (gpus // size) for gpus, count in nodes)
        wanted = sum(count * (gpus // size) for gpus, count in blocks if gpus >= size)
        if wanted > held:
            return False
    volume = sum(size * count for size, count in blocks)
    return volume <= sum(gpus * count for gpus, count in nodes)


def _left_over(blocks: Sizes, nodes: Sizes) -> list[int]:
    """Blocks that find no place, largest first, each on the fullest node that takes it."""
    free = dict(nodes)
    left: list[int] = []
    for size, count in blocks:
        for done in range(count):
            best = min((gpus for gpus, n in free.items() if n and gpus >= size), default=None)
            if best is None:
                left += [size] * (count - done)
                break
            free[best] -= 1
            free[best - size] = free.get(best - size, 0) + 1
    return left


def _search(blocks: Sizes, nodes: Sizes) -> bool:
    """Fill node after node in every useful way, remembering what led nowhere."""
    sizes = [size for size, _ in blocks]
    bins = [gpus for gpus, count in sorted(nodes) for _ in range(count) if gpus >= sizes[-1]]
    failed: set[tuple[int, tuple[int, ...]]] = set()
    stack: list[tuple[int, tuple[int, ...]]] = [(0, tuple(count for _, count in blocks))]
    steps = 0
    while stack and steps < SEARCH_STEPS:
        steps += 1
        position, left = stack.pop()
        if not any(left):
            return True
        if position == len(bins) or (position, left) in failed:
            continue
        failed.add((position, left))
        for taken in _fillings(bins[position], sizes, left):
            rest = tuple(n - t for n, t in zip(left, taken, strict=True))
            stack.append((position + 1, rest))
    return False


def _fillings(gpus: int, sizes: list[int], left: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every way to fill one node so that no further block would fit; the fullest comes last."""
    ways: list[tuple[int, tuple[int, ...]]] = [(gpus, ())]
    for size, count in zip(sizes, left, strict=True):
        ways = [
            (free - size * taken, (*taken_so_far, taken))
            for free, taken_so_far in ways
            for taken in range(min(count, free // size) + 1)
        ]
    full = [
        (free, way)
        for free, way in ways
        if all(n == t or s > free for s, n, t in zip(sizes, left, way, strict=True))
    ]
    return [way for _, way in sorted(full, key=lambda item: -item[0])]
