"""Random people at once, round after round: never more is held than exists, no line is missing.

A round is a day: three people, two deeds each, all at the same time. Five hundred of them are a
drill; the suite plays a few.
"""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random

from portal.common.errors import Refusal
from portal.inventory.models import Commitment
from portal.quotas import selectors as quota_rows
from portal.quotas import services as quotas
from portal.quotas.services import Wanted
from portal.requests import services as requests
from portal.requests.models import Request, RequestState
from portal.requests.services import Asked
from portal.reservations import services as reservations
from portal.reservations.models import HOLDING, Reservation
from tests.portal.requests.world import World, a_world
from tests.races.crowd import Crowd
from tests.races.sound import assert_sound

ROUNDS = int(os.environ.get("INTERLEAVINGS", "12"))
PEOPLE, DEEDS = 3, 2
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
CAPACITY = 16


class Deeds:
    """What somebody may do on a day; whom it meets is drawn."""

    def __init__(self, world: World, draw: Random, now: datetime) -> None:
        self.world, self.draw, self.now = world, draw, now

    def chosen(self) -> list[Callable[[], object]]:
        kinds = [
            self.ask, self.ask_within, self.approve, self.approve, self.cancel, self.book,
            self.extend, self.shorten, self.give_back, self.set_figures, self.undo,
        ]  # fmt: skip
        return [self.draw.choice(kinds) for _ in range(DEEDS)]

    def ask(self) -> object:
        return self._ask(source="pool", gpus=self.draw.randint(1, 9))

    def ask_within(self) -> object:
        return self._ask(source="guarantee", gpus=self.draw.randint(1, 4))

    def _ask(self, **given: object) -> object:
        begins = self.now + self.draw.randint(0, 20) * HOUR
        asked = Asked(
            kind="reservation", team_id=self.world.vision.pk, pool_id=self.world.pool.pk,
            reason="Runs", starts_at=begins, ends_at=begins + self.draw.randint(1, 30) * HOUR,
            zone="UTC", **given,  # type: ignore[arg-type]
        )  # fmt: skip
        return requests.ask(asked=asked, actor_id=self.world.lead.pk, now=self.now, submitting=True)

    def approve(self) -> object:
        row = self._request()
        return row and requests.approve(
            request_id=row.pk, actor_id=self.world.admin.pk, now=self.now
        )

    def cancel(self) -> object:
        row = self._request()
        return row and requests.cancel(request_id=row.pk, actor_id=self.world.lead.pk, now=self.now)

    def book(self) -> object:
        begins = self.now + self.draw.randint(0, 20) * HOUR
        return reservations.hold(
            team_id=self.world.speech.pk, pool_id=self.world.pool.pk,
            gpus=self.draw.randint(1, 8), starts_at=begins,
            ends_at=begins + self.draw.randint(1, 30) * HOUR, zone="UTC", actor_id=None,
            now=self.now,
        )  # fmt: skip

    def extend(self) -> object:
        row = self._held()
        return row and reservations.extend(
            reservation_id=row.pk, ends_at=row.ends_at + self.draw.randint(1, 12) * HOUR,
            actor_id=None, now=self.now,
        )  # fmt: skip

    def shorten(self) -> object:
        row = self._held()
        return row and reservations.shorten(
            reservation_id=row.pk, ends_at=row.ends_at - HOUR, actor_id=None, now=self.now
        )

    def give_back(self) -> object:
        row = self._held()
        act = self.draw.choice([reservations.give_back, reservations.cancel])
        return row and act(reservation_id=row.pk, actor_id=None, now=self.now)

    def set_figures(self) -> object:
        teams = (self.world.vision.pk, self.world.speech.pk)
        wanted = [Wanted(team_id=pk, guaranteed=self.draw.randint(0, 9)) for pk in teams]
        return quotas.change_all(
            pool_id=self.world.pool.pk, wanted=wanted, valid_from=self.now,
            actor_id=self.world.admin.pk, now=self.now,
        )  # fmt: skip

    def undo(self) -> object:
        newest = quota_rows.newest_ids(pool_id=self.world.pool.pk)
        return quotas.undo(
            quota_id=newest[self.world.vision.pk], actor_id=self.world.admin.pk, now=self.now
        )

    def _request(self) -> Request | None:
        waiting = Request.objects.filter(state=RequestState.SUBMITTED).order_by("-id")
        return next(iter(waiting[:3]), None)

    def _held(self) -> Reservation | None:
        return Reservation.objects.filter(state__in=HOLDING).order_by("-id").first()


def _living(deeds: list[Callable[[], object]]) -> Callable[[], object]:
    def live() -> None:
        for deed in deeds:
            try:
                deed()
            except Refusal:
                continue

    return live


def test_random_interleavings_never_hold_more_than_exists(
    committed_database: str, now: datetime
) -> None:
    world = a_world(now)
    for number in range(ROUNDS):
        today = now + number * DAY
        draw = Random(number)
        people = [Deeds(world, Random(draw.random()), today) for _ in range(PEOPLE)]
        Crowd(number).at_once(*(partial(_living(one.chosen())) for one in people))
        reservations.open_and_close_due(now=today)
        _nothing_is_held_twice(today, number)
    assert_sound(now + ROUNDS * DAY)


def _nothing_is_held_twice(now: datetime, number: int) -> None:
    """At every instant at which something begins, from now on."""
    rows = [
        row
        for row in Commitment.objects.filter(adds=True)
        if row.ends_at is None or row.ends_at > now
    ]
    for row in rows:
        at = max(now, row.starts_at)
        held = sum(
            other.gpus
            for other in rows
            if other.starts_at <= at and (other.ends_at is None or other.ends_at > at)
        )
        assert held <= CAPACITY, f"round {number}: {held} held at {at}"
