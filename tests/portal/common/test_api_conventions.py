"""Idempotency keys, If-Match and problem+json, seen through a small view of the test's own."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.http import Http404
from django.test import Client, RequestFactory
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from portal.common import api, clock
from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.common.models import IdempotencyKey
from portal.teams.models import Role, User
from tests.builders import a_user

pytestmark = pytest.mark.django_db


class Counting(APIView):
    """Counts how often the write really ran; does what the body says."""

    ran = 0

    def post(self, request: Request) -> Response:
        return api.once(request, lambda: self._write(request))

    def _write(self, request: Request) -> Response:
        type(self).ran += 1
        match dict(request.data).get("do"):
            case "refuse":
                raise Conflict("Only 3 are free.", details={"free": 3})
            case "missing":
                raise Http404
            case _:
                return Response({"ran": self.ran}, status=201)


@pytest.fixture(autouse=True)
def _from_zero() -> None:
    Counting.ran = 0
    return


def _post(body: dict[str, object], key: str = "", user: User | None = None) -> Response:
    headers = {"Idempotency-Key": key} if key else {}
    request = APIRequestFactory().post("/x", body, format="json", headers=headers)
    force_authenticate(request, user=user)
    response = Counting.as_view()(request)
    assert isinstance(response, Response)
    return response


def test_the_same_key_gets_the_first_answer_and_writes_once() -> None:
    user = a_user()
    first = _post({"do": "it"}, key="k-1", user=user)
    again = _post({"do": "it"}, key="k-1", user=user)
    assert (first.status_code, first.data) == (again.status_code, again.data) == (201, {"ran": 1})
    assert Counting.ran == 1


def test_the_same_key_of_another_person_is_another_key() -> None:
    _post({"do": "it"}, key="k-1", user=a_user("minji"))
    _post({"do": "it"}, key="k-1", user=a_user("jiho"))
    assert Counting.ran == 2


def test_the_same_key_with_another_body_is_refused() -> None:
    user = a_user()
    _post({"do": "it"}, key="k-1", user=user)
    response = _post({"do": "something else"}, key="k-1", user=user)
    assert response.status_code == 422
    assert response.data["code"] == "key_reused"


def test_a_refused_write_may_be_tried_again_under_its_key() -> None:
    user = a_user()
    refused = _post({"do": "refuse"}, key="k-1", user=user)
    assert refused.status_code == 409
    assert IdempotencyKey.objects.count() == 0


def test_while_the_first_is_under_way_the_second_is_told_so() -> None:
    user = a_user()
    _post({"do": "it"}, key="k-1", user=user)
    IdempotencyKey.objects.update(status=None, answer=None)
    response = _post({"do": "it"}, key="k-1", user=user)
    assert response.status_code == 409
    assert Counting.ran == 1


def test_a_key_left_by_a_process_that_died_may_be_taken_over() -> None:
    user = a_user()
    _post({"do": "it"}, key="k-1", user=user)
    IdempotencyKey.objects.update(
        status=None, answer=None, created_at=clock.real_now() - timedelta(minutes=6)
    )
    assert _post({"do": "it"}, key="k-1", user=user).status_code == 201
    assert Counting.ran == 2


def test_a_refusal_leaves_as_a_problem_with_its_numbers() -> None:
    response = _post({"do": "refuse"}, user=a_user())
    assert response.content_type == "application/problem+json"
    assert response.data == {
        "type": "urn:evenshare:problem:conflict",
        "title": "Only 3 are free.",
        "status": 409,
        "code": "conflict",
        "details": {"free": 3},
    }


def test_not_found_reads_the_same_from_the_framework_and_from_the_rules() -> None:
    from_framework = _post({"do": "missing"}, user=a_user())
    from_rules = api.problem_from_exception(Missing(), {})
    assert from_rules is not None
    assert from_framework.data == from_rules.data


def test_a_body_that_is_no_json_is_a_problem_too() -> None:
    request = APIRequestFactory().post("/x", "{", content_type="application/json")
    force_authenticate(request, user=a_user())
    response = Counting.as_view()(request)
    assert response.status_code == 400
    assert response.content_type == "application/problem+json"


@pytest.mark.parametrize(
    ("header", "version", "passes"),
    [("", 3, True), ("*", 3, True), ('"3"', 3, True), ('"2", "3"', 3, True), ('"2"', 3, False)],
)
def test_an_edit_loses_when_the_row_has_moved_on(header: str, version: int, passes: bool) -> None:
    request = RequestFactory().put("/x", headers={"If-Match": header} if header else {})
    if passes:
        api.check_if_match(request, version)
    else:
        with pytest.raises(api.PreconditionFailed):
            api.check_if_match(request, version)


def test_the_tree_of_refusals_carries_its_status() -> None:
    statuses = {c.__name__: c.status for c in (Refusal, Invalid, Conflict, Missing)}
    assert statuses == {"Refusal": 409, "Invalid": 422, "Conflict": 409, "Missing": 404}
    assert SimpleNamespace(status=api.PreconditionFailed.status).status == 412


@pytest.mark.parametrize(
    "body",
    [
        '{"do": "a\\u0000b"}',
        '{"do": "\\\\\\u0000"}',
        '{"\\u0000": 1}',
        '{"do": ["\\ud800"]}',
        '{"do": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"do": NaN}',
    ],
    ids=["nul", "nul after a backslash", "nul in a name", "half a pair", "deep", "nan"],
)
def test_a_body_no_database_can_keep_is_a_fault_of_the_asker(client: Client, body: str) -> None:
    client.force_login(a_user(role=Role.ADMIN))
    response = client.post("/api/v1/requests", body, content_type="application/json")
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_a_text_that_only_looks_like_an_escape_is_kept(client: Client) -> None:
    client.force_login(a_user(role=Role.ADMIN))
    body = r'{"kind": "\\u0000 \ud83d\ude00"}'
    response = client.post("/api/v1/requests", body, content_type="application/json")
    assert response.status_code == 422
