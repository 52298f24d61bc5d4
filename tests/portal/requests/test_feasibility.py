"""Whether an asking fits, against sums counted hour by hour, and what is said about it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.finance.models import Rate, RateCard
from portal.inventory import services as inventory
from portal.inventory.calendar import Span
from portal.quotas import services as quotas
from portal.requests import feasibility, services, slots
from portal.requests.answers import Answer, Rule, WayKind
from portal.reservations import services as reservations
from portal.reservations.models import Source
from portal.scheduling.models import Share, Tick, TickState
from tests import builders
from tests.portal.requests.world import DAY, HOUR, World, a_submitted, a_submitted_quota, a_world


def _check(world: World, now: datetime, **changed: object) -> Answer:
    values: dict[str, object] = {
        "team_id": world.vision.pk, "pool_id": world.pool.pk, "gpus": 4, "gpus_per_node": None,
        "source": "pool", "starts_at": now + DAY, "ends_at": now + DAY + 4 * HOUR, "now": now,
    }  # fmt: skip
    return feasibility.check(**{**values, **changed})  # type: ignore[arg-type]


def _held(
    world: World, now: datetime, gpus: int, start: int, end: int, team: str = "speech",
    shape: int | None = None,
) -> int:  # fmt: skip
    """Hours after tomorrow's beginning."""
    row = reservations.hold(
        team_id=getattr(world, team).pk, pool_id=world.pool.pk, gpus=gpus, gpus_per_node=shape,
        starts_at=now + DAY + start * HOUR, ends_at=now + DAY + end * HOUR, zone="UTC",
        actor_id=None, now=now,
    )  # fmt: skip
    return row.pk


def test_what_fits_says_so_and_what_is_left_of_the_limit(world: World, now: datetime) -> None:
    answer = _check(world, now)
    assert answer.fits
    # Guaranteed 4, asked 4, limit 16; of 16 GPUs 8 are guaranteed.
    assert (answer.effect.rule, answer.effect.figure) == (Rule.LIMIT, 16)
    assert (answer.effect.held, answer.effect.left) == (8, 8)
    assert answer.free == 8
    assert answer.ways == ()


def test_a_shortage_names_its_first_instant_what_is_free_and_who_holds_it(
    world: World, now: datetime
) -> None:
    number = _held(world, now, gpus=6, start=2, end=3)
    answer = _check(world, now)
    assert not answer.fits
    assert answer.short
    assert answer.short.at == now + DAY + 2 * HOUR
    assert (answer.short.free, answer.short.capacity, answer.short.asked) == (2, 16, 4)
    told = {(h.team_id, h.kind, h.gpus, h.source_id) for h in answer.short.holders}
    assert (world.speech.pk, "reservation", 6, number) in told
    assert {(t, k, g) for t, k, g, _ in told if k == "quota"} == {
        (world.vision.pk, "quota", 4),
        (world.speech.pk, "quota", 4),
    }


def test_the_alternatives_are_fewer_later_and_another_pool(world: World, now: datetime) -> None:
    _held(world, now, gpus=6, start=2, end=3)
    other = builders.a_pool("a100", nodes=1)
    small = builders.a_pool("t4", nodes=1, gpus=2)
    ways = {(way.kind, way.pool_id): way for way in _check(world, now).ways}
    assert set(ways) == {
        (WayKind.FEWER, world.pool.pk), (WayKind.LATER, world.pool.pk), (WayKind.POOL, other.pk),
    }  # fmt: skip
    assert ways[WayKind.FEWER, world.pool.pk].gpus == 2
    later = ways[WayKind.LATER, world.pool.pk]
    assert (later.starts_at, later.ends_at) == (now + DAY + 3 * HOUR, now + DAY + 7 * HOUR)
    assert small.pk not in {way.pool_id for way in ways.values()}


def test_a_shape_is_checked_on_nodes_and_not_in_sums(world: World, now: datetime) -> None:
    _held(world, now, gpus=8, start=0, end=4, shape=4)
    for team in (world.vision, world.speech):
        quotas.change(
            team_id=team.pk, pool_id=world.pool.pk, guaranteed=0, limit=None, valid_from=now,
            actor_id=None, now=now,
        )  # fmt: skip
    # Two blocks of four leave one node whole, or four on each: one block of eight surely fits.
    assert _check(world, now, gpus=8, gpus_per_node=8).fits
    answer = _check(world, now, gpus=8, gpus_per_node=8, ends_at=now + DAY + 2 * HOUR)
    assert answer.fits
    sixteen = _check(world, now, gpus=16, gpus_per_node=8)
    assert not sixteen.fits
    assert sixteen.short
    assert {way.kind: way.gpus for way in sixteen.ways}[WayKind.FEWER] == 8


