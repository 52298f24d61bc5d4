"""The matrix of quotas: read by branch, set by admins, effects said before anything is saved."""

import re
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal.common.models import AuditEvent
from portal.quotas import selectors as quotas
from portal.quotas.models import Quota
from portal.scheduling.models import Share, Tick, TickState
from portal.teams.models import Team
from tests import builders
from tests.portal.requests.world import DAY, HOUR, World, a_submitted

pytestmark = pytest.mark.usefixtures("at_now")


def _text(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def _typed(world: World, **changed: Any) -> dict[str, Any]:
    """The form of the pool as it is filled in for an admin; names are team-figure."""
    values: dict[str, Any] = {"valid_from": "", "zone": "Asia/Seoul", "do": "save"}
    for team, limit in ((world.vision, 16), (world.speech, "")):
        newest = quotas.newest_ids(pool_id=world.pool.pk)[team.pk]
        values |= {
            f"t{team.pk}-guaranteed": 4, f"t{team.pk}-limit": limit, f"t{team.pk}-seen_id": newest
        }  # fmt: skip
    for name, value in changed.items():
        slug, _, figure = name.partition("_")
        found = {"vision": world.vision, "speech": world.speech}.get(slug)
        values[name if found is None else f"t{found.pk}-{figure}"] = value
    return values


def _using(world: World, team: Team, now: datetime, allocated: int, borrowed: int) -> None:
    """The newest tick says this team uses so many GPUs."""
    tick = Tick.objects.order_by("id").last() or Tick.objects.create(
        cluster=world.pool.cluster, at=now, state=TickState.DONE, started_real_at=now
    )
    Share.objects.create(
        tick=tick, team=team, pool=world.pool, guaranteed=4000, reserved=0, fair_share=8000,
        allocated=allocated * 1000, borrowed=borrowed * 1000, lent=0, available=0,
        dominant_share=0, satisfaction=0, guaranteed_gpus=4, burst_gpus=0,
    )  # fmt: skip


def test_everybody_reads_the_figures_of_their_branch_and_the_sums_of_all(
    client: Client, world: World
) -> None:
    client.force_login(world.member)
    text = _text(client.get(reverse("requests:quotas")))
    assert "Vision" in text
    assert "Speech" not in text
    assert "8 of 16" in text
    client.force_login(world.admin)
    text = _text(client.get(reverse("requests:quotas")))
    assert "Vision" in text
    assert "Speech" in text


def test_an_admin_moves_gpus_from_one_team_to_another(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    address = reverse("requests:quota-pool", args=[world.pool.pk])
    typed = _typed(world, vision_guaranteed=6, speech_guaranteed=2, speech_weight=3)
    done = client.post(address, typed, follow=True)
    assert "Saved for 2 teams." in _text(done)
    held = {q.team_id: (q.guaranteed, q.weight) for q in quotas.list_quotas(at=now)}
    assert held == {world.vision.pk: (6, None), world.speech.pk: (2, 3)}
    assert Quota.objects.filter(created_by_id=world.admin.pk).count() == 2


def test_figures_can_hold_from_a_day_to_come(client: Client, world: World, now: datetime) -> None:
    client.force_login(world.admin)
    address = reverse("requests:quota-pool", args=[world.pool.pk])
    client.post(address, _typed(world, vision_guaranteed=6, valid_from="2026-11-05T00:00"))
    at = datetime.fromisoformat("2026-11-04T15:00:00+00:00")
    assert quotas.get_quota(team_id=world.vision.pk, pool_id=world.pool.pk, at=at).guaranteed == 6  # type: ignore[union-attr]
    assert quotas.get_quota(team_id=world.vision.pk, pool_id=world.pool.pk, at=now).guaranteed == 4  # type: ignore[union-attr]
    assert "6 from Thu 5 Nov 00:00 KST" in _text(client.get(reverse("requests:quotas")))


def test_nothing_changed_is_nothing_saved(client: Client, world: World) -> None:
    before = Quota.objects.count()
    client.force_login(world.admin)
    address = reverse("requests:quota-pool", args=[world.pool.pk])
    assert "nothing was saved" in _text(client.post(address, _typed(world), follow=True))
    assert Quota.objects.count() == before


def test_the_effects_say_what_changes_for_whom_and_write_nothing(
    client: Client, world: World, now: datetime
) -> None:
    _using(world, world.vision, now, allocated=4, borrowed=0)
    _using(world, world.speech, now, allocated=9, borrowed=5)
    row = a_submitted(world, now, gpus=8)
    client.force_login(world.admin)
    lines = AuditEvent.objects.count()
    part = client.post(
        reverse("requests:quota-effects", args=[world.pool.pk]),
        _typed(world, vision_guaranteed=6, vision_limit=16),
    )
    text = _text(part)
    assert "Can be saved." in text
    assert "Guaranteed in all: 8 → 10 of 16 GPUs; reserved 0; unpromised 6." in text
    assert "Guaranteed: 4 → 6" in text
    assert "Speech borrows 5" in text
    assert f"Request #{row.pk} of Vision for 8 GPUs would no longer fit: 6 would be left." in text
    assert Quota.objects.count() == 2
    assert AuditEvent.objects.count() == lines


def test_less_guaranteed_than_used_is_said(client: Client, world: World, now: datetime) -> None:
    _using(world, world.vision, now, allocated=9, borrowed=5)
    client.force_login(world.admin)
    address = reverse("requests:quota-effects", args=[world.pool.pk])
    text = _text(client.post(address, _typed(world, vision_guaranteed=1, vision_limit=6)))
    assert "3 GPUs it uses now would count as borrowed" in text
    assert "It uses 9 GPUs now: nothing new starts until it is below the limit." in text


def test_what_cannot_be_saved_is_said_with_its_numbers_before_and_after_trying(
    client: Client, world: World
) -> None:
    client.force_login(world.admin)
    typed = _typed(world, vision_guaranteed=13, vision_limit=16)
    part = client.post(reverse("requests:quota-effects", args=[world.pool.pk]), typed)
    assert "Cannot be saved." in _text(part)
    assert "unpromised -1" in _text(part)
    kept = client.post(reverse("requests:quota-pool", args=[world.pool.pk]), typed)
    assert kept.status_code == 422
    assert "12 of 16 GPUs free, and 13 are asked" in _text(kept)
    contradicts = _typed(world, vision_guaranteed=5, vision_limit=4)
    part = client.post(reverse("requests:quota-effects", args=[world.pool.pk]), contradicts)
    assert "Vision · Limit: The limit is below the guarantee." in _text(part)


def test_an_edit_against_an_edit_loses(client: Client, world: World) -> None:
    client.force_login(world.admin)
    address = reverse("requests:quota-pool", args=[world.pool.pk])
    late = _typed(world, vision_guaranteed=7)
    client.post(address, _typed(world, vision_guaranteed=5))
    kept = client.post(address, late)
    assert kept.status_code == 422
    assert "The figures of Vision were changed meanwhile" in _text(kept)


def test_a_branch_admin_sets_only_the_figures_of_the_branch(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.branch_admin)
    address = reverse("requests:quota-pool", args=[world.pool.pk])
    page = client.get(address)
    assert f"t{world.vision.pk}-guaranteed" in page.content.decode()
    assert f"t{world.speech.pk}-guaranteed" not in page.content.decode()
    client.post(address, _typed(world, vision_guaranteed=5, speech_guaranteed=0))
    held = {q.team_id: q.guaranteed for q in quotas.list_quotas(at=now)}
    assert held == {world.vision.pk: 5, world.speech.pk: 4}


def test_the_history_tells_who_changed_what_and_the_newest_is_taken_back(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    client.post(
        reverse("requests:quota-pool", args=[world.pool.pk]), _typed(world, vision_guaranteed=9)
    )
    address = reverse("requests:quota-history", args=[world.vision.pk, world.pool.pk])
    page = client.get(address)
    assert "admin" in _text(page)
    assert "Guaranteed: 4 → 9" in _text(page)
    newest = quotas.newest_ids(pool_id=world.pool.pk)[world.vision.pk]
    back = client.post(reverse("requests:quota-undo", args=[newest]), follow=True)
    assert "Taken back" in _text(back)
    assert "Guaranteed: 9 → 4" in _text(back)
    client.force_login(world.member)
    assert b"undo" not in client.get(address).content


def test_a_program_sets_looks_and_takes_back_as_a_page_does(
    client: Client, world: World, now: datetime
) -> None:
    client.force_login(world.admin)
    body = {
        "pool": world.pool.pk, "valid_from": (now + DAY).isoformat(),
        "changes": [{"team": world.vision.pk, "guaranteed": 7, "limit": 16}],
    }  # fmt: skip

    def post(route: str, data: Any, *args: int) -> Any:
        return client.post(reverse(route, args=args), data, content_type="application/json")

    seen = post("api-quota-effects", body).json()
    assert seen["fits"] is True
    assert seen["after"]["left"] == 16 - 7 - 4
    assert Quota.objects.count() == 2
    saved = post("api-quota-list", body)
    assert saved.status_code == 201
    quota = saved.json()["results"][0]
    history = client.get(reverse("api-quota-history", args=[world.vision.pk, world.pool.pk]))
    assert [q["guaranteed"] for q in history.json()["results"]] == [4, 7]
    back = post("api-quota-undo", {}, quota["id"]).json()
    assert back["results"][0]["guaranteed"] == 4
    for wrong in (
        {**body, "valid_from": "2026-11-05T00:00"},
        {**body, "more": 1},
        {**body, "changes": [{"team": world.vision.pk}]},
    ):
        assert post("api-quota-list", wrong).status_code == 400
    client.force_login(world.branch_admin)
    other = {**body, "changes": [{"team": world.speech.pk, "guaranteed": 1}]}
    assert post("api-quota-list", other).status_code == 404


def test_a_matrix_of_many_teams_is_paged_and_costs_the_same(
    client: Client, world: World, django_assert_max_num_queries: Any, now: datetime
) -> None:
    teams = [builders.a_team(f"team-{number}") for number in range(120)]
    Quota.objects.bulk_create(
        Quota(team=t, pool=world.pool, guaranteed=0, valid_from=now - HOUR, created_at=now)
        for t in teams
    )
    client.force_login(world.admin)
    with django_assert_max_num_queries(18):
        page = client.get(reverse("requests:quotas"), {"page": 2})
    assert "team-60" in page.content.decode().lower()
    assert "Vision" not in _text(page)
