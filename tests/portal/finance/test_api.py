"""Cost at /api/v1: what pages show, and the same writes with keys, versions and problems."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from portal.common import clock
from portal.finance import services
from portal.finance.models import Month, RateCard, Statement
from portal.teams.models import Role
from tests import builders
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    HOUR,
    MONTH_ENDS,
    MONTH_STARTS,
    WON,
    World,
    three_days,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    monkeypatch.setattr(clock, "real_now", lambda: MONTH_ENDS + timedelta(hours=1))
    return made


@pytest.fixture
def finance(client: Client) -> Client:
    client.force_login(builders.a_user("sora", Role.FINANCE))
    return client


def post(client: Client, path: str, body: object = None, **headers: str) -> Any:
    return client.post(
        f"/api/v1/{path}", data=body or {}, content_type="application/json", headers=headers
    )


def test_statements_are_listed_by_month_and_team(finance: Client, world: World) -> None:
    found = finance.get("/api/v1/statements?month=2026-11").json()
    assert found["count"] == 3
    one = finance.get(f"/api/v1/statements?month=2026-11&team={world.vision.pk}").json()
    (row,) = one["results"]
    assert row["total_micro"] == 3_758_400 * WON
    assert row["gpu_milli_seconds"]["borrowed"] == 36 * HOUR
    assert row["team"] == {"id": world.vision.pk, "name": "Vision", "path": "Vision"}
    assert finance.get("/api/v1/statements?month=2026-10").json()["count"] == 0


def test_a_lead_lists_only_their_own(client: Client, world: World) -> None:
    client.force_login(builders.a_user("hyun", Role.LEAD, world.speech))
    found = client.get("/api/v1/statements").json()
    assert [row["team"]["name"] for row in found["results"]] == ["Speech"]
    other = Statement.objects.get(team=world.vision)
    hidden = client.get(f"/api/v1/statements/{other.pk}")
    unknown = client.get("/api/v1/statements/999999")
    assert hidden.status_code == unknown.status_code == 404
    assert hidden.json() == unknown.json()
    assert client.get("/api/v1/reconciliation").status_code == 404


def test_a_member_is_told_nothing(client: Client, world: World) -> None:
    client.force_login(builders.a_user("minji", Role.MEMBER, world.vision))
    own = Statement.objects.get(team=world.vision)
    for path in ("statements", f"statements/{own.pk}", "rate-cards", "months", "reconciliation"):
        assert client.get(f"/api/v1/{path}").status_code == 404


def test_one_statement_has_its_lines_and_its_version(finance: Client, world: World) -> None:
    statement = Statement.objects.get(team=world.speech)
    answer = finance.get(f"/api/v1/statements/{statement.pk}")
    assert answer["ETag"] == f'"{statement.version}"'
    lines = answer.json()["lines"]
    assert [(x["kind"], x["gpu_milli_seconds"], x["amount_micro"]) for x in lines] == [
        ("use", 240 * HOUR, 2_880_000 * WON),
        ("reserved_unused", 18 * HOUR, 108_000 * WON),
    ]
    assert lines[1]["reservation"] == world.reservation.pk


@pytest.mark.parametrize("how", ["header", "suffix"])
def test_a_statement_as_csv_by_header_or_suffix(finance: Client, world: World, how: str) -> None:
    pk = Statement.objects.get(team=world.vision).pk
    if how == "header":
        answer = finance.get(f"/api/v1/statements/{pk}", headers={"Accept": "text/csv"})
    else:
        answer = finance.get(f"/api/v1/statements/{pk}.csv")
    body = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    found = list(csv.DictReader(io.StringIO(body)))
    assert [(r["kind"], r["charged_to"], r["gpu_milli_seconds"]) for r in found] == [
        ("use", "guaranteed", str(288 * HOUR)),
        ("use", "borrowed", str(36 * HOUR)),
    ]
    assert [float(r["amount"]) for r in found] == [3_456_000, 302_400]


def test_a_month_is_closed_once_under_its_key(finance: Client, world: World) -> None:
    first = post(finance, "months/2026-11/close", **{"Idempotency-Key": "close-november"})
    again = post(finance, "months/2026-11/close", **{"Idempotency-Key": "close-november"})
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert first.json()["state"] == "final"
    assert post(finance, "months/2026-11/close").json()["state"] == "final"


def test_a_month_under_way_is_refused_with_a_problem(finance: Client, world: World) -> None:
    services.compute_month(month_start=MONTH_ENDS, now=MONTH_ENDS + timedelta(hours=1))
    services.close_month(month_start=MONTH_STARTS, actor_id=None, now=MONTH_ENDS)
    answer = post(finance, "months/2026-12/close")
    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_over"
    assert post(finance, "months/winter/close").status_code == 422
    assert Month.objects.get(name="2026-12").state == "open"


def test_paid_wants_the_version_one_saw(finance: Client, world: World) -> None:
    post(finance, "months/2026-11/close")
    statement = Statement.objects.get(team=world.vision)
    stale = post(finance, f"statements/{statement.pk}/paid", **{"If-Match": '"1"'})
    assert stale.status_code == 412
    done = post(
        finance, f"statements/{statement.pk}/paid", **{"If-Match": f'"{statement.version}"'}
    )
    assert done.json()["state"] == "paid"
    assert done["ETag"] == f'"{statement.version + 1}"'


def a_card(world: World, **more: object) -> dict[str, object]:
    return {
        "name": "Winter", "currency": "KRW", "tax_basis_points": 1000,
        "valid_from": "2026-12-01T00:00:00+09:00",
        "rates": [{"pool": world.pool.pk, "gpu_hour_micro": 15_000 * WON}], **more,
    }  # fmt: skip


def test_finance_sets_a_rate_card_once_under_its_key(finance: Client, world: World) -> None:
    key = {"Idempotency-Key": "winter"}
    first = post(finance, "rate-cards", a_card(world), **key)
    assert first.status_code == 201
    assert first.json()["rates"][0]["borrowed_milli"] == 1000
    assert post(finance, "rate-cards", a_card(world), **key).json() == first.json()
    assert RateCard.objects.count() == 2
    assert finance.get("/api/v1/rate-cards").json()["results"][0]["name"] == "Winter"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"valid_from": "2026-12-01T00:00:00"}, "valid_from"),
        ({"rates": []}, "rates"),
        ({"currency": "wons"}, "currency"),
        ({"discount": 5}, "discount"),
        ({"tax_basis_points": 20_000}, "tax_basis_points"),
    ],
)
def test_a_card_with_a_fault_is_refused_by_name(
    finance: Client, world: World, change: dict[str, object], field: str
) -> None:
    answer = post(finance, "rate-cards", a_card(world, **change))
    assert answer.status_code in (400, 422)
    assert field in answer.json()["fields"]
    assert RateCard.objects.count() == 1


def test_only_finance_writes(client: Client, world: World) -> None:
    client.force_login(builders.a_user("jihye", Role.ADMIN))
    statement = Statement.objects.get(team=world.vision)
    assert client.get("/api/v1/rate-cards").status_code == 200
    for path in ("months/2026-11/close", f"statements/{statement.pk}/paid", "rate-cards"):
        assert post(client, path, a_card(world)).status_code == 404


def test_the_reconciliation_shows_both_sides(finance: Client, world: World) -> None:
    found = finance.get("/api/v1/reconciliation?month=2026-11").json()
    assert found["adds_up"] is True
    assert found["gpu_milli_seconds"] == {
        "accounted": 1152 * HOUR, "capacity": 1152 * HOUR, "beyond": 0,
    }  # fmt: skip
    assert found["money_micro"]["cost"] == 13_824_000 * WON
    (pool,) = found["pools"]
    assert pool["gpu_milli_seconds"]["idle"] == 522 * HOUR
    missing = finance.get("/api/v1/reconciliation?month=2025-01")
    assert missing.json()["code"] == "not_computed"


def test_months_are_listed_with_their_state(finance: Client, world: World) -> None:
    (row,) = finance.get("/api/v1/months").json()["results"]
    assert (row["month"], row["state"]) == ("2026-11", "open")
