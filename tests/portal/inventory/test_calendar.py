"""Sums over time, against counting instant by instant."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from portal.inventory import calendar
from portal.inventory.calendar import Condition, Hold, Measure, Period, Piece, Span

ZERO = datetime(2026, 11, 2, tzinfo=UTC)
HOURS = 12
WINDOW = Period(ZERO, ZERO + timedelta(hours=HOURS))


def at(hour: int) -> datetime:
    return ZERO + timedelta(hours=hour)


@st.composite
def periods(draw: st.DrawFn) -> tuple[datetime, datetime]:
    first = draw(st.integers(-3, HOURS + 1))
    return at(first), at(first + draw(st.integers(1, 8)))


spans = st.builds(lambda p, g: Span(p[0], p[1], g), periods(), st.integers(0, 8))
holds = st.builds(
    lambda p, blocks, size, adds: Hold(p[0], p[1], blocks * (size or 1), size, adds),
    periods(),
    st.integers(1, 3),
    st.sampled_from([None, None, 1, 2, 4]),
    st.booleans(),
)


def count(items: list[Span], instant: datetime) -> int:
    return sum(i.gpus for i in items if i.from_at <= instant < i.to_at)


@given(st.lists(spans, max_size=8))
def test_steps_fill_the_window_and_count_every_instant(items: list[Span]) -> None:
    found = calendar.steps(items, WINDOW)
    assert found[0].from_at == WINDOW.from_at
    assert found[-1].to_at == WINDOW.to_at
    assert all(a.to_at == b.from_at and a.gpus != b.gpus for a, b in itertools.pairwise(found))
    for hour in range(HOURS):
        assert count(list(found), at(hour)) == count(items, at(hour))


@given(st.lists(spans, max_size=5), st.lists(spans, max_size=5))
def test_a_difference_is_the_difference_at_every_instant(many: list[Span], few: list[Span]) -> None:
    left, right = calendar.steps(many, WINDOW), calendar.steps(few, WINDOW)
    found = calendar.less(left, right)
    for hour in range(HOURS):
        assert count(list(found), at(hour)) == count(many, at(hour)) - count(few, at(hour))


@given(st.lists(spans, max_size=5), st.lists(spans, max_size=5))
def test_sums_side_by_side_keep_each_value(many: list[Span], few: list[Span]) -> None:
    both = calendar.aligned(calendar.steps(many, WINDOW), calendar.steps(few, WINDOW))
    for hour in range(HOURS):
        values = next(v for p, v in both if p.from_at <= at(hour) < p.to_at)
        assert values == (count(many, at(hour)), count(few, at(hour)))


@given(st.lists(periods(), max_size=4), st.lists(periods(), max_size=4))
def test_the_pieces_of_a_node_add_up_to_its_known_time(
    away: list[tuple[datetime, datetime]], down: list[tuple[datetime, datetime]]
) -> None:
    found = calendar.pieces(WINDOW, [Period(*p) for p in away], [Period(*p) for p in down])
    assert found[0].from_at == WINDOW.from_at
    assert found[-1].to_at == WINDOW.to_at
    assert all(a.to_at == b.from_at for a, b in itertools.pairwise(found))
    for hour in range(HOURS):
        piece = next(p for p in found if p.from_at <= at(hour) < p.to_at)
        planned = any(a <= at(hour) < b for a, b in away)
        broken = any(a <= at(hour) < b for a, b in down)
        assert piece.condition == (
            Condition.MAINTENANCE if planned else Condition.DOWN if broken else Condition.READY
        )


def test_planned_work_comes_before_being_down() -> None:
    found = calendar.pieces(WINDOW, [Period(at(2), at(5))], [Period(at(4), at(20))])
    assert found == [
        Piece(at(0), at(2), Condition.READY),
        Piece(at(2), at(5), Condition.MAINTENANCE),
        Piece(at(5), at(12), Condition.DOWN),
    ]


def sum_is_worse(
    nodes: list[Span], kept: list[Hold], old: list[Hold], new: list[Hold], instant: datetime
) -> bool:
    here = [
        sum(h.gpus for h in items if h.adds and h.from_at <= instant < h.to_at)
        for items in (kept, old, new)
    ]
    return here[0] + here[2] > count(nodes, instant) and here[2] > here[1]


@given(
    st.lists(spans, max_size=4),
    st.lists(holds, max_size=4),
    st.lists(holds, max_size=2),
    st.lists(holds, max_size=2),
)
def test_a_change_is_short_by_sum_exactly_where_it_makes_an_instant_worse(
    nodes: list[Span], kept: list[Hold], old: list[Hold], new: list[Hold]
) -> None:
    def plain(items: list[Hold]) -> list[Hold]:
        return [Hold(h.from_at, h.to_at, h.gpus, None, h.adds) for h in items]

    kept, old, new = plain(kept), plain(old), plain(new)
    found = calendar.first_shortfall(nodes, kept, old=old, new=new, window=WINDOW)
    bad = [h for h in range(HOURS) if sum_is_worse(nodes, kept, old, new, at(h))]
    assert (found.at if found else None) == (at(bad[0]) if bad else None)


def test_a_change_that_takes_no_more_than_before_is_never_refused_however_short_the_pool() -> None:
    kept = [Hold(at(0), at(12), 20)]
    old, less = Hold(at(0), at(12), 8, 4), Hold(at(0), at(12), 6, 2)
    assert calendar.first_shortfall([], kept, old=[old], new=[less], window=WINDOW) is None
    longer = Hold(at(0), at(13), 8, 4)
    wide = Period(at(0), at(13))
    found = calendar.first_shortfall([], kept, old=[old], new=[longer], window=wide)
    assert found is not None
    assert found.at == at(12)


def test_a_shortfall_by_sum_names_the_first_instant_and_its_numbers() -> None:
    nodes = [Span(at(0), at(12), 8), Span(at(0), at(6), 8)]
    kept = [Hold(at(0), at(12), 5), Hold(at(8), at(9), 2)]
    new = [Hold(at(1), at(10), 4)]
    found = calendar.first_shortfall(nodes, kept, old=(), new=new, window=WINDOW)
    assert found is not None
    assert (found.measure, found.at, found.until) == (Measure.SUM, at(6), at(8))
    assert (found.capacity, found.committed, found.asked, found.free) == (8, 5, 4, 3)


def test_a_shape_is_short_though_the_sum_would_fit() -> None:
    nodes = [Span(at(0), at(12), 8), Span(at(0), at(12), 8)]
    kept = [Hold(at(0), at(6), 6, 6), Hold(at(0), at(6), 6, 6)]
    found = calendar.first_shortfall(
        nodes, kept, old=(), new=[Hold(at(0), at(12), 4, 4)], window=WINDOW
    )
    assert found is not None
    assert (found.measure, found.at, found.until) == (Measure.SHAPE, at(0), at(6))
    assert (found.capacity, found.committed, found.asked, found.free) == (16, 12, 4, 0)
    assert found.per_node == 4


def test_what_is_fenced_inside_a_guarantee_needs_nodes_but_adds_nothing() -> None:
    nodes = [Span(at(0), at(12), 8)]
    guarantee = Hold(at(0), at(12), 8)
    fence = Hold(at(0), at(12), 8, 8, adds=False)
    another = Hold(at(0), at(12), 4, 4, adds=False)
    assert calendar.first_shortfall(nodes, [guarantee], old=(), new=[fence], window=WINDOW) is None
    found = calendar.first_shortfall(
        nodes, [guarantee, fence], old=(), new=[another], window=WINDOW
    )
    assert found is not None
    assert found.measure is Measure.SHAPE


@given(st.lists(spans, max_size=4), st.lists(holds, max_size=5))
def test_every_instant_that_is_overcommitted_lies_in_an_excess_and_no_other_does(
    nodes: list[Span], promised: list[Hold]
) -> None:
    found = [e for e in calendar.excesses(nodes, promised, WINDOW) if e.measure is Measure.SUM]
    for hour in range(HOURS):
        asked = sum(h.gpus for h in promised if h.adds and h.from_at <= at(hour) < h.to_at)
        over = asked - count(nodes, at(hour))
        inside = [e for e in found if e.from_at <= at(hour) < e.to_at]
        assert len(inside) == (1 if over > 0 else 0)
        assert over <= 0 or inside[0].short >= over


def test_thousands_of_promises_are_swept_in_one_pass() -> None:
    minutes = 5000
    promised = [
        Hold(ZERO + timedelta(minutes=m), ZERO + timedelta(minutes=m + 90), 1, 1)
        for m in range(minutes)
    ]
    window = Period(ZERO, ZERO + timedelta(minutes=minutes + 90))
    nodes = [Span(window.from_at, window.to_at, 8) for _ in range(11)]
    found = calendar.excesses(nodes, promised, window)
    assert {e.measure: (e.capacity, e.committed, e.short) for e in found} == {
        Measure.SUM: (88, 90, 2),
        Measure.SHAPE: (88, 90, 2),
    }
