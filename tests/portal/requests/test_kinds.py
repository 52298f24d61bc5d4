"""Extension, early give-back and SLA change: asked, agreed to, carried out."""

from datetime import datetime, timedelta

import pytest

from portal.common.errors import Conflict, Invalid, Refusal
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.quotas import services as quotas
from portal.requests import answering, approving, selectors, services
from portal.requests.models import Request, RequestState
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, ReservationState
from portal.reservations.rules import Rules
from portal.slas import services as slas
from portal.slas.models import Breach, BreachKind, Sla
from portal.teams import selectors as teams
from portal.teams.models import Role, User
from tests import builders
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_submitted,
    a_tier,
    approve,
    ask,
    asked,
    held,
    quota_asked,
)

S = RequestState
MINUTE = timedelta(minutes=1)


def test_an_extension_is_asked_for_agreed_to_and_moves_the_end(world: World, now: datetime) -> None:
    row = held(world, now)
    asked_for = ask(world, now, "extension", row, ends_at=now + 8 * HOUR)
    assert (asked_for.state, asked_for.gpus, asked_for.starts_at) == (
        S.SUBMITTED, 4, now + 5 * HOUR
    )  # fmt: skip
    holds = selectors.list_soft_holds(pool_id=world.pool.pk, from_at=now, to_at=now + DAY, now=now)
    assert [(h.gpus, h.starts_at, h.ends_at) for h in holds] == [
        (4, now + 5 * HOUR, now + 8 * HOUR)
    ]
    done = approve(world, asked_for, now)
    assert (done.state, done.reservation_id) == (S.APPROVED, row.pk)
    row.refresh_from_db()
    assert row.ends_at == now + 8 * HOUR
    free = inventory.free_gpus(pool_id=world.pool.pk, from_at=now + 5 * HOUR, to_at=now + 8 * HOUR)
    assert free == 16 - 8 - 4


def test_an_extension_that_meets_a_neighbour_is_refused_and_stays_submitted(
    world: World, now: datetime
) -> None:
    row = held(world, now)
    asked_for = ask(world, now, "extension", row, ends_at=now + 8 * HOUR)
    held(world, now, 6, 9, team_id=world.speech.pk, gpus=6)
    with pytest.raises(Conflict) as refused:
        approve(world, asked_for, now)
    assert refused.value.code == "overcommitted"
    asked_for.refresh_from_db()
    row.refresh_from_db()
    assert (asked_for.state, row.ends_at) == (S.SUBMITTED, now + 5 * HOUR)


@pytest.mark.parametrize(
    ("ends", "field"), [(4, "ends_at"), (5, "ends_at"), (200, "ends_at"), (None, "ends_at")]
)
def test_an_extension_that_makes_no_sense_is_said_beside_its_input(
    world: World, now: datetime, ends: int | None, field: str
) -> None:
    reservations.set_rules(
        pool_id=world.pool.pk, figures=Rules(longest_hours=72), actor_id=None, now=now
    )
    row = held(world, now)
    with pytest.raises(Invalid) as wrong:
        ask(world, now, "extension", row, ends_at=None if ends is None else now + ends * HOUR)
    assert field in wrong.value.fields
    assert not Request.objects.exists()


def test_nothing_is_asked_about_another_teams_reservation(world: World, now: datetime) -> None:
    row = held(world, now, team_id=world.speech.pk)
    for kind in ("extension", "give_back"):
        with pytest.raises(Invalid) as wrong:
            ask(world, now, kind, row, ends_at=now + 8 * HOUR)
        assert "reservation" in wrong.value.fields


def test_an_extension_lapses_when_its_reservation_is_over(world: World, now: datetime) -> None:
    row = held(world, now)
    asked_for = ask(world, now, "extension", row, ends_at=now + 8 * HOUR)
    assert asked_for.expires_at == now + 5 * HOUR
    services.expire_due(now=now + 5 * HOUR)
    asked_for.refresh_from_db()
    assert asked_for.state == S.EXPIRED


