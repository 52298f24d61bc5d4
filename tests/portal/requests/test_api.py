"""The API: the same rules as the pages, in numbers."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from portal.common.models import AuditEvent
from portal.requests import services
from portal.requests.models import Comment, Request, RequestState
from portal.reservations.models import Reservation
from portal.teams.models import User
from tests.portal.requests.world import DAY, World, a_draft, a_submitted

S = RequestState
LIST = "/api/v1/requests"
pytestmark = pytest.mark.usefixtures("at_now")


def _as(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _body(world: World, **changed: Any) -> dict[str, Any]:
    """Four GPUs for Vision from nine to one tomorrow in Seoul."""
    values: dict[str, Any] = {
        "kind": "reservation", "team": world.vision.pk, "pool": world.pool.pk, "gpus": 4,
        "starts_at": "2026-11-03T09:00:00+09:00", "ends_at": "2026-11-03T13:00:00+09:00",
        "zone": "Asia/Seoul", "reason": "Retrain the detector",
    }  # fmt: skip
    return {**values, **changed}


def _post(client: Client, path: str, body: object = None, **headers: str) -> Any:
    return client.post(
        path, {} if body is None else body, content_type="application/json", headers=headers
    )


def test_ask_submit_approve_and_read_what_became_of_it(world: World) -> None:
    lead, admin = _as(world.lead), _as(world.admin)
    made = _post(lead, LIST, _body(world))
    assert made.status_code == 201
    number = made.json()["id"]
    assert made["ETag"] == '"1"'
    assert made.json()["state"] == "draft"
    assert made.json()["starts_at"] == "2026-11-03T00:00:00Z"
    sent = _post(lead, f"{LIST}/{number}/submit")
    assert (sent.status_code, sent.json()["state"], sent["ETag"]) == (200, "submitted", '"2"')
    done = _post(admin, f"{LIST}/{number}/approve", {"granted_gpus": 2, "note": "Half"})
    assert (done.json()["state"], done.json()["granted_gpus"]) == ("approved", 2)
    assert done.json()["reservation"] == Reservation.objects.get().pk
    read = lead.get(f"{LIST}/{number}")
    assert read.json()["comments"] == []
    assert read["ETag"] == '"3"'


@pytest.mark.parametrize(
    "extra", ["state", "decided_by", "requested_by", "granted_gpus", "reservation", "version", "x"]
)
def test_what_is_not_for_the_asker_to_set_is_refused(world: World, extra: str) -> None:
    answer = _post(_as(world.lead), LIST, _body(world, **{extra: 1}))
    assert answer.status_code == 422
    assert extra in answer.json()["fields"]
    assert not Request.objects.exists()


def test_a_put_replaces_a_draft_and_is_no_weaker_than_a_post(world: World, now: datetime) -> None:
    row = a_draft(world, now)
    client = _as(world.lead)

    def put(body: dict[str, Any], **headers: str) -> Any:
        return client.put(
            f"{LIST}/{row.pk}", body, content_type="application/json", headers=headers
        )

    assert put(_body(world, gpus=0)).status_code == 422
    assert put(_body(world, state="approved")).status_code == 422
    assert put(_body(world, team=world.speech.pk)).status_code == 422
    assert put(_body(world, gpus=2), **{"If-Match": '"7"'}).status_code == 412
    done = put(_body(world, gpus=2), **{"If-Match": '"1"'})
    assert (done.status_code, done.json()["gpus"], done["ETag"]) == (200, 2, '"2"')
    services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    late = put(_body(world, gpus=1))
    assert (late.status_code, late.json()["code"]) == (409, "already_moved")


def test_an_older_version_loses_with_412(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    admin = _as(world.admin)
    lost = _post(admin, f"{LIST}/{row.pk}/approve", **{"If-Match": '"1"'})
    assert lost.status_code == 412
    assert lost["Content-Type"] == "application/problem+json"
    assert not Reservation.objects.exists()
    won = _post(admin, f"{LIST}/{row.pk}/approve", **{"If-Match": '"2"'})
    assert won.status_code == 200


def test_a_repeat_under_the_same_key_gets_the_first_answer(world: World, now: datetime) -> None:
    lead, admin = _as(world.lead), _as(world.admin)
    first = _post(lead, LIST, _body(world), **{"Idempotency-Key": "ask-1"})
    again = _post(lead, LIST, _body(world), **{"Idempotency-Key": "ask-1"})
    assert first.json() == again.json()
    assert Request.objects.count() == 1
    row = a_submitted(world, now)
    for _ in range(2):
        done = _post(admin, f"{LIST}/{row.pk}/approve", **{"Idempotency-Key": "yes-1"})
        assert done.json()["state"] == "approved"
    assert Reservation.objects.count() == 1
    assert AuditEvent.objects.filter(action="requests.approved").count() == 1


def test_capacity_gone_is_a_problem_with_numbers(world: World, now: datetime) -> None:
    first, second = a_submitted(world, now, gpus=6), a_submitted(world, now)
    admin = _as(world.admin)
    _post(admin, f"{LIST}/{first.pk}/approve")
    answer = _post(admin, f"{LIST}/{second.pk}/approve")
    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["code"], body["details"]["free"], body["details"]["asked"]) == (
        "overcommitted", 2, 4,
    )  # fmt: skip
    second.refresh_from_db()
    assert second.state == S.SUBMITTED


def test_nobody_approves_their_own(world: World, now: datetime) -> None:
    row = a_draft(world, now)
    services.submit(request_id=row.pk, actor_id=world.admin.pk, now=now)
    answer = _post(_as(world.admin), f"{LIST}/{row.pk}/approve")
    assert (answer.status_code, answer.json()["code"]) == (409, "own_request")


def test_a_rejection_without_a_reason_names_the_field(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    admin = _as(world.admin)
    answer = _post(admin, f"{LIST}/{row.pk}/reject", {"note": ""})
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["note"])
    assert _post(admin, f"{LIST}/{row.pk}/reject", {"note": "No room"}).status_code == 200


def test_the_check_answers_in_numbers_and_sentences_and_writes_nothing(world: World) -> None:
    lead = _as(world.lead)
    fits = _post(lead, f"{LIST}/check", _body(world)).json()
    assert fits["fits"] is True
    assert fits["sentences"][0] == "Fits."
    assert fits["effect"]["left"] == 8
    short = _post(lead, f"{LIST}/check", _body(world, gpus=12)).json()
    assert short["fits"] is False
    assert short["short"]["free"] == 8
    assert {way["kind"]: way["gpus"] for way in short["ways"]} == {"fewer": 8}
    quota = _post(
        lead, f"{LIST}/check",
        {
            "kind": "quota", "team": world.vision.pk, "pool": world.pool.pk, "guaranteed": 13,
            "limit": 16, "reason": "",
        },
    ).json()  # fmt: skip
    assert quota["fits"] is False
    open_still = _post(lead, f"{LIST}/check", _body(world, gpus=None)).json()
    assert open_still["fits"] is None
    assert "gpus" in open_still["fields"]
    assert not Request.objects.exists()


def test_another_teams_request_reads_like_an_unknown_one(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    other = _as(world.other_lead)
    for verb in ("submit", "cancel", "approve", "reject", "comments"):
        for number in (row.pk, 987654):
            answer = _post(other, f"{LIST}/{number}/{verb}", {"note": "x"})
            assert answer.status_code == 404, verb
    bodies = [other.get(f"{LIST}/{number}").json() for number in (row.pk, 987654)]
    assert bodies[0] == bodies[1]


def test_a_team_one_may_not_ask_for_is_no_choice_whether_it_exists_or_not(world: World) -> None:
    lead = _as(world.lead)
    answers = [
        _post(lead, path, _body(world, team=team))
        for path in (LIST, f"{LIST}/check")
        for team in (world.speech.pk, 987654)
    ]
    assert {a.status_code for a in answers} == {422}
    assert all("team" in a.json()["fields"] for a in answers)


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "loan"},
        {"kind": None},
        {"gpus": "many"},
        {"gpus": True},
        {"gpus": 2**40},
        {"gpus": [4]},
        {"gpus_per_node": 3},
        {"source": "thin air"},
        {"starts_at": "soon"},
        {"starts_at": "2026-11-01T09:00:00+09:00"},
        {"ends_at": "2029-11-03T13:00:00+09:00"},
        {"zone": "Mars/Base"},
        {"pool": 987654},
        {"reason": "x" * 2001},
        {"team": {"id": 1}},
    ],
)
def test_what_makes_no_sense_is_a_problem_and_never_an_error(
    world: World, changed: dict[str, Any]
) -> None:
    answer = _post(_as(world.lead), LIST, _body(world, **changed))
    assert answer.status_code == 422
    assert set(answer.json()["fields"]) & set(changed)


@pytest.mark.parametrize("body", ["[]", "3", '"x"', "null", "{"])
def test_a_body_that_is_no_object_is_a_problem(world: World, body: str) -> None:
    answer = _as(world.lead).post(LIST, body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert answer["Content-Type"] == "application/problem+json"


def test_the_list_filters_and_pages(world: World, now: datetime) -> None:
    for gpus in (1, 2, 3):
        a_submitted(world, now, gpus=gpus)
    a_draft(world, now)
    admin = _as(world.admin)
    page = admin.get(f"{LIST}?state=submitted&page_size=2").json()
    assert (page["count"], [r["gpus"] for r in page["results"]]) == (3, [3, 2])
    assert admin.get(LIST, {"tab": "waiting"}).json()["count"] == 3
    assert admin.get(LIST, {"state": "lost"}).status_code == 422
    assert _as(world.other_lead).get(LIST).json()["count"] == 0


def test_comments_are_read_and_added(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    member = _as(world.member)
    said = _post(member, f"{LIST}/{row.pk}/comments", {"text": "Please"})
    assert said.status_code == 201
    assert said.json()["author"] == world.member.pk
    assert member.get(f"{LIST}/{row.pk}/comments").json()["results"][0]["text"] == "Please"
    for nothing in ({"text": ""}, {"text": None}, {}, {"text": "x" * 100_000}):
        assert _post(member, f"{LIST}/{row.pk}/comments", nothing).status_code == 422
    assert Comment.objects.count() == 1


def test_the_estimate_is_for_those_who_may_see_cost(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    assert "cost_micro" in _as(world.lead).get(f"{LIST}/{row.pk}").json()
    assert "cost_micro" not in _as(world.member).get(f"{LIST}/{row.pk}").json()


def test_a_lapsed_request_says_so(
    world: World, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.common import clock

    row = a_submitted(world, now)
    monkeypatch.setattr(clock, "real_now", lambda: now + 30 * DAY)
    assert _as(world.lead).get(f"{LIST}/{row.pk}").json()["lapsed"] is True
    answer = _post(_as(world.admin), f"{LIST}/{row.pk}/approve")
    assert (answer.status_code, answer.json()["code"]) == (409, "lapsed")
