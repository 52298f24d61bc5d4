"""What users of other systems reported against them, as they would meet it here.

Each name ends with the system and the number of the report.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from portal.common.errors import Conflict, Invalid
from portal.inventory import selectors as inventory
from portal.quotas import selectors as quota_rows
from portal.quotas import services as quotas
from portal.requests import approving, feasibility, matrix, selectors, services
from portal.requests.models import Comment, Request, RequestState
from portal.requests.services import Asked
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, ReservationState
from portal.reservations.rules import Rules
from portal.scheduling import no_shows
from portal.teams import selectors as teams
from portal.teams.models import Role
from tests import builders
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_draft,
    a_submitted,
    a_submitted_quota,
    asked,
)

S = RequestState
pytestmark = pytest.mark.usefixtures("at_now")


def _body(world: World, now: datetime, **changed: Any) -> dict[str, Any]:
    values = {
        "kind": "reservation", "team": world.vision.pk, "pool": world.pool.pk, "gpus": 4,
        "starts_at": (now + DAY).isoformat(), "ends_at": (now + DAY + HOUR).isoformat(),
        "reason": "Runs",
    }  # fmt: skip
    return {**values, **changed}


def _approve(world: World, row: Request, now: datetime, **given: Any) -> Request:
    return services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now, **given)


def _held(world: World, now: datetime, hours: int = 4, **given: Any) -> Reservation:
    return reservations.hold(
        **{
            "team_id": world.vision.pk, "pool_id": world.pool.pk, "gpus": 4, "starts_at": now,
            "ends_at": now + hours * HOUR, "zone": "UTC", "actor_id": None, "now": now, **given,
        }
    )  # fmt: skip


def test_a_program_cannot_say_how_much_a_pool_has_kubestellar_5421(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.lead)
    for trick in ({"capacity": 999}, {"granted_gpus": 999}, {"state": "approved"}):
        answer = client.post(
            reverse("api-request-list"), _body(world, now, **trick),
            content_type="application/json",
        )  # fmt: skip
        assert answer.status_code == 422
    assert not Request.objects.exists()


def test_a_draft_moved_to_a_smaller_pool_is_checked_there_kubestellar_5423(
    world: World, now: datetime
) -> None:
    small = builders.a_pool("t4", nodes=1, gpus=2)
    row = a_draft(world, now)
    moved = services.save_draft(
        asked=asked(world, now, pool_id=small.pk), actor_id=world.lead.pk, now=now,
        request_id=row.pk,
    )  # fmt: skip
    with pytest.raises(Invalid, match="2 GPUs in all"):
        services.submit(request_id=moved.pk, actor_id=world.lead.pk, now=now)


def test_an_edited_draft_is_checked_as_strictly_as_a_new_one_kubestellar_5457(
    client: Client, world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    client.force_login(world.lead)
    for wrong in ({"gpus": 0}, {"ends_at": now.isoformat()}, {"gpus": 4, "gpus_per_node": 3}):
        body = _body(world, now, **wrong)
        made = client.post(reverse("api-request-list"), body, content_type="application/json")
        edited = client.put(
            reverse("api-request-detail", args=[row.pk]), body, content_type="application/json"
        )
        assert (made.status_code, edited.status_code) == (422, 422)
        assert made.json()["fields"] == edited.json()["fields"]


def test_the_edit_rule_is_the_create_rule_tensorhive_202(world: World, now: datetime) -> None:
    """A longer end is bound by the pool's longest length as a new reservation is."""
    reservations.set_rules(
        pool_id=world.pool.pk, figures=Rules(longest_hours=6), actor_id=None, now=now
    )
    with pytest.raises(Conflict, match="at most 6 hours"):
        _held(world, now, hours=7)
    row = _held(world, now, hours=6)
    with pytest.raises(Conflict, match="at most 6 hours"):
        reservations.extend(reservation_id=row.pk, ends_at=now + 7 * HOUR, actor_id=None, now=now)


def test_without_nodes_there_is_nothing_to_ask_for_kubestellar_6962(
    world: World, now: datetime
) -> None:
    empty = builders.a_pool("t4")
    row = a_draft(world, now, pool_id=empty.pk, gpus=1)
    with pytest.raises(Invalid, match="0 GPUs in all"):
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)


def test_what_is_approved_opens_and_ends_by_the_clock_kubestellar_13324(
    world: World, now: datetime
) -> None:
    """Rows do not stay pending for ever because nobody provisions them."""
    row = _approve(world, a_submitted(world, now), now)
    held = Reservation.objects.get(request_id=row.pk)
    states = []
    for at in (now + DAY, held.ends_at):
        reservations.open_and_close_due(now=at)
        held.refresh_from_db()
        states.append(held.state)
    assert states == [ReservationState.ACTIVE, ReservationState.COMPLETED]


