"""The pages as people use them: ask, check, decide, read what became of it."""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from portal.common import clock
from portal.requests import services
from portal.requests.models import Comment, Request, RequestState
from portal.reservations.models import Reservation
from portal.teams.models import User
from tests import builders
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_draft,
    a_submitted,
    signed_in,
    text_of,
)

S = RequestState
pytestmark = pytest.mark.usefixtures("at_now")


def _filled_in(world: World, **changed: Any) -> dict[str, Any]:
    """The Reserve form: eight hours from nine o'clock tomorrow in Seoul."""
    values: dict[str, Any] = {
        "team": world.vision.pk, "pool": world.pool.pk, "gpus": 4, "gpus_per_node": "",
        "source": "pool", "starts_at": "2026-11-03T09:00", "ends_at": "2026-11-03T17:00",
        "zone": "Asia/Seoul", "reason": "Retrain the detector", "do": "submit",
    }  # fmt: skip
    return {**values, **changed}


@pytest.mark.parametrize(("language", "title"), [("en", "Reserve"), ("ko", None)])
def test_a_lead_asks_an_admin_agrees_and_both_read_what_happened(
    client: Client, world: World, language: str, title: str | None
) -> None:
    signed_in(client, world.lead, language)
    page = client.get(reverse("requests:reserve"))
    assert page.status_code == 200
    assert page["Content-Language"] == language
    if title:
        assert title in text_of(page)
    done = client.post(reverse("requests:reserve"), _filled_in(world), follow=True)
    assert done.status_code == 200
    row = Request.objects.get()
    assert row.state == S.SUBMITTED
    # Nine in Seoul is midnight in UTC.
    assert row.starts_at == datetime.fromisoformat("2026-11-03T00:00:00+00:00")
    assert row.zone == "Asia/Seoul"
    signed_in(client, world.admin, language)
    seen = client.get(reverse("requests:detail", args=[row.pk]))
    assert b'name="granted_gpus"' in seen.content
    told = client.post(
        reverse("requests:approve", args=[row.pk]),
        {"granted_gpus": 4, "note": "", "version": row.version},
        follow=True,
    )
    held = Reservation.objects.get()
    assert f"R-{held.pk}" in text_of(told)
    row.refresh_from_db()
    assert (row.state, row.reservation_id) == (S.APPROVED, held.pk)


