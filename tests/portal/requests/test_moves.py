"""Every move of the table, and every move that is not in it."""

from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import IntegrityError, transaction

from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.common.models import AuditEvent
from portal.inventory.models import Commitment
from portal.quotas import services as quotas
from portal.quotas.models import Quota
from portal.requests import services
from portal.requests.models import MOVES, Request, RequestState
from portal.reservations.models import Reservation
from tests import builders
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_draft,
    a_submitted,
    a_submitted_quota,
    asked,
    quota_asked,
)

S = RequestState
Act = Callable[[World, Request, datetime], object]

ACTS: dict[RequestState, Act] = {
    S.SUBMITTED: lambda w, r, now: services.submit(request_id=r.pk, actor_id=w.lead.pk, now=now),
    S.APPROVED: lambda w, r, now: services.approve(request_id=r.pk, actor_id=w.admin.pk, now=now),
    S.REJECTED: lambda w, r, now: services.reject(
        request_id=r.pk, note="No room", actor_id=w.admin.pk, now=now
    ),
    S.CANCELLED: lambda w, r, now: services.cancel(request_id=r.pk, actor_id=w.lead.pk, now=now),
    S.EXPIRED: lambda w, r, now: services.expire_due(now=now + 30 * DAY),
}
DONE_BY_HAND = [s for s in S if s is not S.EXPIRED and s is not S.DRAFT]


def _in_state(world: World, state: RequestState, now: datetime) -> Request:
    if state is S.DRAFT:
        return a_draft(world, now)
    row = a_submitted(world, now)
    if state is not S.SUBMITTED:
        ACTS[state](world, row, now)
    row.refresh_from_db()
    assert row.state == state
    return row


ALLOWED = [(a, b) for a, onward in MOVES.items() for b in sorted(onward)]
REFUSED = [(a, b) for a in S for b in DONE_BY_HAND if b not in MOVES[a]]


@pytest.mark.parametrize(("was", "to"), ALLOWED)
def test_a_move_of_the_table_is_made_once_and_leaves_its_line(
    world: World, now: datetime, was: RequestState, to: RequestState
) -> None:
    row = _in_state(world, was, now)
    lines = AuditEvent.objects.filter(target_type="request", target_id=row.pk).count()
    ACTS[to](world, row, now)
    moved = Request.objects.get(pk=row.pk)
    assert moved.state == to
    assert moved.version == row.version + 1
    events = AuditEvent.objects.filter(target_type="request", target_id=row.pk)
    assert events.count() == lines + 1
    assert events.last().action == f"requests.{to.value}"  # type: ignore[union-attr]


@pytest.mark.parametrize(("was", "to"), REFUSED)
def test_a_move_outside_the_table_says_what_happened_and_changes_nothing(
    world: World, now: datetime, was: RequestState, to: RequestState
) -> None:
    row = _in_state(world, was, now)
    before = Request.objects.filter(pk=row.pk).values().get()
    lines = AuditEvent.objects.count()
    with pytest.raises(Conflict) as refused:
        ACTS[to](world, row, now)
    assert Request.objects.filter(pk=row.pk).values().get() == before
    assert AuditEvent.objects.count() == lines
    assert refused.value.details["state"] == was.value
    assert str(refused.value.message)


def test_the_loser_of_a_race_reads_who_was_faster_and_when(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    services.cancel(request_id=row.pk, actor_id=world.lead.pk, now=now)
    with pytest.raises(Conflict, match=r"lead cancelled it on 2 Nov 2026 00:00 UTC"):
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    assert not Reservation.objects.exists()


def test_approve_first_then_cancel_leaves_the_reservation_alone(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    with pytest.raises(Conflict, match="admin approved it"):
        services.cancel(request_id=row.pk, actor_id=world.lead.pk, now=now)
    assert Reservation.objects.get().request_id == row.pk


def test_an_approval_holds_what_was_asked_and_each_row_names_the_other(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now, gpus=8, gpus_per_node=4)
    done = services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now, note="Fine")
    held = Reservation.objects.get(request_id=row.pk)
    assert (held.team_id, held.pool_id, held.gpus) == (world.vision.pk, world.pool.pk, 8)
    assert (held.gpus_per_node, held.source, held.zone) == (4, "pool", "Asia/Seoul")
    assert (held.starts_at, held.ends_at) == (now + DAY, now + DAY + 4 * HOUR)
    assert (held.pk, held.purpose) == (done.reservation_id, "Retrain the detector")
    assert (done.granted_gpus, done.decided_by_id, done.decided_at) == (8, world.admin.pk, now)


def test_a_part_may_be_granted(world: World, now: datetime) -> None:
    row = a_submitted(world, now, gpus=8)
    done = services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now, granted_gpus=6)
    assert done.granted_gpus == 6
    assert done.gpus == 8
    assert Reservation.objects.get().gpus == 6