def test_every_page_counts_the_same_kubestellar_12605(world: World, now: datetime) -> None:
    """Matrix, pool and calendar never contradict each other."""
    _held(world, now)
    sums = matrix.sums_of(pool_id=world.pool.pk, from_at=now)
    pool = inventory.get_pool(pool_id=world.pool.pk, now=now)
    free = inventory.free_gpus(pool_id=world.pool.pk, from_at=now, to_at=now + HOUR)
    assert (sums.guaranteed + sums.reserved, sums.left) == (pool.committed, pool.free)
    assert free == pool.free == 16 - 8 - 4


def test_three_pages_give_one_total_ucloud_3815(
    client: Client, world: World, now: datetime
) -> None:
    _held(world, now)
    client.force_login(world.admin)
    pool = client.get(reverse("api-pool-detail", args=[world.pool.pk])).json()
    calendar = client.get(reverse("api-pool-calendar", args=[world.pool.pk])).json()
    quotas_now = client.get(reverse("api-quota-list")).json()["results"]
    blocks = sum(b["gpus"] for b in calendar["blocks"] if b["adds"])
    assert pool["committed"] == calendar["committed"][0]["gpus"] == blocks
    assert sum(q["guaranteed"] for q in quotas_now) == pool["committed"] - 4


def test_room_in_another_pool_is_offered_ucloud_3248(world: World, now: datetime) -> None:
    """A team full in one pool is not locked out of the other."""
    other = builders.a_pool("t4", nodes=1)
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=4, limit=4, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    answer = feasibility.check(
        team_id=world.vision.pk, pool_id=world.pool.pk, gpus=4, gpus_per_node=None, source="pool",
        starts_at=now + HOUR, ends_at=now + 2 * HOUR, now=now,
    )  # fmt: skip
    assert not answer.fits
    assert [way.pool for way in answer.ways if way.pool_id == other.pk] == ["t4"]


def test_figures_that_have_ended_count_in_no_sum_ucloud_5418(world: World, now: datetime) -> None:
    quotas.change(
        team_id=world.speech.pk, pool_id=world.pool.pk, guaranteed=0, limit=None,
        valid_from=now + DAY, actor_id=None, now=now,
    )  # fmt: skip
    sums = matrix.sums_of(pool_id=world.pool.pk, from_at=now + DAY)
    assert (sums.guaranteed, sums.left) == (4, 12)