def test_messages_say_what_happened_and_what_comes_next(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    saved = client.post(reverse("requests:reserve"), _filled_in(world, do="save"), follow=True)
    assert "Saved as a draft. Nobody decides it until you submit it." in text_of(saved)
    row = Request.objects.get()
    sent = client.post(reverse("requests:submit", args=[row.pk]), {"version": 1}, follow=True)
    assert (
        "An admin decides; until then it is a soft hold. Without a decision it lapses tomorrow"
        in text_of(sent)
    )
    signed_in(client, world.admin)
    refused = client.post(
        reverse("requests:reject", args=[row.pk]), {"note": "No room"}, follow=True
    )
    assert "lead reads your reason on this page." in text_of(refused)
    assert "No room" in text_of(refused)


def test_the_check_says_whether_it_fits_and_writes_nothing(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    part = client.get(reverse("requests:check"), _filled_in(world))
    text = text_of(part)
    assert "Fits." in text
    assert "4 GPUs of h100, tomorrow 09:00–17:00 KST" in text
    assert "Vision would hold 8 of at most 16: 8 left." in text
    assert "your draft: 4" in text
    assert b"<html" not in part.content
    assert not Request.objects.exists()


def test_the_same_check_works_without_script(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    page = client.post(reverse("requests:reserve"), _filled_in(world, gpus=12, do="check"))
    assert "Does not fit." in text_of(page)
    assert "Retrain the detector" in page.content.decode()
    address = client.get(reverse("requests:reserve"), _filled_in(world, gpus=12))
    assert "Does not fit." in text_of(address)
    assert not Request.objects.exists()


def test_an_alternative_is_a_link_to_the_form_filled_in(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now, gpus=6)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    signed_in(client, world.lead)
    page = client.get(reverse("requests:check"), _filled_in(world))
    links = re.findall(r'href="(/reserve/\?[^"]+)"', page.content.decode())
    later = next(
        parse_qs(urlsplit(link.replace("&amp;", "&")).query)
        for link in links
        if "2026-11-03T13%3A00" in link
    )
    assert later["starts_at"] == ["2026-11-03T13:00"]
    assert later["gpus"] == ["4"]
    followed = client.get(reverse("requests:reserve"), {k: v[0] for k, v in later.items()})
    assert "Fits." in text_of(followed)


def test_faults_stand_at_their_fields_and_nothing_is_saved(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    for changed, field in (
        ({"gpus": 0}, "gpus"),
        ({"gpus": ""}, "gpus"),
        ({"ends_at": "2026-11-03T08:00"}, "ends_at"),
        ({"starts_at": "2026-11-01T09:00"}, "starts_at"),
        ({"reason": ""}, "reason"),
        ({"zone": "Mars/Base"}, ""),
    ):
        answer = client.post(reverse("requests:reserve"), _filled_in(world, **changed))
        assert answer.status_code == 422, changed
        if field:
            assert f'id="id_{field}_error"' in answer.content.decode(), changed
        assert not Request.objects.exists()


def test_a_time_that_does_not_exist_is_said_to_the_reader(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    answer = client.post(
        reverse("requests:reserve"),
        _filled_in(
            world, starts_at="2027-03-28T02:30", ends_at="2027-03-28T06:00", zone="Europe/Berlin"
        ),
    )
    assert "2027-03-28 02:30 does not exist in Europe/Berlin" in text_of(answer)


def test_another_teams_id_in_the_form_is_no_choice(client: Client, world: World) -> None:
    signed_in(client, world.lead)
    answers = [
        client.post(reverse("requests:reserve"), _filled_in(world, team=team))
        for team in (world.speech.pk, 987654)
    ]
    assert [a.status_code for a in answers] == [422, 422]
    assert not Request.objects.exists()


def test_another_teams_request_is_the_same_404_as_an_unknown_one(
    client: Client, world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    signed_in(client, world.other_lead)
    for name in ("detail", "edit", "submit", "cancel", "approve", "reject", "comment"):
        for number in (row.pk, 987654):
            address = reverse(f"requests:{name}", args=[number])
            ask = client.get if name in ("detail", "edit") else client.post
            assert ask(address).status_code == 404, (name, number)
    row.refresh_from_db()
    assert row.version == 1


def test_a_member_reads_but_neither_asks_nor_decides(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    signed_in(client, world.member)
    page = client.get(reverse("requests:reserve"))
    assert "Leads of a team ask for its GPUs." in text_of(page)
    assert b'name="gpus"' not in page.content
    assert client.post(reverse("requests:reserve"), _filled_in(world)).status_code == 404
    detail = client.get(reverse("requests:detail", args=[row.pk]))
    assert detail.status_code == 200
    assert b'name="granted_gpus"' not in detail.content
    assert client.post(reverse("requests:approve", args=[row.pk])).status_code == 404


def test_who_asked_reads_why_they_cannot_decide(
    client: Client, world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    services.submit(request_id=row.pk, actor_id=world.branch_admin.pk, now=now)
    signed_in(client, world.branch_admin)
    page = client.get(reverse("requests:detail", args=[row.pk]))
    assert "You asked for this yourself, so another admin decides." in text_of(page)
    answer = client.post(
        reverse("requests:approve", args=[row.pk]), {"granted_gpus": 4}, follow=True
    )
    assert "Nobody decides what they asked for themselves." in text_of(answer)
    assert not Reservation.objects.exists()


def test_capacity_gone_is_shown_with_its_numbers_and_what_was_typed_is_kept(
    client: Client, world: World, now: datetime
) -> None:
    first, second = a_submitted(world, now, gpus=6), a_submitted(world, now)
    services.approve(request_id=first.pk, actor_id=world.admin.pk, now=now)
    signed_in(client, world.admin)
    answer = client.post(
        reverse("requests:approve", args=[second.pk]), {"granted_gpus": 4, "note": "Good luck"}
    )
    assert answer.status_code == 422
    assert "has 2 of 16 GPUs free, and 4 are asked" in text_of(answer)
    assert "Good luck" in answer.content.decode()
    second.refresh_from_db()
    assert second.state == S.SUBMITTED


def test_an_approval_of_what_was_changed_meanwhile_asks_to_read_again(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    services.comment(request_id=row.pk, text="Two will do", actor_id=world.lead.pk, now=now)
    signed_in(client, world.admin)
    answer = client.post(
        reverse("requests:approve", args=[row.pk]),
        {"granted_gpus": 4, "version": row.version},
        follow=True,
    )
    assert "It was changed meanwhile." in text_of(answer)
    assert not Reservation.objects.exists()


def test_a_cancelled_request_offers_to_ask_again(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    signed_in(client, world.lead)
    page = client.post(reverse("requests:cancel", args=[row.pk]), follow=True)
    assert "Cancelled. Nothing is held for it any more." in text_of(page)
    assert "Ask again" in text_of(page)


def test_a_comment_is_added_to_the_thread(client: Client, world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    signed_in(client, world.member)
    address = reverse("requests:comment", args=[row.pk])
    assert client.post(address, {"text": ""}).status_code == 422
    page = client.post(address, {"text": "<b>Please</b>"}, follow=True)
    assert Comment.objects.get().text == "<b>Please</b>"
    assert "&lt;b&gt;Please&lt;/b&gt;" in page.content.decode()


def test_a_draft_is_opened_edited_and_submitted(
    client: Client, world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    signed_in(client, world.lead)
    page = client.get(reverse("requests:edit", args=[row.pk]))
    assert 'value="2026-11-03T09:00"' in page.content.decode()
    client.post(
        reverse("requests:edit", args=[row.pk]), _filled_in(world, gpus=2, version=row.version)
    )
    row.refresh_from_db()
    assert (row.gpus, row.state) == (2, S.SUBMITTED)
    again = client.get(reverse("requests:edit", args=[row.pk]))
    assert again.status_code == 302


def test_cost_is_for_those_who_may_see_it(client: Client, world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    Request.objects.filter(pk=row.pk).update(cost_micro=48_000_000_000, currency="KRW")
    for person, sees in (("lead", True), ("finance", True), ("member", False)):
        signed_in(client, getattr(world, person))
        for address in (
            reverse("requests:detail", args=[row.pk]),
            f"{reverse('requests:list')}?tab=all",
            f"{reverse('requests:list')}?tab=all&format=csv",
        ):
            answer = client.get(address)
            body = b"".join(answer) if answer.streaming else answer.content
            assert (b"48,000" in body or b",48000" in body) is sees, (person, address)


def test_the_page_of_a_request_names_its_line(client: Client, world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    held = Reservation.objects.get()
    job = builders.a_workload(world.vision, world.pool, name="retrain")
    job.reservation = held
    job.save()
    signed_in(client, world.lead)
    page = client.get(reverse("requests:detail", args=[row.pk]))
    assert f"R-{held.pk}" in text_of(page)
    assert f'href="/queue/{job.pk}/"' in page.content.decode()
    assert "Reservation put on the calendar" in text_of(page)
    signed_in(client, world.finance)
    assert "retrain" not in text_of(client.get(reverse("requests:detail", args=[row.pk])))


def test_what_was_approved_is_called_off_before_and_given_back_after_it_begins(
    client: Client, world: World, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [a_submitted(world, now, gpus=2) for _ in range(2)]
    for row in rows:
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    signed_in(client, world.lead)
    first = client.post(reverse("requests:release", args=[rows[0].pk]), follow=True)
    assert "The reservation is called off." in text_of(first)
    monkeypatch.setattr(clock, "real_now", lambda: now + DAY + HOUR)
    second = client.post(reverse("requests:release", args=[rows[1].pk]), follow=True)
    assert "Given back." in text_of(second)
    states = Reservation.objects.order_by("id").values_list("state", flat=True)
    assert list(states) == ["cancelled", "released"]
    draft = a_draft(world, now)
    third = client.post(reverse("requests:release", args=[draft.pk]), follow=True)
    assert "It has no reservation to give back." in text_of(third)


def test_kubestellar_5395_a_booking_across_midnight_stands_on_both_days(
    client: Client, world: World, now: datetime
) -> None:
    # 15:00 UTC is midnight in Seoul.
    row = a_submitted(world, now, starts_at=now + 13 * HOUR, ends_at=now + 17 * HOUR)
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    label = f"R-{Reservation.objects.get().pk} · 4"
    signed_in(client, world.member)
    for day, shown in (("2026-11-01", 0), ("2026-11-02", 1), ("2026-11-03", 1), ("2026-11-04", 0)):
        page = client.get(reverse("requests:reserve"), {"day": day})
        assert (label in text_of(page)) == bool(shown), day


@pytest.mark.parametrize("span", ["day", "week"])
@pytest.mark.parametrize("day", ["2026-10-25", "2027-03-28", "2026-12-31", "0001-01-01", "x"])
def test_any_day_in_any_zone_is_drawn(client: Client, world: World, span: str, day: str) -> None:
    for zone in ("Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"):
        User.objects.filter(pk=world.lead.pk).update(zone=zone)
        signed_in(client, world.lead)
        page = client.get(reverse("requests:reserve"), {"day": day, "span": span})
        assert page.status_code == 200, (zone, day)


def test_no_page_has_inline_style_or_script(client: Client, world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    signed_in(client, world.admin)
    for address in (
        reverse("requests:reserve"), reverse("requests:quota"), reverse("requests:list"),
        reverse("requests:detail", args=[row.pk]),
    ):  # fmt: skip
        body = client.get(address).content.decode()
        assert " style=" not in body
        assert not re.search(r"\son\w+=", body)
        assert not re.search(r"<script(?![^>]*src=)", body)


def test_an_organisation_without_pools_says_so(client: Client, db: None) -> None:
    signed_in(client, builders.a_user("admin", role="admin"))  # type: ignore[arg-type]
    for name in ("reserve", "list"):
        assert client.get(reverse(f"requests:{name}")).status_code == 200
    assert "There is no pool yet" in text_of(client.get(reverse("requests:reserve")))


def test_a_lapsed_request_is_shown_as_lapsed_before_anyone_clears_it(
    client: Client, world: World, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = a_submitted(world, now)
    monkeypatch.setattr(clock, "real_now", lambda: now + timedelta(days=30))
    signed_in(client, world.admin)
    page = client.get(reverse("requests:detail", args=[row.pk]))
    assert "Expired" in text_of(page)
    assert b'name="granted_gpus"' not in page.content
