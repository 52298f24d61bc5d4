"""The pages: figures as worked by hand, who sees them, and what finance does there."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.formats import date_format

from portal.common import clock
from portal.finance import services
from portal.finance.models import Month, RateCard, Statement, StatementState
from portal.inventory.models import Node
from portal.teams.models import Language, Role, Team, TeamTerm, User
from tests import builders
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    MONTH_ENDS,
    MONTH_STARTS,
    WON,
    World,
    at,
    three_days,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    monkeypatch.setattr(clock, "real_now", lambda: AFTER_THREE_DAYS)
    return made


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, world: World) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: MONTH_ENDS + timedelta(hours=1))
    return world


def signed_in(
    client: Client, role: Role, team: Team | None = None, language: str = Language.ENGLISH
) -> Client:
    user = builders.a_user(f"{role}-{team.slug if team else 'all'}-{language}", role, team)
    User.objects.filter(pk=user.pk).update(language=language)
    client.force_login(user)
    return client


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def rows_of(response: Any) -> list[list[str]]:
    body = b"".join(response.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(body)))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_month_shows_the_figures_worked_by_hand(
    client: Client, world: World, language: str
) -> None:
    page = text_of(signed_in(client, Role.FINANCE, language=language).get("/costs/?month=2026-11"))
    for figure in (
        "₩ 13,824,000", "₩ 3,758,400", "₩ 375,840", "₩ 2,988,000", "₩ 298,800", "₩ 7,077,600",
        ">288.0<", ">36.0<", ">240.0<", ">18.0<", ">522.0<", ">8.0<", ">4.0<", ">1,152.0<", "₩ 237,600",
    ):  # fmt: skip
        assert figure in page, figure
    assert date_format(at(1), "Y") in page
    assert 'class="verdict good"' in page


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_statement_shows_its_lines_and_its_tax_apart(
    client: Client, world: World, language: str
) -> None:
    statement = Statement.objects.get(team=world.vision)
    page = text_of(
        signed_in(client, Role.LEAD, world.vision, language).get(
            f"/costs/statements/{statement.pk}/"
        )
    )
    for figure in (
        ">288.0<", "₩ 12,000", "₩ 3,456,000", ">36.0<", "₩ 8,400", "₩ 302,400", "₩ 3,758,400",
        "₩ 375,840", "₩ 4,134,240",
    ):  # fmt: skip
        assert figure in page, figure


def test_a_month_that_does_not_add_up_is_red_and_says_why(client: Client, world: World) -> None:
    builders.use(world.vision, world.pool, at(1), at(1, 1), node=Node(pk=999))
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS + timedelta(hours=1))
    page = text_of(signed_in(client, Role.FINANCE).get("/costs/"))
    assert 'class="verdict bad"' in page
    assert "It does not add up: 1 GPU-hours were used on nodes that were not known then" in page


def test_a_lead_sees_their_branch_and_nobody_elses_cost(client: Client, world: World) -> None:
    signed_in(client, Role.LEAD, world.speech)
    page = text_of(client.get("/costs/?month=2026-11"))
    assert "Speech" in page
    assert "2,988,000" in page
    for secret in ("Vision", "3,758,400", "7,077,600", "13,824,000", "6,264,000"):
        assert secret not in page
    own, other, organisation = (
        Statement.objects.get(team=team).pk for team in (world.speech, world.vision, None)
    )
    assert client.get(f"/costs/statements/{own}/").status_code == 200
    assert client.get(f"/costs/statements/{own}.csv").status_code == 200
    unknown = client.get("/costs/statements/999999/")
    for hidden in (other, organisation):
        answer = client.get(f"/costs/statements/{hidden}/")
        assert answer.status_code == unknown.status_code == 404
        assert client.get(f"/costs/statements/{hidden}.csv").status_code == 404


def test_a_lead_of_a_department_sees_the_teams_below_it(client: Client, world: World) -> None:
    research = builders.a_team("research")
    TeamTerm.objects.filter(team=world.vision).update(parent=research)
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS + timedelta(hours=1))
    page = text_of(signed_in(client, Role.LEAD, research).get("/costs/"))
    assert "Research / Vision" in page
    assert "3,758,400" in page
    assert "Speech" not in page


def test_a_member_sees_no_cost_at_all(client: Client, world: World) -> None:
    signed_in(client, Role.MEMBER, world.vision)
    statement = Statement.objects.get(team=world.vision)
    for address in ("/costs/", f"/costs/statements/{statement.pk}/", "/costs/rates/"):
        assert client.get(address).status_code == 404


@pytest.mark.parametrize("role", [Role.LEAD, Role.ADMIN, Role.AUDITOR])
def test_only_finance_closes_pays_and_sets_rates(client: Client, later: World, role: Role) -> None:
    signed_in(client, role)
    statement = Statement.objects.get(team=later.vision)
    assert "Close the month" not in text_of(client.get("/costs/?month=2026-11"))
    for address in (
        "/costs/months/2026-11/close/", f"/costs/statements/{statement.pk}/paid/",
        "/costs/rates/next/",
    ):  # fmt: skip
        assert client.get(address).status_code == 404
        assert client.post(address).status_code == 404


def test_finance_closes_a_month_after_being_asked(client: Client, later: World) -> None:
    signed_in(client, Role.FINANCE)
    assert "Close the month" in text_of(client.get("/costs/?month=2026-11"))
    asked = client.get("/costs/months/2026-11/close/")
    assert "become final" in text_of(asked)
    assert Month.objects.get().state == StatementState.OPEN
    done = client.post("/costs/months/2026-11/close/", follow=True)
    assert "November 2026 is closed." in text_of(done)
    assert Month.objects.get(name="2026-11").state == StatementState.FINAL


def test_a_month_under_way_is_not_closed_and_the_page_says_so(client: Client, world: World) -> None:
    answer = signed_in(client, Role.FINANCE).post("/costs/months/2026-11/close/")
    assert answer.status_code == 409
    assert "2026-11 is not over." in text_of(answer)


@pytest.mark.parametrize("name", ["november", "2026-13", "0000-01"])
def test_a_month_that_is_none_is_not_found(client: Client, world: World, name: str) -> None:
    signed_in(client, Role.FINANCE)
    assert client.get(f"/costs/months/{name}/close/").status_code == 404
    assert client.get(f"/costs/?month={name}").status_code == 200


def test_a_month_without_statements_says_so(client: Client, world: World) -> None:
    page = text_of(signed_in(client, Role.FINANCE).get("/costs/?month=2026-12"))
    assert "No statements yet" in page


def test_finance_marks_a_final_statement_paid(client: Client, later: World) -> None:
    signed_in(client, Role.FINANCE)
    client.post("/costs/months/2026-11/close/")
    statement = Statement.objects.get(team=later.vision)
    assert "₩ 4,134,240" in text_of(client.get(f"/costs/statements/{statement.pk}/paid/"))
    page = text_of(client.post(f"/costs/statements/{statement.pk}/paid/", follow=True))
    assert "The statement is marked paid." in page
    statement.refresh_from_db()
    assert statement.state == StatementState.PAID


def test_the_month_as_csv_holds_plain_figures(client: Client, world: World) -> None:
    found = rows_of(signed_in(client, Role.FINANCE).get("/costs/?month=2026-11&format=csv"))
    vision = next(row for row in found if row[0] == "Vision")
    assert [float(cell) for cell in vision[1:7]] == [288, 0, 36, 0, 3_758_400, 375_840]


def test_a_statement_as_csv_holds_every_line_and_tax_apart(client: Client, world: World) -> None:
    statement = Statement.objects.get(team=world.speech)
    answer = signed_in(client, Role.FINANCE).get(f"/costs/statements/{statement.pk}.csv")
    found = rows_of(answer)
    assert found[0][0] == "What for"
    assert [(row[0], row[1], float(row[6]), float(row[8])) for row in found[1:3]] == [
        ("Use: guaranteed", "", 240, 2_880_000),
        ("Reserved, not used", f"R-{world.reservation.pk}", 18, 108_000),
    ]
    assert [(row[0], float(row[8])) for row in found[3:]] == [
        ("Without tax", 2_988_000), ("Tax", 298_800), ("With tax", 3_286_800),
    ]  # fmt: skip


def test_a_name_that_looks_like_a_formula_is_harmless_in_csv(client: Client, world: World) -> None:
    Team.objects.filter(pk=world.vision.pk).update(name="=cmd|' /C calc'!A0")
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS + timedelta(hours=1))
    found = rows_of(signed_in(client, Role.FINANCE).get("/costs/?month=2026-11&format=csv"))
    names = [row[0] for row in found]
    assert "'=cmd|' /C calc'!A0" in names
    assert not any(name.startswith("=") for name in names)


def test_rate_cards_are_listed_with_their_time(client: Client, world: World) -> None:
    page = text_of(signed_in(client, Role.LEAD, world.vision).get("/costs/rates/"))
    for words in ("Autumn 2026", "₩ 12,000", "× 0.7", "× 0.5", "Tax 10 %"):
        assert words in page
    assert "Set the next card" not in page


def card_form(world: World, **more: str) -> dict[str, str]:
    pool = world.pool.pk
    return {
        "name": "Winter", "currency": "KRW", "tax_percent": "10", "idle_rule": "own_line",
        "valid_from": "2026-12-01T00:00", f"rate_{pool}": "12345.5", f"guaranteed_{pool}": "1",
        f"reserved_{pool}": "1", f"borrowed_{pool}": "0.65", f"unused_{pool}": "0.5", **more,
    }  # fmt: skip


def test_finance_sets_the_next_card(client: Client, world: World) -> None:
    signed_in(client, Role.FINANCE)
    assert 'value="12000"' in text_of(client.get("/costs/rates/next/"))
    page = text_of(client.post("/costs/rates/next/", card_form(world), follow=True))
    assert "“Winter” is set." in page
    card = RateCard.objects.get(name="Winter")
    assert card.valid_from == MONTH_ENDS  # midnight in Seoul, where the page's reader is
    rate = card.rates.get()
    assert (rate.gpu_hour_micro, rate.borrowed_milli) == (12_345_500_000, 650)
    assert card.tax_basis_points == 1000


def test_a_refused_card_is_explained_on_the_form(client: Client, world: World) -> None:
    signed_in(client, Role.FINANCE)
    early = card_form(world, valid_from="2026-01-01T00:00")
    page = text_of(client.post("/costs/rates/next/", early))
    assert "It must begin after the newest card." in page
    nothing = card_form(world, **{f"rate_{world.pool.pk}": ""})
    page = text_of(client.post("/costs/rates/next/", nothing))
    assert "Give at least one pool a price." in page
    assert not RateCard.objects.filter(name="Winter").exists()


def test_a_rate_is_printed_with_all_the_digits_that_are_reckoned_with(
    client: Client, world: World
) -> None:
    RateCard.objects.get().rates.update(gpu_hour_micro=12_345_678_900)
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS + timedelta(hours=1))
    statement = Statement.objects.get(team=world.vision)
    page = text_of(signed_in(client, Role.FINANCE).get(f"/costs/statements/{statement.pk}/"))
    assert "12,345.6789 KRW" in page
    # 288 x 12,345.6789 = 3,555,555.5232 won
    assert "₩ 3,555,556" in page
    assert Statement.objects.filter(total_micro__gt=3_555_556 * WON).exists()
