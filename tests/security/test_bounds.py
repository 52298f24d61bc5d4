"""Nothing sent is larger, deeper or more than anybody has to say; no file is taken at all."""

import gc
import json
from pathlib import Path

import pytest
from django.conf import settings as ours
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from portal.common.models import AuditEvent
from tests.doors import knock, table
from tests.world import World

MOST = ours.DATA_UPLOAD_MAX_MEMORY_SIZE


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


def test_no_page_takes_more_than_one_file_and_one_without_a_field_for_it_keeps_none(
    world: World, admin: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    for route in ("teams:preferences", "teams:people", "notifications:hooks", "requests:reserve"):
        one, two = (SimpleUploadedFile(f"{n}.csv", b"a" * (MOST + 1)) for n in "ab")
        both = admin.post(reverse(route), {"theme": "dark", "one": one, "two": two})
        assert both.status_code == 400, route
        one.seek(0)
        admin.post(reverse(route), {"theme": "dark", "file": one})
        gc.collect()
        assert list(tmp_path.iterdir()) == [], route


def test_a_text_longer_than_its_field_is_refused(world: World, admin: Client) -> None:
    answer = admin.post(
        f"/api/v1/requests/{world.ours.request.pk}/comments", {"text": "x" * 100_000},
        content_type="application/json",
    )  # fmt: skip
    assert answer.status_code == 422
