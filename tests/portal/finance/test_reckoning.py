"""A pool's GPU-time, checked against a second way of counting: second by second, by hand."""

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.finance.reckoning import (
    STEADY,
    Hold,
    NodePiece,
    Reckoning,
    UseKey,
    UseRow,
    reckon,
    split,
)
from portal.inventory.calendar import Condition

READY, MAINTENANCE, DOWN = Condition.READY, Condition.MAINTENANCE, Condition.DOWN
LENGTH = 12
VISION, SPEECH = 1, 2


def guaranteed(team: int) -> UseKey:
    return UseKey(team, "guaranteed")


def borrowed(team: int | None) -> UseKey:
    return UseKey(team, "borrowed")


def reserved(team: int, reservation: int | None = None) -> UseKey:
    return UseKey(team, "reserved", reservation)


def one_node(gpus: int = 8, seconds: int = 100) -> list[NodePiece]:
    return [NodePiece(1, gpus * 1000, READY, 0, seconds)]


def test_an_empty_pool_is_idle_for_as_long_as_it_is_known() -> None:
    answer = reckon(starts=0, ends=100, nodes=one_node(seconds=40), use=[], holds=[])
    assert answer == Reckoning(capacity=320_000, idle=320_000)


def test_what_reaches_out_of_the_period_is_cut_off() -> None:
    use = [UseRow(STEADY, guaranteed(VISION), 2000, -50, 10)]
    answer = reckon(starts=0, ends=20, nodes=one_node(), use=use, holds=[])
    assert answer.use == {guaranteed(VISION): 20_000}
    assert answer.idle == 8000 * 20 - 20_000


def test_a_reservation_nobody_uses_is_reserved_unused() -> None:
    holds = [Hold(7, VISION, 4000, 10, 30)]
    answer = reckon(starts=0, ends=100, nodes=one_node(), use=[], holds=holds)
    assert answer.reserved_unused == {7: 4000 * 20}
    assert answer.idle == 800_000 - 80_000


def test_what_the_owner_uses_of_a_reservation_is_not_unused() -> None:
    holds = [Hold(7, VISION, 4000, 0, 100)]
    use = [UseRow(STEADY, reserved(VISION, 7), 3000, 0, 50)]
    answer = reckon(starts=0, ends=100, nodes=one_node(), use=use, holds=holds)
    assert answer.reserved_unused == {7: 1000 * 50 + 4000 * 50}


def test_what_others_borrow_of_a_reservation_is_theirs_and_not_unused() -> None:
    holds = [Hold(7, VISION, 6000, 0, 100)]
    use = [UseRow(STEADY, borrowed(SPEECH), 5000, 0, 100)]
    answer = reckon(starts=0, ends=100, nodes=one_node(), use=use, holds=holds)
    assert answer.reserved_unused == {7: 3000 * 100}
    assert answer.idle == 0


def test_scarce_free_gpus_are_split_by_largest_remainder_and_ties_go_to_the_older() -> None:
    # 1000 milli free; 3000 and 3000 and 3000 unused: 333⅓ each, the spare one to the first begun.
    holds = [Hold(9, SPEECH, 3000, 5, 10), Hold(8, VISION, 3000, 0, 10), Hold(3, 4, 3000, 5, 10)]
    use = [UseRow(STEADY, borrowed(5), 7000, 0, 10)]
    answer = reckon(starts=5, ends=10, nodes=one_node(), use=use, holds=holds)
    assert answer.reserved_unused == {8: 334 * 5, 3: 333 * 5, 9: 333 * 5}


def test_use_that_names_no_reservation_fills_the_oldest_of_the_team() -> None:
    holds = [Hold(7, VISION, 2000, 0, 10), Hold(8, VISION, 2000, 0, 10)]
    use = [UseRow(STEADY, reserved(VISION), 3000, 0, 10)]
    answer = reckon(starts=0, ends=10, nodes=one_node(), use=use, holds=holds)
    assert answer.reserved_unused == {8: 1000 * 10}


def test_more_than_its_reservation_fills_the_teams_next_one_and_nobody_elses() -> None:
    holds = [Hold(7, VISION, 1000, 0, 10), Hold(8, VISION, 2000, 0, 10), Hold(9, 2, 1000, 0, 10)]
    use = [UseRow(STEADY, reserved(VISION, 8), 4000, 0, 10)]
    answer = reckon(starts=0, ends=10, nodes=one_node(), use=use, holds=holds)
    assert answer.reserved_unused == {9: 1000 * 10}


def test_pods_on_a_node_in_maintenance_stay_the_teams() -> None:
    nodes = [NodePiece(1, 8000, READY, 0, 50), NodePiece(1, 8000, MAINTENANCE, 50, 100)]
    use = [UseRow(1, guaranteed(VISION), 2000, 40, 60)]
    answer = reckon(starts=0, ends=100, nodes=nodes, use=use, holds=[])
    assert answer.use == {guaranteed(VISION): 2000 * 20}
    assert answer.maintenance == 8000 * 50 - 2000 * 10
    assert answer.idle == 8000 * 50 - 2000 * 10
    assert answer.beyond == 0