@pytest.mark.parametrize(("granted", "shape"), [(0, None), (9, None), (6, 4)])
def test_a_part_is_at_most_what_was_asked_and_keeps_the_shape(
    world: World, now: datetime, granted: int, shape: int | None
) -> None:
    row = a_submitted(world, now, gpus=8, gpus_per_node=shape)
    with pytest.raises(Invalid) as refused:
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now, granted_gpus=granted)
    assert "granted_gpus" in refused.value.fields
    assert Request.objects.get(pk=row.pk).state == S.SUBMITTED


def test_an_approved_quota_change_holds_from_then_on(world: World, now: datetime) -> None:
    row = a_submitted_quota(world, now)
    done = services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now + HOUR)
    quota = Quota.objects.get(request_id=row.pk)
    assert (quota.guaranteed, quota.limit, quota.valid_from) == (6, 16, now + HOUR)
    assert quota.pk == done.quota_id
    assert Commitment.objects.get(source_id=quota.pk, kind="quota").gpus == 6


def test_a_guarantee_may_be_granted_in_part_but_not_below_what_they_have(
    world: World, now: datetime
) -> None:
    row = a_submitted_quota(world, now, guaranteed=8)
    with pytest.raises(Invalid, match="from 4 to 8"):
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now + HOUR, granted_gpus=3)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now + HOUR, granted_gpus=5)
    assert Quota.objects.get(request_id=row.pk).guaranteed == 5


def test_a_part_of_a_later_guarantee_is_measured_against_what_they_have_by_then(
    world: World, now: datetime
) -> None:
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=1, limit=16,
        valid_from=now + DAY, actor_id=None, now=now,
    )  # fmt: skip
    row = a_submitted_quota(world, now, guaranteed=3, starts_at=now + 2 * DAY)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now + HOUR, granted_gpus=2)
    assert Quota.objects.get(request_id=row.pk).guaranteed == 2


def test_a_quota_the_reservations_break_stays_submitted(world: World, now: datetime) -> None:
    row = a_submitted(world, now, gpus=8)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    lower = a_submitted_quota(world, now, guaranteed=4, limit=8)
    with pytest.raises(Conflict) as refused:
        services.approve(request_id=lower.pk, actor_id=world.admin.pk, now=now + HOUR)
    assert refused.value.code == "above_limit"
    assert Request.objects.get(pk=lower.pk).state == S.SUBMITTED


def test_capacity_gone_since_submission_is_refused_with_numbers_and_stays_submitted(
    world: World, now: datetime
) -> None:
    first = a_submitted(world, now, gpus=6)
    second = a_submitted(world, now, gpus=4)
    services.approve(request_id=first.pk, actor_id=world.admin.pk, now=now)
    lines = AuditEvent.objects.count()
    with pytest.raises(Conflict) as refused:
        services.approve(request_id=second.pk, actor_id=world.admin.pk, now=now)
    # Sixteen GPUs, eight guaranteed, six held: two are free.
    assert refused.value.code == "overcommitted"
    assert refused.value.details["free"] == 2
    assert refused.value.details["asked"] == 4
    still = Request.objects.get(pk=second.pk)
    assert (still.state, still.decided_by_id, still.granted_gpus) == (S.SUBMITTED, None, None)
    assert AuditEvent.objects.count() == lines
    granted = services.approve(
        request_id=second.pk, actor_id=world.admin.pk, now=now, granted_gpus=2
    )
    assert granted.state == S.APPROVED