def test_giving_back_early_needs_nobody(world: World, now: datetime) -> None:
    row = held(world, now, 0, 8)
    done = ask(world, now + HOUR, "give_back", row, ends_at=now + 3 * HOUR)
    assert (done.state, done.decided_by_id, done.approvals_needed) == (S.APPROVED, None, 0)
    row.refresh_from_db()
    assert (row.ends_at, row.planned_ends_at) == (now + 3 * HOUR, now + 8 * HOUR)
    ask(world, now + 2 * HOUR, "give_back", row)
    row.refresh_from_db()
    assert (row.state, row.ends_at) == (ReservationState.RELEASED, now + 2 * HOUR)
    pending = held(world, now, 20, 30)
    ask(world, now, "give_back", pending)
    pending.refresh_from_db()
    assert pending.state == ReservationState.CANCELLED


def test_an_sla_is_asked_for_and_holds_once_agreed(world: World, now: datetime) -> None:
    tier = a_tier()
    row = ask(world, now, "sla", tier_id=tier.pk)
    done = approve(world, row, now + HOUR)
    sla = Sla.objects.get()
    assert (sla.team_id, sla.pool_id, sla.tier_id) == (world.vision.pk, world.pool.pk, tier.pk)
    assert (sla.valid_from, sla.request_id, done.sla_id) == (now + HOUR, row.pk, sla.pk)
    with pytest.raises(Invalid):
        ask(world, now + 2 * HOUR, "sla", tier_id=tier.pk)


def test_within_the_guarantee_nobody_has_to_agree(world: World, now: datetime) -> None:
    row = services.ask(
        asked=asked(world, now, source="guarantee"), actor_id=world.lead.pk, now=now,
        submitting=True,
    )  # fmt: skip
    assert (row.state, row.decided_by_id) == (S.APPROVED, None)
    assert Reservation.objects.get().source == "guarantee"
    actions = list(
        AuditEvent.objects.filter(target_id=row.pk, target_type="request").values_list(
            "action", flat=True
        )
    )
    assert actions == ["requests.drafted", "requests.submitted", "requests.approved"]


def test_more_than_the_guarantee_leaves_has_to_be_decided_by_somebody(
    world: World, now: datetime
) -> None:
    row = services.ask(
        asked=asked(world, now, source="guarantee", gpus=6), actor_id=world.lead.pk, now=now,
        submitting=True,
    )  # fmt: skip
    assert (row.state, row.approvals_needed) == (S.SUBMITTED, 1)
    assert not Reservation.objects.exists()


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        ({"approvals": 2, "min_gpus": 4}, 2),
        ({"approvals": 2, "min_gpus": 5}, 1),
        ({"approvals": 2, "min_hours": 4}, 2),
        ({"approvals": 2, "min_hours": 5}, 1),
        ({"approvals": 2, "min_cost_micro": 1}, 1),
        ({"approvals": 2, "min_gpus": 4, "min_hours": 5}, 1),
        ({"approvals": 0}, 0),
    ],
)
def test_rules_by_size_length_and_cost_say_how_many_have_to_agree(
    world: World, now: datetime, rule: dict[str, int], needs: int
) -> None:
    approving.add_rule(actor_id=None, pool_id=world.pool.pk, **rule)
    assert a_submitted(world, now).approvals_needed == needs


def test_the_strictest_rule_counts_and_another_pools_does_not(world: World, now: datetime) -> None:
    other = builders.a_pool("t4")
    approving.add_rule(actor_id=None, approvals=2, pool_id=other.pk)
    approving.add_rule(actor_id=None, approvals=0)
    rule = approving.add_rule(actor_id=None, approvals=1, min_gpus=4)
    assert a_submitted(world, now).approvals_needed == 1
    approving.drop_rule(rule_id=rule.pk, actor_id=None)
    assert a_submitted(world, now).state == S.APPROVED
    # A quota always needs somebody, whatever a rule says.
    row = services.ask(
        asked=quota_asked(world, now), actor_id=world.lead.pk, now=now, submitting=True
    )
    assert row.approvals_needed == 1
    with pytest.raises(Invalid):
        approving.add_rule(actor_id=None, approvals=3, min_gpus=0)