def test_pods_on_a_node_that_is_down_stay_the_teams() -> None:
    nodes = [NodePiece(1, 8000, DOWN, 0, 100), NodePiece(2, 8000, READY, 0, 100)]
    use = [UseRow(1, guaranteed(VISION), 8000, 0, 30)]
    holds = [Hold(7, SPEECH, 12_000, 0, 100)]
    answer = reckon(starts=0, ends=100, nodes=nodes, use=use, holds=holds)
    assert answer.down == 8000 * 70
    assert answer.reserved_unused == {7: 8000 * 100}
    assert answer.accounted == answer.capacity == 1_600_000


def test_use_on_an_unknown_node_or_beyond_a_node_is_named_as_such() -> None:
    use = [
        UseRow(99, guaranteed(VISION), 1000, 0, 10),
        UseRow(STEADY, guaranteed(VISION), 9000, 0, 10),
    ]
    answer = reckon(starts=0, ends=10, nodes=one_node(seconds=10), use=use, holds=[])
    assert answer.beyond == 1000 * 10 + 1000 * 10
    assert answer.accounted == answer.capacity == 80_000


def test_a_correction_takes_back_what_it_negates() -> None:
    use = [
        UseRow(STEADY, guaranteed(VISION), 4000, 0, 300),
        UseRow(STEADY, guaranteed(VISION), -4000, 0, 300),
        UseRow(STEADY, guaranteed(SPEECH), 4000, 0, 200),
    ]
    answer = reckon(starts=0, ends=300, nodes=one_node(seconds=300), use=use, holds=[])
    assert answer.use == {guaranteed(SPEECH): 800_000}
    assert answer.accounted == answer.capacity


def test_a_month_of_ten_thousand_gpus_does_not_overflow() -> None:
    month = 31 * 86_400
    nodes = [NodePiece(n, 8_000, READY, 0, month) for n in range(1, 1251)]
    holds = [Hold(7, VISION, 10_000_000, 0, month)]
    use = [UseRow(STEADY, borrowed(SPEECH), 9_999_999, 0, month)]
    answer = reckon(starts=0, ends=month, nodes=nodes, use=use, holds=holds)
    assert answer.reserved_unused == {7: month}
    assert answer.accounted == answer.capacity == 10_000_000 * month


# A second way of counting, plain and slow: every second on its own, with fractions.


@dataclass
class Slow:
    use: dict[UseKey, int] = field(default_factory=lambda: defaultdict(int))
    unused: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    capacity: int = 0
    idle: int = 0
    maintenance: int = 0
    down: int = 0
    beyond: int = 0


def second_by_second(nodes: list[NodePiece], use: list[UseRow], holds: list[Hold]) -> Slow:
    slow = Slow()
    for second in range(LENGTH):
        _one_second(
            slow,
            [n for n in nodes if n.starts <= second < n.ends],
            [u for u in use if u.starts <= second < u.ends],
            sorted(
                (h for h in holds if h.starts <= second < h.ends),
                key=lambda h: (h.starts, h.reservation_id),
            ),
        )
    return slow


def _one_second(slow: Slow, nodes: list[NodePiece], use: list[UseRow], holds: list[Hold]) -> None:
    condition = {n.node_id: n for n in nodes}
    elsewhere = 0
    for place in {u.place for u in use if u.place != STEADY}:
        if place in condition and condition[place].condition is READY:
            continue
        held = sum(u.milli for u in use if u.place == place)
        elsewhere += held
        slow.beyond += max(0, held - (condition[place].milli if place in condition else 0))
    for node in nodes:
        slow.capacity += node.milli
        left = max(0, node.milli - sum(u.milli for u in use if u.place == node.node_id))
        slow.maintenance += left if node.condition is MAINTENANCE else 0
        slow.down += left if node.condition is DOWN else 0
    for row in use:
        slow.use[row.key] += row.milli
    spare = sum(n.milli for n in nodes if n.condition is READY)
    spare -= sum(u.milli for u in use) - elsewhere
    slow.beyond += max(0, -spare)
    unused = _unused(holds, use)
    shares = _by_largest_remainder(min(max(0, spare), sum(unused)), unused)
    for hold, share in zip(holds, shares, strict=True):
        slow.unused[hold.reservation_id] += share
    slow.idle += max(0, spare) - sum(shares)


def _unused(holds: list[Hold], use: list[UseRow]) -> list[int]:
    left = {h.reservation_id: h.milli for h in holds}
    for team in {h.team_id for h in holds}:
        own = [h for h in holds if h.team_id == team]
        spare = 0
        named: dict[int | None, int] = defaultdict(int)
        for row in use:
            if row.key.team_id == team and row.key.charged_to == "reserved":
                named[row.key.reservation_id] += row.milli
        for reservation, amount in named.items():
            taken = 0
            if reservation in {h.reservation_id for h in own}:
                taken = min(amount, left[reservation or 0])
                left[reservation or 0] -= taken
            spare += amount - taken
        for hold in own:
            taken = min(spare, left[hold.reservation_id])
            left[hold.reservation_id] -= taken
            spare -= taken
    return [left[h.reservation_id] for h in holds]


