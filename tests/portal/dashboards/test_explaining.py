"""Sentences about borrowing: the numbers in one sentence add up, and no sentence denies another."""

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from portal.dashboards import explaining
from portal.dashboards.explaining import Neighbour
from portal.dashboards.selectors.common import Held
from portal.inventory.models import Pool
from portal.requests import selectors as requests
from portal.requests.models import Request
from portal.scheduling.models import Share
from portal.teams.selectors import get_access
from tests import builders
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World


def teams(*lent: int) -> list[Neighbour]:
    letters = "ABCDEFGH"
    return [Neighbour(letters[i], gpus * 1000, 1, 9) for i, gpus in enumerate(lent)]


def numbers(sentence: str) -> list[int]:
    return [int(found) for found in re.findall(r"\d+", re.sub(r"<[^>]*>", "", sentence))]


@given(st.integers(0, 9), st.lists(st.integers(1, 9), min_size=2, max_size=6), st.integers(0, 9))
def test_what_is_borrowed_is_the_sum_of_what_is_named(
    own: int, lent: Sequence[int], unpromised: int
) -> None:
    held = Held(guaranteed=own * 1000, borrowed=(sum(lent) + unpromised) * 1000)
    with translation.override("en"):
        said = explaining.use(held, own, teams(*lent))
    _own, borrowed, *parts = numbers(said)
    assert borrowed == sum(lent) + unpromised
    assert sum(parts) == borrowed


def test_a_lender_of_a_part_is_not_said_to_lend_all_of_it() -> None:
    held, lenders = Held(guaranteed=4000, borrowed=8000), teams(2)
    with translation.override("en"):
        mine = explaining.use(held, 4, lenders)
        theirs = explaining.in_short(held, lenders, [])
        nothing_own = explaining.in_short(Held(borrowed=8000), lenders, [])
    assert mine == (
        "You run 4 of your own and <b>borrow 8</b>: A 2, and 6 that are guaranteed to nobody."
    )
    assert theirs == (
        "Uses 4 of its own and <b>borrows 8</b>: A 2, and 6 promised to nobody."
    )  # fmt: skip
    assert nothing_own == "<b>Borrows 8</b>: A 2, and 6 promised to nobody."


def test_more_lenders_than_are_named_are_counted() -> None:
    with translation.override("en"):
        said = explaining.in_short(Held(1000, 0, 10_000), teams(4, 3, 2, 1), [])
    assert said == "Uses 1 of its own and <b>borrows 10 from A, B, C and 1 other team</b>."


def test_what_is_lent_is_not_called_free_at_once() -> None:
    with translation.override("en"):
        idle = explaining.use(Held(), 8, [], lent=4000)
        busy = explaining.use(Held(guaranteed=2000), 8, [], lent=4000)
        lent_out = explaining.use(Held(guaranteed=4000), 8, [], lent=4000)
    assert idle == "Nothing runs now. 8 GPUs are guaranteed to you."
    assert busy == "You run 2, all of them your own; 2 more are yours at once."
    assert lent_out == "You run 4, all of them your own."


@pytest.mark.django_db
def test_home_says_what_is_borrowed_of_nobody(world: World) -> None:
    Share.objects.filter(team=world.speech).update(lent=1000)
    said = text(get(world, "member", "/"))
    assert "You run 14 of your own and borrow 4: Speech 1, and 3 that are guaranteed" in said


@pytest.mark.django_db
def test_home_names_no_more_lent_than_is_borrowed_by_now(world: World) -> None:
    Share.objects.filter(team=world.vision).update(borrowed=6000)
    Share.objects.filter(team=world.speech).update(lent=3000)
    search = builders.a_team("search")
    share = Share.objects.get(team=world.speech)
    Share.objects.create(
        tick=world.tick, team=search, pool=Pool.objects.get(), guaranteed=3000, reserved=0,
        fair_share=3000, allocated=0, borrowed=0, lent=3000, available=0,
        dominant_share=share.dominant_share, satisfaction=1.0, guaranteed_gpus=3, burst_gpus=0,
    )  # fmt: skip
    said = text(get(world, "member", "/"))
    assert "borrow 4 of what others leave unused: Speech 3, Search 1." in said


@pytest.mark.django_db
def test_the_badge_home_and_the_inbox_count_the_same_requests(world: World) -> None:
    def asked(by: str, submitted_by: str, lapses: timedelta | None) -> Request:
        return Request.objects.create(
            kind="reservation", team=world.vision, pool=world.pool, state="submitted", gpus=8,
            requested_by=world.people[by], submitted_by=world.people[submitted_by],
            starts_at=world.now + timedelta(days=1), ends_at=world.now + timedelta(days=2),
            created_at=world.now, submitted_at=world.now,
            expires_at=None if lapses is None else world.now + lapses,
        )  # fmt: skip

    open_ones = {asked("lead", "lead", timedelta(days=1)).pk, asked("lead", "lead", None).pk}
    asked("lead", "lead", timedelta())  # lapsed, though nobody has written so yet
    asked("lead", "admin", timedelta(days=1))  # drafted by a lead, submitted by this admin
    asked("admin", "admin", timedelta(days=1))
    access = get_access(user_id=world.people["admin"].pk, now=world.now)
    assert requests.count_to_decide(access=access, now=world.now) == len(open_ones)
    home = get(world, "admin", "/").content.decode()
    inbox = home[home.index('id="inbox"') : home.index('id="mine"')]
    assert {int(pk) for pk in re.findall(r"/requests/(\d+)/", inbox)} == open_ones
    assert f'<span aria-hidden="true">{len(open_ones)}</span>' in home
    listed = get(world, "admin", "/requests/?tab=waiting").content.decode()
    main = listed[listed.index("<main") :]
    assert {int(pk) for pk in re.findall(r"/requests/(\d+)/", main)} == open_ones
