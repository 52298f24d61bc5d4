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


borrowings = st.dictionaries(
    names, st.builds(Borrowing, hard=figures, used=figures, wanted=figures), min_size=1
)


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
