"""How figures are split, in whole devices."""

from hypothesis import given
from hypothesis import strategies as st

from portal.kubernetes.splitting import Borrowing, by_remainder, grant_burst, over_namespaces

names = st.sampled_from(["a", "b", "c", "d", "e"])
figures = st.integers(0, 64)


def test_use_comes_first_and_the_rest_in_equal_parts() -> None:
    assert over_namespaces(10, {"a": 5, "b": 0}) == {"a": 8, "b": 2}
    assert over_namespaces(7, {"a": 0, "b": 0}) == {"a": 4, "b": 3}
    assert over_namespaces(3, {"a": 6, "b": 2}) == {"a": 2, "b": 1}
    assert over_namespaces(0, {"a": 6}) == {"a": 0}


def test_what_waits_comes_after_use_and_before_equal_parts() -> None:
    # A job of the size of the total fits into the namespace it waits in.
    assert over_namespaces(8, {"a": 0, "b": 0}, {"b": 8}) == {"a": 0, "b": 8}
    assert over_namespaces(8, {"a": 2, "b": 0}, {"b": 8}) == {"a": 2, "b": 6}
    assert over_namespaces(8, {"a": 0, "b": 0}, {"b": 2}) == {"a": 3, "b": 5}
    assert over_namespaces(6, {"a": 0, "b": 0}, {"a": 8, "b": 4}) == {"a": 4, "b": 2}


@given(figures, st.dictionaries(names, figures, min_size=1), st.dictionaries(names, figures))
def test_a_split_adds_up_whatever_waits(
    total: int, used: dict[str, int], waiting: dict[str, int]
) -> None:
    parts = over_namespaces(total, used, waiting)
    assert sum(parts.values()) == total
    assert all(part >= 0 for part in parts.values())
    fits = sum(used.values()) + sum(waiting.get(name, 0) for name in used) <= total
    assert not fits or all(parts[name] >= used[name] + waiting.get(name, 0) for name in used)


@given(figures, st.dictionaries(names, figures, min_size=1))
def test_a_split_adds_up_and_gives_nobody_less_than_they_use_while_it_lasts(
    total: int, used: dict[str, int]
) -> None:
    parts = over_namespaces(total, used)
    assert sum(parts.values()) == total
    if sum(used.values()) <= total:
        assert all(parts[name] >= used[name] for name in used)
    else:
        assert all(0 <= parts[name] <= used[name] for name in used)


@given(figures, st.dictionaries(names, figures, min_size=1))
def test_largest_remainder_strays_less_than_one_from_the_exact_part(
    total: int, weights: dict[str, int]
) -> None:
    parts = by_remainder(total, weights)
    whole = sum(weights.values())
    assert sum(parts.values()) == total
    if whole:
        assert all(abs(parts[n] * whole - total * weights[n]) < whole for n in weights)


def test_burst_grows_into_what_is_free_and_shrinks_at_once() -> None:
    grown = grant_burst(16, 4, {"a": Borrowing(0, 0, 8), "b": Borrowing(6, 6, 2)})
    # 16 - 4 guaranteed - 6 that b still uses = 6 free.
    assert grown == {"a": 6, "b": 2}


def test_two_that_want_more_than_is_free_share_it() -> None:
    assert grant_burst(10, 0, {"a": Borrowing(0, 0, 20), "b": Borrowing(0, 0, 10)}) == {
        "a": 7, "b": 3
    }  # fmt: skip


def test_a_team_whose_guarantee_covers_its_wish_leaves_all_to_the_borrower() -> None:
    # One is promised all eight and has none in use; the other has nothing and may borrow eight.
    both = {"owner": Borrowing(0, 0, 8, covered=8), "guest": Borrowing(0, 0, 8)}
    assert grant_burst(8, 0, both) == {"owner": 0, "guest": 8}
    # Also where the owner's burst quota was there first.
    both["owner"] = Borrowing(8, 0, 8, covered=8)
    assert grant_burst(8, 0, both) == {"owner": 0, "guest": 8}
    # Nobody else wants them: the owner may run a job of eight in either class.
    assert grant_burst(8, 0, {"owner": both["owner"]}) == {"owner": 8}


def test_a_job_larger_than_what_the_guarantee_has_left_fits_into_burst() -> None:
    # Promised 8 of 16, four of them in use, fair share 12: a job of eight fits in neither part.
    owner = Borrowing(0, 0, 12 - 4, covered=4)
    assert grant_burst(16, 4, {"owner": owner}) == {"owner": 8}
    assert grant_burst(16, 4, {"owner": owner, "guest": Borrowing(0, 0, 4)}) == {
        "owner": 8, "guest": 4
    }  # fmt: skip


def a_borrowing(hard: int, used: int, wanted: int, covered: int) -> Borrowing:
    """One whose guarantee covers no more than it wants."""
    return Borrowing(hard, used, wanted, min(covered, wanted))


borrowings = st.dictionaries(
    names, st.builds(a_borrowing, figures, figures, figures, figures), min_size=1
)
pools = st.tuples(st.integers(0, 128), st.integers(0, 64))


@given(pools, borrowings)
def test_a_wish_that_the_own_guarantee_covers_takes_nothing_from_anybody(
    pool: tuple[int, int], found: dict[str, Borrowing]
) -> None:
    granted = grant_burst(*pool, found)
    for team in found:
        b = found[team]
        without = {**found, team: Borrowing(min(b.hard, b.beyond), b.used, b.beyond)}
        less = grant_burst(*pool, without)
        for other in found.keys() - {team}:
            # The part of a wish that goes beyond the other's own guarantee is what counts.
            assert min(granted[other], found[other].beyond) == min(less[other], found[other].beyond)


@given(pools, borrowings)
def test_covered_wishes_get_all_that_others_leave(
    pool: tuple[int, int], found: dict[str, Borrowing]
) -> None:
    granted = grant_burst(*pool, found)
    held = sum(max(granted[team], b.used) for team, b in found.items())
    if any(granted[team] < b.wanted for team, b in found.items()):
        assert held + pool[1] >= pool[0]


@given(st.integers(0, 128), st.integers(0, 64), borrowings)
def test_burst_never_grows_beyond_what_is_free(
    capacity: int, guaranteed: int, found: dict[str, Borrowing]
) -> None:
    granted = grant_burst(capacity, guaranteed, found)
    assert all(0 <= granted[team] <= found[team].wanted for team in found)
    grown = sum(max(0, granted[t] - max(b.hard, b.used)) for t, b in found.items())
    held = sum(max(granted[t], b.used) for t, b in found.items())
    if grown:
        assert held + guaranteed <= capacity