def test_of_two_approvals_of_the_last_gpus_exactly_one_wins(world: World, now: datetime) -> None:
    first, second = (a_submitted(world, now, gpus=8) for _ in range(2))
    services.approve(request_id=second.pk, actor_id=world.admin.pk, now=now)
    with pytest.raises(Conflict) as refused:
        services.approve(request_id=first.pk, actor_id=world.admin.pk, now=now)
    assert refused.value.code in ("overcommitted", "above_limit")
    assert Reservation.objects.get().request_id == second.pk


def test_nobody_decides_what_they_asked_for(world: World, now: datetime) -> None:
    row = services.save_draft(asked=asked(world, now), actor_id=world.admin.pk, now=now)
    services.submit(request_id=row.pk, actor_id=world.admin.pk, now=now)
    for act in (S.APPROVED, S.REJECTED):
        with pytest.raises(Refusal) as refused:
            ACTS[act](world, row, now)
        assert refused.value.code == "own_request"
    services.approve(request_id=row.pk, actor_id=world.branch_admin.pk, now=now)


def test_nobody_decides_what_they_submitted_for_another(world: World, now: datetime) -> None:
    row = a_draft(world, now)
    services.submit(request_id=row.pk, actor_id=world.admin.pk, now=now)
    with pytest.raises(Refusal) as refused:
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    assert refused.value.code == "own_request"


@pytest.mark.parametrize("column", ["requested_by_id", "submitted_by_id"])
def test_the_database_refuses_a_decision_on_ones_own(
    world: World, now: datetime, column: str
) -> None:
    row = a_submitted(world, now)
    Request.objects.filter(pk=row.pk).update(**{column: world.admin.pk})
    with pytest.raises(IntegrityError), transaction.atomic():
        Request.objects.filter(pk=row.pk).update(decided_by_id=world.admin.pk)


def test_the_database_refuses_to_grant_more_than_was_asked(world: World, now: datetime) -> None:
    row = a_submitted(world, now, gpus=4)
    with pytest.raises(IntegrityError), transaction.atomic():
        Request.objects.filter(pk=row.pk).update(granted_gpus=5)


