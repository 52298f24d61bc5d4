"""A statement in the columns of FOCUS 1.2, which cost tools of every provider read.

Quantities are GPU-hours, times are UTC, and the billed costs of an invoice, its tax rows among
them, add up to what is to be paid. `Unused` capacity reservations are what was reserved and not
used; a row of class `Correction` makes good an earlier month.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from portal.common import money
from portal.finance import cards, pricing, words
from portal.finance.cards import Book
from portal.finance.models import LineKind
from portal.finance.selectors import LineRow, StatementDetail, StatementRow
from portal.teams import selectors as teams
from portal.workloads.models import ChargedTo

COLUMNS = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName",
    "BillingAccountType", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
    "CapacityReservationId", "CapacityReservationStatus", "ChargeCategory", "ChargeClass",
    "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountName",
    "CommitmentDiscountQuantity", "CommitmentDiscountStatus", "CommitmentDiscountType",
    "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost",
    "ListUnitPrice", "PricingCategory", "PricingCurrency",
    "PricingCurrencyContractedUnitPrice", "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice", "PricingQuantity", "PricingUnit", "ProviderName",
    "PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName", "ResourceType",
    "ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter",
    "SkuPriceDetails", "SkuPriceId", "SubAccountId", "SubAccountName", "SubAccountType", "Tags",
)  # fmt: skip
UNIT = "GPU-Hours"
_HOURS_DIGITS = Decimal(1).scaleb(-9)
Values = dict[str, object]


def rows(details: Iterator[StatementDetail]) -> Iterator[tuple[object, ...]]:
    """The header, then every line and tax of these statements."""
    yield COLUMNS
    organisation = teams.get_organisation().name
    for detail in details:
        book = cards.read(detail.statement.period_starts_at, detail.statement.period_ends_at)
        common = _common(detail.statement, organisation)
        for line in detail.lines:
            yield _as_row({**common, **_line(line, detail.statement, book)})
        for points in sorted({line.tax_basis_points for line in detail.lines} - {0}):
            yield _as_row({**common, **_tax(detail, points)})


def _as_row(values: Values) -> tuple[object, ...]:
    return tuple(values.get(column) for column in COLUMNS)


def _common(statement: StatementRow, organisation: str) -> Values:
    return {
        "BillingAccountId": "organisation", "BillingAccountName": organisation,
        "BillingAccountType": "Organisation", "BillingCurrency": statement.currency,
        "BillingPeriodStart": _time(statement.period_starts_at),
        "BillingPeriodEnd": _time(statement.period_ends_at),
        "InvoiceId": f"S-{statement.id}", "InvoiceIssuerName": organisation,
        "ProviderName": organisation, "PublisherName": organisation,
        "PricingCurrency": statement.currency, "ServiceCategory": "Compute",
        "ServiceName": "GPU pools", "ServiceSubcategory": "Other (Compute)",
        "SubAccountId": "" if statement.team_id is None else f"team-{statement.team_id}",
        "SubAccountName": statement.team_path or statement.team_name,
        "SubAccountType": "Organisation" if statement.team_id is None else "Team",
    }  # fmt: skip


def _line(line: LineRow, statement: StatementRow, book: Book) -> Values:
    kind = line.adjusts or line.kind
    hours = line.gpu_hours.quantize(_HOURS_DIGITS)
    cost = money.from_micro(line.amount_micro)
    list_rate = book.price(line.pool_id or 0, line.from_at).gpu_hour_micro
    list_cost = pricing.amount(line.gpu_milli_seconds, list_rate, statement.currency)
    is_quantity = kind is not LineKind.RATE_DIFFERENCE
    price = money.from_micro(line.rate_micro) if is_quantity else None
    plain = money.from_micro(list_rate) if is_quantity else None
    unused = kind is LineKind.RESERVED_UNUSED
    return {
        "BilledCost": cost, "EffectiveCost": cost, "ContractedCost": cost,
        "ListCost": money.from_micro(list_cost) if is_quantity else cost,
        "PricingCurrencyEffectiveCost": cost,
        "ContractedUnitPrice": price, "PricingCurrencyContractedUnitPrice": price,
        "ListUnitPrice": plain, "PricingCurrencyListUnitPrice": plain,
        "ChargeCategory": "Usage" if is_quantity else "Adjustment",
        "ChargeClass": "Correction" if line.adjusts or statement.revision else None,
        "ChargeDescription": words.line(line), "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": _time(line.from_at), "ChargePeriodEnd": _time(line.to_at),
        "CapacityReservationId": f"R-{line.reservation_id}" if line.reservation_id else None,
        "CapacityReservationStatus": _reservation_status(line, unused=unused),
        "ConsumedQuantity": hours if is_quantity and not unused else None,
        "ConsumedUnit": UNIT if is_quantity and not unused else None,
        "PricingQuantity": hours if is_quantity else None,
        "PricingUnit": UNIT if is_quantity else None,
        "PricingCategory": _category(line) if is_quantity else None,
        "ResourceId": f"pool-{line.pool_id}", "ResourceName": line.pool_name,
        "ResourceType": "GPU pool",
        "SkuId": f"{line.gpu_model} {line.charged_to or kind}".strip(), "SkuMeter": "GPU time",
        "SkuPriceId": f"card-{line.rate_card_id}" if line.rate_card_id else None,
        "SkuPriceDetails": json.dumps({"x_GpuModel": line.gpu_model}, ensure_ascii=False),
        "Tags": json.dumps({"kind": kind, "charged_to": line.charged_to or ""}),
    }  # fmt: skip


def _reservation_status(line: LineRow, *, unused: bool) -> str | None:
    if not line.reservation_id:
        return None
    return "Unused" if unused else "Used"


def _category(line: LineRow) -> str:
    return "Dynamic" if line.charged_to is ChargedTo.BORROWED else "Standard"


def _tax(detail: StatementDetail, points: int) -> Values:
    taxed = [(row.amount_micro, points) for row in detail.lines if row.tax_basis_points == points]
    cost = money.from_micro(pricing.tax(taxed, detail.statement.currency))
    statement = detail.statement
    return {
        "BilledCost": cost, "EffectiveCost": cost, "ContractedCost": cost, "ListCost": cost,
        "PricingCurrencyEffectiveCost": cost, "ChargeCategory": "Tax",
        "ChargeDescription": f"{Decimal(points) / 100} %", "ChargeFrequency": "Recurring",
        "ChargePeriodStart": _time(statement.period_starts_at),
        "ChargePeriodEnd": _time(statement.period_ends_at),
    }  # fmt: skip


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
