"""A start parted into what it was spent on: placing, volumes, init containers, images."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from portal.workloads.stages import Span, Step, steps

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def at(second: int) -> datetime:
    """So many seconds after noon."""
    return NOON + timedelta(seconds=second)


def a_start(
    placed: int, *, mounted_at: int = -1, initialized_at: int = -1, started_at: int = -1
) -> Span:
    """A pod placed after so many seconds, with what the cluster told of its start."""
    mounted, initialized, started = (
        None if second < 0 else at(second) for second in (mounted_at, initialized_at, started_at)
    )
    return Span(
        created_at=at(0), scheduled_at=at(placed), mounted_at=mounted,
        initialized_at=initialized, started_at=started,
    )  # fmt: skip


def told(found: tuple[Step, ...]) -> list[tuple[str, float | None]]:
    """Each step and its seconds; None is under way."""
    return [
        (step.name, (step.ends_at - step.starts_at).total_seconds() if step.ends_at else None)
        for step in found
    ]


def test_a_start_is_parted_into_what_it_waited_for() -> None:
    pod = a_start(10, mounted_at=14, initialized_at=44, started_at=104)
    assert told(steps(at(10), at(110), [pod])) == [
        ("volume", 4), ("init", 30), ("image", 60), ("ready", 6),
    ]  # fmt: skip


def test_a_gang_passes_a_step_with_its_last_pod() -> None:
    pods = [a_start(10, mounted_at=12, started_at=20), a_start(13, mounted_at=18, started_at=30)]
    assert told(steps(at(10), at(31), pods)) == [
        ("placing", 3), ("volume", 5), ("image", 12), ("ready", 1),
    ]  # fmt: skip


def test_what_nobody_told_of_is_part_of_what_comes_next() -> None:
    assert told(steps(at(10), at(50), [a_start(10)])) == [("ready", 40)]
    assert told(steps(at(10), at(50), [a_start(10, started_at=40)])) == [
        ("image", 30),
        ("ready", 10),
    ]


def test_a_start_under_way_ends_in_the_step_it_waits_in() -> None:
    pods = [a_start(10, mounted_at=12), a_start(10)]
    assert told(steps(at(10), None, pods)) == [("volume", None)]


def test_pods_of_another_start_are_left_out() -> None:
    early, late = a_start(10, mounted_at=11), a_start(500, mounted_at=504)
    assert told(steps(at(10), at(100), [early, late])) == [("volume", 1), ("ready", 89)]


@given(st.lists(st.tuples(*[st.integers(0, 100)] * 4), min_size=1, max_size=4), st.integers(1, 200))
def test_the_steps_of_a_start_fill_it_without_gap(
    times: list[tuple[int, int, int, int]], length: int
) -> None:
    pods = [
        a_start(placed, mounted_at=mounted, initialized_at=done, started_at=begun)
        for placed, mounted, done, begun in times
    ]
    found = steps(at(0), at(length), pods)
    edges = [at(0), *(step.ends_at for step in found)]
    assert [step.starts_at for step in found] == edges[:-1]
    assert edges[-1] == at(length)