def test_a_changed_quota_counts_for_the_next_asking_at_once_ucloud_4537(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now, gpus=12)
    with pytest.raises(Conflict):
        _approve(world, row, now)
    quotas.change(
        team_id=world.speech.pk, pool_id=world.pool.pk, guaranteed=0, limit=None, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    assert _approve(world, row, now).state == S.APPROVED


def test_an_unused_booking_blocks_nobody_for_long_labshare_92(world: World, now: datetime) -> None:
    reservations.set_rules(
        pool_id=world.pool.pk, figures=Rules(grace_minutes=30), actor_id=None, now=now
    )
    _held(world, now, gpus=8)
    reservations.open_and_close_due(now=now)
    later = now + timedelta(minutes=30)
    no_shows.give_back_unused(now=later)
    held = reservations.hold(
        team_id=world.speech.pk, pool_id=world.pool.pk, gpus=8, starts_at=later,
        ends_at=now + 4 * HOUR, zone="UTC", actor_id=None, now=later,
    )  # fmt: skip
    assert held.pk


def test_the_longest_length_applies_also_to_what_an_admin_approves_chi_in_a_box_128(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    reservations.set_rules(
        pool_id=world.pool.pk, figures=Rules(longest_hours=2), actor_id=None, now=now
    )
    with pytest.raises(Conflict) as refused:
        _approve(world, row, now)
    assert refused.value.code == "too_long"
    row.refresh_from_db()
    assert row.state == S.SUBMITTED


def test_approving_keeps_the_dates_that_were_asked_for_coldfront_approve(
    world: World, now: datetime
) -> None:
    """There, pressing Approve put today and a default length in place of what was typed."""
    row = a_submitted(world, now)
    _approve(world, row, now + HOUR, granted_gpus=2)
    held = Reservation.objects.get()
    assert (held.starts_at, held.ends_at) == (row.starts_at, row.ends_at)


def test_every_waiting_request_lapses_at_its_time_coldfront_387(
    world: World, now: datetime
) -> None:
    approving.add_rule(actor_id=None, approvals=2)
    half = a_submitted(world, now)
    _approve(world, half, now)
    rows = [half, a_submitted(world, now), a_submitted_quota(world, now)]
    services.expire_due(now=now + 60 * DAY)
    states = Request.objects.filter(pk__in=[r.pk for r in rows]).values_list("state", flat=True)
    assert set(states) == {S.EXPIRED}


def test_what_has_lapsed_reads_so_before_anybody_cleared_it_away_coldfront_14(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now - 20 * DAY)
    client.force_login(world.lead)
    shown = client.get(reverse("api-request-detail", args=[row.pk])).json()
    assert shown["lapsed"] is True
    holds = selectors.list_soft_holds(
        pool_id=world.pool.pk, from_at=now, to_at=now + 60 * DAY, now=now
    )
    assert holds == []


def test_a_list_asks_as_often_for_many_rows_as_for_few_coldfront_1025(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    counts = []
    for number in (2, 20):
        for _ in range(number):
            a_submitted(world, now)
        with CaptureQueriesContext(connection) as asked_for:
            client.get(reverse("requests:list"), {"tab": "all"})
        counts.append(len(asked_for))
    assert counts[0] == counts[1] <= 12


def test_an_id_alone_tells_a_stranger_nothing_gpustack_5692(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    Comment.objects.create(request=row, author=world.lead, at=now, text="secret plan")
    client.force_login(world.other_lead)
    for route in ("requests:detail", "api-request-detail", "api-request-comments"):
        assert client.get(reverse(route, args=[row.pk])).status_code == 404
    listed = client.get(reverse("api-request-list")).json()
    assert listed["count"] == 0


def test_what_it_costs_is_concealed_in_every_answer_waldur_concealed_prices(
    client: Client, world: World, now: datetime
) -> None:
    """There, one more dialog showed the prices that a setting hid."""
    row = a_submitted(world, now)
    Request.objects.filter(pk=row.pk).update(cost_micro=123_456_000_000, currency="KRW")
    client.force_login(world.member)
    pages = (
        client.get(reverse("requests:detail", args=[row.pk])).content,
        client.get(reverse("requests:list")).content,
        client.get(reverse("api-request-detail", args=[row.pk])).content,
        b"".join(client.get(reverse("requests:list"), {"format": "csv"}).streaming_content),  # type: ignore[attr-defined]
    )
    assert not any(b"123,456" in page or b"123456" in page for page in pages)


def test_a_refusal_names_the_figure_its_limit_and_its_use_enhancement_proposals_241(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now, gpus=12)
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=4, limit=10, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    with pytest.raises(Conflict) as refused:
        _approve(world, row, now)
    told = refused.value.details
    assert (told["limit"], told["guaranteed"], told["asked"], told["left"]) == (10, 4, 12, 6)
    assert "limit of 10 GPUs" in str(refused.value.message)


def test_members_read_limit_used_and_left_kueue_13854(client: Client, world: World) -> None:
    client.force_login(world.member)
    page = client.get(reverse("requests:quotas")).content.decode()
    assert "at most 16" in page
    assert client.get(reverse("api-quota-list")).json()["count"] == 2


def test_gpus_are_counted_once_however_many_lie_on_a_node_hami_302(
    world: World, now: datetime
) -> None:
    """Eight in blocks of four are eight, not thirty-two."""
    row = a_submitted(world, now, gpus=8, gpus_per_node=4)
    _approve(world, row, now)
    held = inventory.committed_steps(
        pool_id=world.pool.pk, from_at=now + DAY, to_at=now + DAY + HOUR
    )
    assert {step.gpus for step in held} == {8 + 8}


def test_what_a_person_decided_needs_another_persons_role_no_more_coldfront_913(
    world: World, now: datetime
) -> None:
    """Who leads a team sees all its requests, whoever asked."""
    lead = builders.a_user("second-lead", role=Role.LEAD, team=world.vision)
    row = a_submitted(world, now)
    access = teams.get_access(user_id=lead.pk, now=now)
    assert list(selectors.list_requests(access=access, now=now)) == [row]


def test_an_end_in_the_past_cannot_be_asked_for_tensorhive_331(world: World, now: datetime) -> None:
    held = _held(world, now)
    later = now + 2 * HOUR
    for kind in ("extension", "give_back"):
        with pytest.raises(Invalid):
            services.ask(
                asked=Asked(
                    kind=kind, team_id=world.vision.pk, pool_id=world.pool.pk, about_id=held.pk,
                    reason="Late", ends_at=now + HOUR, zone="UTC",
                ),
                actor_id=world.lead.pk, now=later, submitting=True,
            )  # fmt: skip


def test_a_figure_set_twice_is_promised_once_waldur_duplicate_usage(
    world: World, now: datetime
) -> None:
    for _ in range(2):
        quotas.change(
            team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=6, limit=16,
            valid_from=now + HOUR, actor_id=None, now=now,
        )  # fmt: skip
    held = inventory.committed_steps(
        pool_id=world.pool.pk, from_at=now + HOUR, to_at=now + 2 * HOUR
    )
    assert {step.gpus for step in held} == {6 + 4}
    assert len(quota_rows.list_changes(after=now, pool_id=world.pool.pk)) == 1


def test_a_request_for_a_day_of_a_clock_change_costs_its_real_hours_killbill_1934(
    world: World, now: datetime
) -> None:
    """The night the clocks go back in Berlin has an hour more."""
    begins = datetime.fromisoformat("2027-10-30T22:00:00+00:00")
    row = a_draft(
        world, now, starts_at=begins, ends_at=datetime.fromisoformat("2027-10-31T23:00:00+00:00"),
        zone="Europe/Berlin",
    )  # fmt: skip
    assert row.ends_at is not None
    assert row.starts_at is not None
    assert row.ends_at - row.starts_at == 25 * HOUR