def test_a_soft_hold_stops_an_approval_nobody_has_to_give(world: World, now: datetime) -> None:
    first = a_submitted(world, now, gpus=6)
    approving.add_rule(actor_id=None, approvals=0)
    second = a_submitted(world, now, gpus=4)
    assert (first.state, second.state, second.approvals_needed) == (S.SUBMITTED, S.SUBMITTED, 1)
    third = a_submitted(world, now, gpus=2, starts_at=now + 3 * DAY, ends_at=now + 4 * DAY)
    assert third.state == S.APPROVED


def test_two_people_have_to_agree_and_nobody_agrees_twice(world: World, now: datetime) -> None:
    approving.add_rule(actor_id=None, approvals=2)
    second = builders.a_user("second", role=Role.ADMIN)
    row = a_submitted(world, now)
    first = approve(world, row, now, granted_gpus=3, note="Three will do")
    assert (first.state, first.version) == (S.SUBMITTED, row.version + 1)
    assert not Reservation.objects.exists()
    with pytest.raises(Refusal) as twice:
        approve(world, row, now)
    assert twice.value.code == "already_agreed"
    with pytest.raises(Invalid, match="no more than that"):
        approve(world, row, now, who=second, granted_gpus=4)
    done = approve(world, row, now, who=second)
    assert (done.state, done.granted_gpus, done.decided_by_id) == (S.APPROVED, 3, second.pk)
    assert Reservation.objects.get().gpus == 3
    told = AuditEvent.objects.filter(target_type="request", target_id=row.pk)
    assert list(told.values_list("action", flat=True))[-2:] == [
        "requests.agreed",
        "requests.approved",
    ]


def test_what_one_has_agreed_to_waits_for_others_only(world: World, now: datetime) -> None:
    approving.add_rule(actor_id=None, approvals=2)
    row = a_submitted(world, now)
    second = builders.a_user("second", role=Role.ADMIN)

    def waiting(who: User) -> int:
        access = teams.get_access(user_id=who.pk, now=now)
        return selectors.count_to_decide(access=access, now=now)

    assert (waiting(world.admin), waiting(second)) == (1, 1)
    approve(world, row, now)
    assert (waiting(world.admin), waiting(second)) == (0, 1)
    services.reject(request_id=row.pk, note="After all no", actor_id=second.pk, now=now)
    assert (waiting(world.admin), waiting(second)) == (0, 0)


def test_a_soft_hold_of_a_quota_counts_against_what_is_guaranteed_then(
    world: World, now: datetime
) -> None:
    """A change already agreed on for next week leaves less to add by one that begins then."""

    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=6, limit=16,
        valid_from=now + 7 * DAY, actor_id=None, now=now,
    )  # fmt: skip
    services.ask(
        asked=quota_asked(world, now, guaranteed=7, starts_at=now + 3 * DAY),
        actor_id=world.lead.pk, now=now, submitting=True,
    )  # fmt: skip
    holds = selectors.list_soft_holds(
        pool_id=world.pool.pk, from_at=now, to_at=now + 30 * DAY, now=now
    )
    assert [(h.gpus, h.starts_at) for h in holds] == [(3, now + 3 * DAY), (1, now + 7 * DAY)]


def test_a_request_nobody_answers_in_time_is_a_breach(world: World, now: datetime) -> None:
    tier = a_tier(answer_seconds=4 * 3600)
    sla = slas.set_sla(
        team_id=world.vision.pk, pool_id=None, tier_id=tier.pk, valid_from=now, actor_id=None,
        now=now,
    )  # fmt: skip
    assert sla is not None
    early, late, never = (a_submitted(world, now + MINUTE, gpus=1) for _ in range(3))
    approve(world, early, now + 4 * HOUR)
    assert answering.note_late(now=now + 4 * HOUR) == 0
    assert answering.note_late(now=now + 5 * HOUR) == 2
    approve(world, late, now + 6 * HOUR)
    answering.note_late(now=now + 7 * HOUR)
    rows = {b.request_id: b for b in Breach.objects.all()}
    assert {pk: b.ended_at for pk, b in rows.items()} == {late.pk: now + 6 * HOUR, never.pk: None}
    assert {b.kind for b in rows.values()} == {BreachKind.ANSWER}
    kept = answering.list_kept(from_at=now, now=now + 7 * HOUR)[sla.pk]
    assert (kept.met, kept.missed, kept.still_late) == (1, 2, 1)
