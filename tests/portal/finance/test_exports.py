"""A statement as spreadsheet, PDF and FOCUS file says what its page says."""

import csv
import io
import re
import zipfile
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from portal.finance import focus, printing, selectors, services
from portal.finance.models import Statement, StatementPrint
from portal.teams.models import Role, User
from tests import builders
from tests import services as programs
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    MONTH_ENDS,
    MONTH_STARTS,
    World,
    three_days,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    made = three_days()
    services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)
    return made


@pytest.fixture
def finance(world: World, client: Client) -> Client:
    client.force_login(builders.a_user("boram", Role.FINANCE))
    return client


def content(answer: Any) -> bytes:
    assert answer.status_code == 200
    return b"".join(answer) if answer.streaming else answer.content


def cells(client: Client, address: str) -> str:
    """All text and numbers of a spreadsheet."""
    with zipfile.ZipFile(io.BytesIO(content(client.get(address)))) as book:
        return "".join(book.read(n).decode() for n in book.namelist() if n.endswith(".xml"))


def test_the_spreadsheet_has_every_line_and_the_sums(finance: Client, world: World) -> None:
    statement = Statement.objects.get(team=world.vision)
    for address in (
        f"/costs/statements/{statement.pk}.xlsx", f"/api/v1/statements/{statement.pk}.xlsx",
    ):  # fmt: skip
        text = cells(finance, address)
        for figure in ("288", "3456000", "302400", "375840", "4134240", "November 2026"):
            assert figure in text, figure


def test_a_name_that_looks_like_a_formula_stays_a_name(finance: Client, world: World) -> None:
    Statement.objects.filter(team=world.vision).update(team_path='=HYPERLINK("x")')
    text = cells(finance, f"/costs/statements/{Statement.objects.get(team=world.vision).pk}.xlsx")
    assert "<f>" not in text
    assert "=HYPERLINK" in text


def focus_rows(client: Client, address: str) -> list[dict[str, str]]:
    text = content(client.get(address)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_57_columns_of_focus_are_there_and_those_that_must_be_are_filled(
    finance: Client, world: World
) -> None:
    assert len(focus.COLUMNS) == len(set(focus.COLUMNS)) == 57
    rows = focus_rows(finance, "/costs/months/2026-11.focus.csv")
    assert rows == focus_rows(finance, "/api/v1/months/2026-11.focus.csv")
    never_null = (
        "BilledCost", "EffectiveCost", "ListCost", "ContractedCost", "BillingAccountId",
        "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart",
        "ChargePeriodEnd", "ChargeCategory", "ProviderName", "PublisherName",
        "InvoiceIssuerName", "ServiceCategory", "ServiceName",
    )  # fmt: skip
    for row in rows:
        assert list(row) == list(focus.COLUMNS)
        assert all(row[name] for name in never_null), row
        assert row["ChargeCategory"] in {"Usage", "Tax", "Adjustment"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["ChargePeriodStart"])


def test_billed_costs_add_up_to_each_invoice_with_its_tax(finance: Client, world: World) -> None:
    rows = focus_rows(finance, "/costs/months/2026-11.focus.csv")
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[row["InvoiceId"]] = sums.get(row["InvoiceId"], Decimal()) + Decimal(row["BilledCost"])
    assert sums == {
        f"S-{s.pk}": Decimal(s.total_micro + s.tax_micro) / 10**6 for s in Statement.objects.all()
    }


def test_a_reservation_and_a_discount_read_as_focus_has_them(finance: Client, world: World) -> None:
    speech = Statement.objects.get(team=world.speech)
    rows = focus_rows(finance, f"/costs/statements/{speech.pk}.focus.csv")
    (unused,) = [row for row in rows if row["CapacityReservationStatus"] == "Unused"]
    assert unused["CapacityReservationId"] == f"R-{world.reservation.pk}"
    assert (unused["PricingQuantity"], unused["ConsumedQuantity"]) == ("18.000000000", "")
    # 18 x 6,000 billed, 18 x 12,000 by the list.
    assert Decimal(unused["BilledCost"]) == 108_000
    assert Decimal(unused["ListCost"]) == 216_000
    vision = Statement.objects.get(team=world.vision)
    rows = focus_rows(finance, f"/costs/statements/{vision.pk}.focus.csv")
    borrowed = next(row for row in rows if row["PricingCategory"] == "Dynamic")
    assert borrowed["ConsumedQuantity"] == "36.000000000"
    assert Decimal(borrowed["ListUnitPrice"]) == 12_000
    assert Decimal(borrowed["ContractedUnitPrice"]) == 8_400


@pytest.mark.parametrize(("language", "word"), [("en", "To pay"), ("ko", "납부")])
def test_the_printed_page_has_every_figure_in_the_readers_language(
    world: World, language: str, word: str
) -> None:
    from django.utils import translation

    statement = Statement.objects.get(team=world.vision)
    detail = selectors.get_statement(statement_id=statement.pk)
    with translation.override(language):
        page = printing.page(detail, language=language)
    for figure in ("₩ 3,456,000", "₩ 302,400", "₩ 375,840", "₩ 4,134,240", "288", "8,400"):
        assert figure in page, figure
    assert f'lang="{language}"' in page
    assert (word in page) or language == "ko"


@pytest.mark.skipif(not programs.found("libpangoft2-1.0.so"), reason="Pango is not installed")
def test_a_pdf_is_laid_out_once_for_a_version_and_a_language(finance: Client, world: World) -> None:
    statement = Statement.objects.get(team=world.vision)
    for address in (
        f"/costs/statements/{statement.pk}.pdf", f"/api/v1/statements/{statement.pk}.pdf",
    ):  # fmt: skip
        assert content(finance.get(address)).startswith(b"%PDF-")
    assert StatementPrint.objects.count() == 1
    User.objects.filter(username="boram").update(language="ko")
    assert content(finance.get(f"/costs/statements/{statement.pk}.pdf")).startswith(b"%PDF-")
    assert set(StatementPrint.objects.values_list("language", flat=True)) == {"en", "ko"}


def test_while_it_is_laid_out_the_reader_waits_and_a_fault_is_said(
    finance: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = Statement.objects.get(team=world.vision)
    monkeypatch.setattr(services, "print_due", lambda now: 0)
    answer = finance.get(f"/costs/statements/{statement.pk}.pdf")
    assert (answer.status_code, answer["Refresh"]) == (202, "3")
    answer = finance.get(f"/api/v1/statements/{statement.pk}.pdf")
    assert (answer.status_code, answer["Retry-After"]) == (202, "3")
    StatementPrint.objects.update(fault="Pango is missing.")
    answer = finance.get(f"/costs/statements/{statement.pk}.pdf")
    assert answer.status_code == 501
    assert "Pango is missing." in answer.content.decode()
    assert finance.get(f"/api/v1/statements/{statement.pk}.pdf").status_code == 501


def test_a_statement_is_printed_from_our_own_files_only() -> None:
    for url in ("https://example.org/x.css", "file:///etc/passwd", "file:///../x"):
        with pytest.raises(ValueError, match="our own files"):
            printing.own_file(url)
    assert AFTER_THREE_DAYS < MONTH_ENDS
