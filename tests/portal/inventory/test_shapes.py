"""Blocks on nodes, against packing by brute force."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.inventory import shapes

few_nodes = st.lists(st.integers(1, 8), max_size=4)
any_blocks = st.lists(st.integers(1, 8), max_size=6)
chained_blocks = st.lists(st.sampled_from([1, 2, 4, 8]), max_size=7)


def packs_by_force(blocks: list[int], nodes: list[int]) -> bool:
    """Try every node for every block."""
    for choice in product(range(len(nodes)), repeat=len(blocks)):
        free = list(nodes)
        for block, place in zip(blocks, choice, strict=True):
            free[place] -= block
        if min(free, default=0) >= 0:
            return True
    return not blocks


@given(any_blocks, few_nodes)
def test_blocks_pack_exactly_when_some_placing_of_them_fits(
    blocks: list[int], nodes: list[int]
) -> None:
    assert shapes.packs(Counter(blocks), Counter(nodes)) is packs_by_force(blocks, nodes)


@given(chained_blocks, few_nodes)
def test_powers_of_two_pack_exactly_without_a_search(blocks: list[int], nodes: list[int]) -> None:
    assert shapes.packs(Counter(blocks), Counter(nodes)) is packs_by_force(blocks, nodes)


@given(any_blocks, few_nodes)
def test_blocks_that_pack_leave_none_unplaced_when_sizes_are_powers_of_two(
    blocks: list[int], nodes: list[int]
) -> None:
    kept = [b for b in blocks if b in (1, 2, 4, 8)]
    fits = packs_by_force(kept, nodes)
    assert (shapes.unplaced(Counter(kept), Counter(nodes)) == 0) is fits


@given(st.integers(1, 4), any_blocks, few_nodes)
def test_the_room_for_a_block_is_the_most_that_packs_beside_the_others(
    size: int, blocks: list[int], nodes: list[int]
) -> None:
    room = shapes.room_for(size, Counter(blocks), Counter(nodes), most=3)
    if packs_by_force(blocks, nodes):
        assert packs_by_force([*blocks, *[size] * room], nodes)
    if room < 3:
        assert not packs_by_force([*blocks, *[size] * (room + 1)], nodes)


@pytest.mark.parametrize(
    ("blocks", "nodes", "fits"),
    [
        ({8: 3}, {8: 3}, True),
        ({8: 4}, {8: 3, 4: 2}, False),
        ({4: 1}, {3: 4}, False),
        ({6: 1, 2: 1}, {8: 1}, True),
        ({6: 2, 4: 1}, {8: 2}, False),
        ({5: 2, 3: 2}, {8: 2}, True),
        ({3: 4, 2: 2}, {8: 2}, True),
        ({3: 4, 2: 3}, {8: 2}, False),
        ({}, {}, True),
        ({1: 1}, {}, False),
    ],
)
def test_hand_packed_examples(blocks: dict[int, int], nodes: dict[int, int], fits: bool) -> None:
    assert shapes.packs(blocks, nodes) is fits


def test_a_thousand_nodes_and_odd_sizes_are_answered_without_overcommitting() -> None:
    nodes = {8: 1000}
    assert shapes.packs({5: 1000, 3: 1000}, nodes)
    assert not shapes.packs({5: 1001}, nodes)