def test_a_rejection_needs_a_reason(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    with pytest.raises(Invalid) as refused:
        services.reject(request_id=row.pk, note="  ", actor_id=world.admin.pk, now=now)
    assert "note" in refused.value.fields


def test_who_decides_holds_admin_in_a_branch_that_covers_the_team(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    speech_admin = builders.a_user("speech-admin", role="admin", team=world.speech)  # type: ignore[arg-type]
    for person in (world.lead, world.member, world.finance, world.other_lead, speech_admin):
        with pytest.raises(Missing):
            services.approve(request_id=row.pk, actor_id=person.pk, now=now)
        with pytest.raises(Missing):
            services.reject(request_id=row.pk, note="No", actor_id=person.pk, now=now)
    services.approve(request_id=row.pk, actor_id=world.branch_admin.pk, now=now)


def test_who_asks_holds_lead_or_admin_in_the_team(world: World, now: datetime) -> None:
    for person in (world.member, world.other_lead, world.finance):
        with pytest.raises(Missing):
            services.save_draft(asked=asked(world, now), actor_id=person.pk, now=now)
    row = a_draft(world, now)
    for person in (world.member, world.other_lead, world.finance):
        with pytest.raises(Missing):
            services.submit(request_id=row.pk, actor_id=person.pk, now=now)
        with pytest.raises(Missing):
            services.cancel(request_id=row.pk, actor_id=person.pk, now=now)


def test_a_draft_of_ones_own_team_cannot_be_moved_over_anothers(
    world: World, now: datetime
) -> None:
    row = services.save_draft(
        asked=asked(world, now, team_id=world.speech.pk), actor_id=world.other_lead.pk, now=now
    )
    with pytest.raises(Missing):
        services.save_draft(
            asked=asked(world, now), actor_id=world.lead.pk, now=now, request_id=row.pk
        )
    with pytest.raises(Missing):
        services.save_draft(
            asked=asked(world, now), actor_id=world.other_lead.pk, now=now, request_id=row.pk
        )


def test_only_a_draft_can_be_edited_and_its_edit_is_checked_like_a_new_one(
    world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    with pytest.raises(Invalid):
        services.save_draft(
            asked=asked(world, now, gpus=0), actor_id=world.lead.pk, now=now, request_id=row.pk
        )
    changed = services.save_draft(
        asked=asked(world, now, gpus=8), actor_id=world.lead.pk, now=now, request_id=row.pk
    )
    assert (changed.pk, changed.gpus, changed.version) == (row.pk, 8, 2)
    with pytest.raises(Invalid, match="cannot be changed"):
        services.save_draft(
            asked=quota_asked(world, now), actor_id=world.lead.pk, now=now, request_id=row.pk
        )
    services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    with pytest.raises(Conflict):
        services.save_draft(
            asked=asked(world, now, gpus=2), actor_id=world.lead.pk, now=now, request_id=row.pk
        )


def test_an_edit_from_an_older_version_is_refused(world: World, now: datetime) -> None:
    row = a_draft(world, now)
    services.comment(request_id=row.pk, text="Eight?", actor_id=world.member.pk, now=now)
    with pytest.raises(Conflict) as refused:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now, version=1)
    assert refused.value.code == "changed_meanwhile"
    assert refused.value.details["version"] == 2
    services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now, version=2)


def test_a_comment_is_open_to_whoever_may_see_the_request(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    for person in (world.member, world.lead, world.admin, world.finance):
        services.comment(request_id=row.pk, text="Yes", actor_id=person.pk, now=now)
    with pytest.raises(Missing):
        services.comment(request_id=row.pk, text="Yes", actor_id=world.other_lead.pk, now=now)
    with pytest.raises(Invalid):
        services.comment(request_id=row.pk, text=" ", actor_id=world.lead.pk, now=now)
    assert AuditEvent.objects.filter(action="requests.commented").count() == 4


def test_an_unknown_request_is_missing(world: World, now: datetime) -> None:
    with pytest.raises(Missing):
        services.submit(request_id=987654, actor_id=world.lead.pk, now=now)


def test_ask_saves_and_submits_both_or_neither(world: World, now: datetime) -> None:
    with pytest.raises(Invalid) as refused:
        services.ask(
            asked=asked(world, now, reason=""), actor_id=world.lead.pk, now=now, submitting=True
        )
    assert set(refused.value.fields) == {"reason"}
    assert not Request.objects.exists()
    row = services.ask(asked=asked(world, now), actor_id=world.lead.pk, now=now, submitting=True)
    assert row.state == S.SUBMITTED


def test_kubestellar_6962_nobody_asks_for_more_than_the_pool_has(
    world: World, now: datetime
) -> None:
    for row in (
        a_draft(world, now, gpus=17),
        services.save_draft(
            asked=quota_asked(world, now, guaranteed=17, limit=None), actor_id=world.lead.pk,
            now=now,
        ),
    ):  # fmt: skip
        with pytest.raises(Invalid, match="16 GPUs in all"):
            services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)


def test_kubestellar_5423_a_draft_moved_to_another_pool_is_held_there(
    world: World, now: datetime
) -> None:
    small = builders.a_pool("t4", nodes=1, gpus=2)
    row = a_draft(world, now, gpus=4)
    services.save_draft(
        asked=asked(world, now, pool_id=small.pk), actor_id=world.lead.pk, now=now,
        request_id=row.pk,
    )  # fmt: skip
    with pytest.raises(Invalid, match="2 GPUs in all"):
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    services.save_draft(
        asked=asked(world, now, pool_id=small.pk, gpus=2), actor_id=world.lead.pk, now=now,
        request_id=row.pk,
    )  # fmt: skip
    services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    assert Reservation.objects.get().pool_id == small.pk


def test_a_quota_change_that_changes_nothing_is_not_submitted(world: World, now: datetime) -> None:
    row = services.save_draft(
        asked=quota_asked(world, now, guaranteed=4), actor_id=world.lead.pk, now=now
    )
    with pytest.raises(Invalid, match="has these figures already"):
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