def test_the_limit_binds_and_says_what_is_left(world: World, now: datetime) -> None:
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=4, limit=6, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    answer = _check(world, now)
    assert not answer.fits
    assert answer.short is None
    assert answer.bound
    assert (answer.bound.rule, answer.bound.figure) == (Rule.LIMIT, 6)
    assert (answer.bound.held, answer.bound.left, answer.bound.asked) == (4, 2, 4)
    assert {way.kind: way.gpus for way in answer.ways} == {WayKind.FEWER: 2}


def test_the_limit_of_the_branch_above_binds_too(now: datetime, db: None) -> None:
    world = a_world(now)
    above = builders.a_team("research")
    child = builders.a_team("vision-lab", parent=above)
    quotas.change(
        team_id=above.pk, pool_id=world.pool.pk, guaranteed=0, limit=3, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    answer = _check(world, now, team_id=child.pk)
    assert answer.bound
    assert (answer.bound.team_id, answer.bound.left) == (above.pk, 3)


def test_out_of_the_own_guarantee_only_what_is_not_set_aside_can_be_taken(
    world: World, now: datetime
) -> None:
    assert _check(world, now, source="guarantee").fits
    answer = _check(world, now, source="guarantee", gpus=5)
    assert answer.bound
    assert (answer.bound.rule, answer.bound.figure) == (Rule.GUARANTEE, 4)
    _held(world, now, gpus=8, start=0, end=4)
    full = _check(world, now, source="guarantee")
    assert full.fits, "it adds nothing to what is promised"
    assert (full.effect.held, full.effect.left) == (4, 0)


def test_others_who_asked_for_the_same_time_are_counted(world: World, now: datetime) -> None:
    mine = a_submitted(world, now, gpus=3)
    a_submitted(world, now, gpus=5)
    a_submitted_quota(world, now, guaranteed=6)
    answer = _check(world, now)
    assert answer.fits
    assert answer.waiting
    # 8 free, 4 asked here, 3 + 5 + 2 asked by the others.
    assert (answer.waiting.count, answer.waiting.gpus, answer.waiting.left) == (3, 10, -6)
    again = _check(world, now, without=mine.pk)
    assert again.waiting
    assert again.waiting.left == -3


def test_the_price_comes_from_the_rate_card(world: World, now: datetime) -> None:
    assert _check(world, now).price is None
    card = RateCard.objects.create(
        name="2026", currency="KRW", valid_from=now - DAY, created_at=now
    )
    Rate.objects.create(card=card, pool=world.pool, gpu_hour_micro=3_000_000_000)
    price = _check(world, now).price
    assert price
    # 4 GPUs x 4 hours x 3,000 won.
    assert (price.micro, price.currency) == (48_000_000_000, "KRW")
    row = a_submitted(world, now)
    assert (row.cost_micro, row.currency) == (48_000_000_000, "KRW")


def test_who_would_give_back_borrowed_gpus_is_named(world: World, now: datetime) -> None:
    tick = Tick.objects.create(
        cluster=world.pool.cluster, at=now, state=TickState.DONE, started_real_at=now
    )
    for team, allocated, borrowed in ((world.vision, 2, 0), (world.speech, 12, 8)):
        Share.objects.create(
            tick=tick, team=team, pool=world.pool, guaranteed=4000, reserved=0, fair_share=8000,
            allocated=allocated * 1000, borrowed=borrowed * 1000, lent=0, available=0,
            dominant_share=0.5, satisfaction=1.0, guaranteed_gpus=4, burst_gpus=0,
        )  # fmt: skip
    # 16 ready, 14 used: two are idle, so two of Speech's eight borrowed come back.
    answer = _check(world, now)
    assert [(d.team_id, d.gpus) for d in answer.displaced] == [(world.speech.pk, 2)]
    assert _check(world, now, gpus=2).displaced == ()


def test_maintenance_and_a_node_gone_count_from_when_they_begin(
    world: World, now: datetime
) -> None:
    node = world.pool.nodes.first()
    assert node
    inventory.plan_maintenance(
        node_id=node.pk, starts_at=now + DAY + HOUR, ends_at=now + DAY + 2 * HOUR,
        reason="", actor_id=None, now=now,
    )  # fmt: skip
    answer = _check(world, now, gpus=1)
    assert answer.short
    assert (answer.short.at, answer.short.capacity) == (now + DAY + HOUR, 8)


def test_a_quota_change_says_what_it_takes_and_what_stays(world: World, now: datetime) -> None:
    figures = {"guaranteed": 6, "limit": 16}
    answer = feasibility.check_quota(
        team_id=world.vision.pk, pool_id=world.pool.pk, figures=figures, from_at=None, now=now
    )
    assert answer.fits
    assert (answer.before["guaranteed"], answer.before["limit"]) == (4, 16)
    assert answer.unpromised == 6


@pytest.mark.parametrize(
    ("guaranteed", "limit", "code"),
    [(13, 16, "overcommitted"), (6, 10, "above_limit"), (3, 16, "guarantee_fenced")],
)
def test_a_quota_change_is_refused_where_the_change_itself_would_be(
    world: World, now: datetime, guaranteed: int, limit: int, code: str
) -> None:
    _held(world, now, gpus=6, start=0, end=4, team="vision")
    reservations.hold(
        team_id=world.vision.pk, pool_id=world.pool.pk, gpus=4, source=Source.GUARANTEE,
        starts_at=now + DAY, ends_at=now + 2 * DAY, zone="UTC", actor_id=None, now=now,
    )  # fmt: skip
    answer = feasibility.check_quota(
        team_id=world.vision.pk, pool_id=world.pool.pk,
        figures={"guaranteed": guaranteed, "limit": limit}, from_at=now + HOUR, now=now,
    )  # fmt: skip
    assert not answer.fits
    if code == "overcommitted":
        assert answer.short
        assert answer.short.at == now + HOUR
    else:
        assert answer.bound
        assert answer.bound.rule == (Rule.LIMIT if code == "above_limit" else Rule.GUARANTEE)
    row = a_submitted_quota(world, now, guaranteed=guaranteed, limit=limit, starts_at=now + HOUR)
    with pytest.raises(Exception) as refused:  # noqa: PT011 - the code is looked at below
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    assert refused.value.code == code  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Book:
    gpus: int
    start: int
    length: int


books = st.lists(
    st.builds(Book, gpus=st.integers(1, 8), start=st.integers(0, 30), length=st.integers(1, 12)),
    max_size=8,
)


@settings(max_examples=25)
@given(books=books, ask=st.builds(Book, st.integers(1, 16), st.integers(0, 20), st.integers(1, 8)))
@pytest.mark.django_db
def test_the_answer_is_what_counting_hour_by_hour_gives(
    now: datetime, books: list[Book], ask: Book
) -> None:
    before = transaction.savepoint()
    try:
        _compare(a_world(now), now, books, ask)
    finally:
        transaction.savepoint_rollback(before)


def _compare(world: World, now: datetime, books: list[Book], ask: Book) -> None:
    free = [8] * 80
    for book in books:
        hours = range(book.start, book.start + book.length)
        if min(free[h] for h in hours) >= book.gpus:
            _held(world, now, book.gpus, book.start, book.start + book.length)
            for h in hours:
                free[h] -= book.gpus
    # Vision may hold 16 in all and is guaranteed 4, so 12 more at most.
    room = [min(f, 12) for f in free]
    begins = now + DAY + ask.start * HOUR
    answer = _check(world, now, gpus=ask.gpus, starts_at=begins, ends_at=begins + ask.length * HOUR)
    window = room[ask.start : ask.start + ask.length]
    assert answer.fits == (min(window) >= ask.gpus)
    if answer.fits:
        return
    short = next(h for h in range(ask.start, 80) if room[h] < ask.gpus)
    at = now + DAY + short * HOUR
    assert at == min(x.at for x in (answer.short, answer.bound) if x)
    ways = {way.kind: way for way in answer.ways}
    if min(window) > 0:
        assert ways[WayKind.FEWER].gpus == min(window)
    else:
        assert WayKind.FEWER not in ways
    later = next(
        (h for h in range(ask.start + 1, 60) if min(room[h : h + ask.length]) >= ask.gpus),
        None,
    )
    if later is None:
        assert WayKind.LATER not in ways
    else:
        assert ways[WayKind.LATER].starts_at == now + DAY + later * HOUR


steps = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(values=steps, least=st.integers(1, 6), length=st.integers(1, 6))
def test_a_gap_is_found_where_counting_finds_it(
    now: datetime, values: list[int], least: int, length: int
) -> None:
    over = [Span(now + i * HOUR, now + (i + 1) * HOUR, value) for i, value in enumerate(values)]
    found = slots.beginnings(over, least, timedelta(hours=length))
    counted = [
        now + i * HOUR
        for i in range(len(values))
        if i + length <= len(values) and min(values[i : i + length]) >= least
    ]
    assert found == counted
