"""Nothing sent is larger, deeper or more than anybody has to say; no file is taken at all."""

import json

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from portal.common.models import AuditEvent
from tests.doors import knock, table
from tests.world import World

MOST = settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _api_writes() -> list[str]:
    return [r for (r, does), row in table().items()
            if does == "write" and r.startswith("api-") and row["admin"]]  # fmt: skip


def test_no_body_of_the_api_is_larger_than_the_bound(world: World, admin: Client) -> None:
    large = json.dumps({"reason": "x" * MOST})
    before, wrong = AuditEvent.objects.count(), []
    for route in _api_writes():
        address = knock(admin, route, "read", world.ids(world.ours)).wsgi_request.path  # type: ignore[attr-defined]
        answer = admin.post(address, large, content_type="application/json")
        if answer.status_code not in (413, 405) or (
            answer.status_code == 413 and answer.json()["code"] != "too_large"
        ):
            wrong.append(f"{route}: {answer.status_code}")
    assert wrong == []
    assert AuditEvent.objects.count() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x",
                                  "application/x-www-form-urlencoded"])  # fmt: skip
def test_the_api_reads_json_alone(kind: str, world: World, admin: Client) -> None:
    answer = admin.post("/api/v1/requests", "kind=reservation", content_type=kind)
    assert answer.status_code == 415


def test_no_page_reads_a_form_larger_than_the_bound_or_with_too_many_fields(
    world: World, admin: Client
) -> None:
    path = reverse("teams:preferences")
    form = "application/x-www-form-urlencoded"
    assert admin.post(path, "theme=" + "x" * MOST, content_type=form).status_code == 400
    assert admin.post(path, "a=1&" * 1001, content_type=form).status_code == 400


def test_no_page_takes_a_file(world: World, admin: Client) -> None:
    file = SimpleUploadedFile("x.csv", b"a" * 100)
    for route in ("teams:preferences", "teams:people", "notifications:hooks", "requests:reserve"):
        answer = admin.post(reverse(route), {"theme": "dark", "file": file})
        assert answer.status_code == 400, route


def test_a_text_longer_than_its_field_is_refused(world: World, admin: Client) -> None:
    answer = admin.post(
        f"/api/v1/requests/{world.ours.request.pk}/comments", {"text": "x" * 100_000},
        content_type="application/json",
    )  # fmt: skip
    assert answer.status_code == 422