def _by_largest_remainder(amount: int, weights: list[int]) -> list[int]:
    total = sum(weights)
    if not total:
        return [0 for _ in weights]
    exact = [Fraction(amount * w, total) for w in weights]
    shares = [int(x) for x in exact]
    for _ in range(amount - sum(shares)):
        best = max(range(len(weights)), key=lambda i: exact[i] - shares[i])
        shares[best] += 1
    return shares


instants = st.integers(0, LENGTH)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    first = draw(st.integers(-3, LENGTH - 1))
    return first, draw(st.integers(first + 1, LENGTH + 3))


@st.composite
def a_node(draw: st.DrawFn, node_id: int) -> list[NodePiece]:
    cuts = sorted(draw(st.lists(instants, min_size=2, max_size=4, unique=True)))
    milli = draw(st.sampled_from([0, 1000, 4000, 8000]))
    return [
        NodePiece(node_id, milli, draw(st.sampled_from(list(Condition))), first, last)
        for first, last in pairwise(cuts)
    ]


keys = st.one_of(
    st.builds(UseKey, st.sampled_from([None, 1, 2]), st.sampled_from(["guaranteed", "borrowed"])),
    st.builds(
        UseKey, st.sampled_from([1, 2]), st.just("reserved"), st.sampled_from([None, 1, 2, 3])
    ),
)


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[NodePiece], list[UseRow], list[Hold]]:
    nodes = [NodePiece(5, 8000, READY, 0, LENGTH)]
    nodes += [piece for n in (1, 2) for piece in draw(a_node(n))]
    use = [
        UseRow(draw(st.sampled_from([STEADY, 1, 2, 77])), draw(keys), milli, *draw(spans()))
        for milli in draw(st.lists(st.integers(1, 5000), max_size=6))
    ]
    holds = [
        Hold(i, draw(st.sampled_from([1, 2])), draw(st.integers(1, 9)) * 1000, *draw(spans()))
        for i in range(1, draw(st.integers(0, 3)) + 1)
    ]
    return nodes, use, holds


@given(pools())
def test_everything_adds_up_to_capacity_times_time(
    pool: tuple[list[NodePiece], list[UseRow], list[Hold]],
) -> None:
    nodes, use, holds = pool
    answer = reckon(starts=0, ends=LENGTH, nodes=nodes, use=use, holds=holds)
    assert answer.accounted == answer.capacity
    assert min(answer.idle, answer.maintenance, answer.down, answer.beyond) >= 0


@given(pools())
def test_it_counts_the_same_as_second_by_second(
    pool: tuple[list[NodePiece], list[UseRow], list[Hold]],
) -> None:
    nodes, use, holds = pool
    answer = reckon(starts=0, ends=LENGTH, nodes=nodes, use=use, holds=holds)
    slow = second_by_second(nodes, use, holds)
    assert answer == Reckoning(
        capacity=slow.capacity,
        use={key: amount for key, amount in slow.use.items() if amount},
        reserved_unused={i: amount for i, amount in slow.unused.items() if amount},
        idle=slow.idle,
        maintenance=slow.maintenance,
        down=slow.down,
        beyond=slow.beyond,
    )


@given(pools(), st.integers(1, LENGTH - 1))
def test_two_halves_add_up_to_the_whole(
    pool: tuple[list[NodePiece], list[UseRow], list[Hold]], cut: int
) -> None:
    nodes, use, holds = pool
    whole = reckon(starts=0, ends=LENGTH, nodes=nodes, use=use, holds=holds)
    first = reckon(starts=0, ends=cut, nodes=nodes, use=use, holds=holds)
    second = reckon(starts=cut, ends=LENGTH, nodes=nodes, use=use, holds=holds)
    for part in ("capacity", "owned", "unowned", "idle", "maintenance", "down", "beyond"):
        assert getattr(whole, part) == getattr(first, part) + getattr(second, part)
    for reservation in {*whole.reserved_unused, *first.reserved_unused, *second.reserved_unused}:
        assert whole.reserved_unused.get(reservation, 0) == (
            first.reserved_unused.get(reservation, 0) + second.reserved_unused.get(reservation, 0)
        )


@pytest.mark.parametrize(
    ("amount", "weights", "shares"),
    [
        (10, [1, 1, 1], [4, 3, 3]),
        (10, [5, 3, 2], [5, 3, 2]),
        (1, [1, 2, 2], [0, 1, 0]),
        (7, [0, 0], [0, 0]),
        (0, [3, 4], [0, 0]),
    ],
)
def test_a_split_gives_the_rest_to_the_largest_remainders(
    amount: int, weights: list[int], shares: list[int]
) -> None:
    assert split(amount, weights) == shares


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**12), min_size=1, max_size=8))
def test_a_split_loses_nothing(amount: int, weights: list[int]) -> None:
    assert sum(split(amount, weights)) == (amount if any(weights) else 0)
