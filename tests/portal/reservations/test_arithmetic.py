"""The product's arithmetic at every instant, after anything that may happen.

capacity - maintenance >= guaranteed + reserved from the pool, by sum and by shape, or the excess
is listed as a conflict; limits bind; fences stay inside guarantees; refusals change nothing.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.inventory import selectors as inventory
from portal.inventory.models import Commitment
from portal.quotas.models import Quota
from portal.reservations.models import Reservation, Source
from tests.portal.reservations import world as w

pytestmark = pytest.mark.django_db

Act = tuple[Callable[..., None], dict[str, Any]]
index = st.integers(0, 5)
soon = st.sampled_from([0, 0, 1, 2, 4, 6])
hours = st.sampled_from([2, 4, 8, 12])
PROMISES = (w.edit_quota, w.book, w.prolong)


def act(action: Callable[..., None], **numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Act]:
    return st.tuples(st.just(action), st.fixed_dictionaries(numbers))


editing = act(
    w.edit_quota,
    who=index,
    guaranteed=st.sampled_from([0, 1, 2, 3, 4, 6]),
    limit=st.sampled_from([None, None, 3, 4, 6, 9]),
    after=soon,
)
booking = act(
    w.book,
    who=index,
    blocks=st.integers(1, 3),
    shape=st.sampled_from([None, 1, 2, 2, 3, 4]),
    fenced=st.sampled_from([False, False, True]),
    after=soon,
    hours=hours,
)
prolonging = act(w.prolong, which=index, hours=hours)
promising = st.lists(st.one_of(editing, booking, booking, prolonging), min_size=5, max_size=10)
happening = st.lists(
    st.one_of(
        editing,
        booking,
        act(w.call_off, which=index),
        act(w.hand_back, which=index),
        prolonging,
        act(w.cut_short, which=index, hours=st.integers(1, 6)),
        act(w.lose_or_find, which=index),
        act(w.break_or_mend, which=index),
        act(w.plan_work, which=index, after=soon, hours=hours),
        act(w.drop_work, which=index),
        act(w.wait, hours=st.integers(1, 4)),
    ),
    min_size=4,
    max_size=12,
)


@given(promising, happening)
@settings(max_examples=40)
def test_whatever_happens_promises_are_covered_or_listed_as_conflicts(
    first: list[Act], then: list[Act]
) -> None:
    with w.rolled_back():
        world = w.a_world()
        for action, numbers in [*first, *then]:
            before = w.books()
            done = w.tried(world, action, numbers)
            if done and action in PROMISES:
                _no_instant_got_worse(world, before)
        _every_excess_is_listed(world)
        _limits_hold(world)
        _quotas_never_overlap()
        _promises_are_in_step()


@given(promising, promising)
@settings(max_examples=40)
def test_nothing_that_is_promised_ever_makes_a_conflict(first: list[Act], then: list[Act]) -> None:
    with w.rolled_back():
        world = w.a_world()
        for action, numbers in [*first, *then]:
            w.tried(world, action, numbers)
        assert inventory.list_conflicts(now=world.now) == []
        books = w.books()
        for hour in range(w.END):
            seen = books.figures(w.at(hour))
            assert seen.fits_by_sum
            assert seen.fits_by_shape


def _no_instant_got_worse(world: w.World, before: w.Books) -> None:
    after = w.books()
    for hour in range(world.hour, w.END):
        was, seen = before.figures(w.at(hour)), after.figures(w.at(hour))
        assert seen.fits_by_sum or seen.promised <= was.promised
        assert seen.fits_by_shape or not was.fits_by_shape
        assert seen.fits_by_shape or len(seen.blocks) <= len(was.blocks)


def _every_excess_is_listed(world: w.World) -> None:
    conflicts, books = inventory.list_conflicts(now=world.now), w.books()
    for hour in range(world.hour, w.END):
        instant = w.at(hour)
        # the horizon is days, so within this world a node that is down is missing throughout
        seen = books.figures(instant, without_down=True)
        listed = {c.measure: c for c in conflicts if w.holds(instant, c.from_at, c.to_at)}
        assert ("sum" in listed) is not seen.fits_by_sum, (hour, seen, conflicts)
        assert ("shape" in listed) is not seen.fits_by_shape, (hour, seen, conflicts)
        if "sum" in listed:
            assert listed["sum"].short >= seen.promised - seen.capacity


def _limits_hold(world: w.World) -> None:
    books = w.books()
    for hour in range(world.hour, w.END):
        assert books.limits_hold(world, w.at(hour)), hour


def _quotas_never_overlap() -> None:
    for quota in Quota.objects.all():
        others = Quota.objects.filter(team=quota.team, pool=quota.pool).exclude(pk=quota.pk)
        for other in others.filter(valid_from__gte=quota.valid_from):
            assert quota.valid_to is not None
            assert quota.valid_to <= other.valid_from


def _promises_are_in_step() -> None:
    wanted = {
        ("quota", q.pk, q.guaranteed, None, True, q.valid_from, q.valid_to)
        for q in Quota.objects.filter(guaranteed__gt=0)
    } | {
        ("reservation", r.pk, r.gpus, r.gpus_per_node, r.source == Source.POOL, r.starts_at, r.ends_at)
        for r in Reservation.objects.exclude(state="cancelled")
    }  # fmt: skip
    columns = ("kind", "source_id", "gpus", "gpus_per_node", "adds", "starts_at", "ends_at")
    assert set(Commitment.objects.values_list(*columns)) == wanted
