"""Setting prices: the open card is closed and the next one opened, nothing is edited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid
from portal.finance import cards, months
from portal.finance.cards import Terms
from portal.finance.models import IdleRule, Month, Rate, RateCard, StatementState
from portal.inventory.models import GPUModel, Pool

LARGEST_RATE = 10**12
"""Ten thousand GPUs for a month at this rate still fit into a column of whole micro-units."""
LARGEST_MULTIPLIER = 100_000


@dataclass(frozen=True, slots=True)
class NewRate:
    """What a GPU-hour of a pool, or of a GPU model's pools, shall cost; multipliers in thousandths.

    Either `pool_id` or `gpu_model_id` is given; the price is in micro-units.
    """

    pool_id: int | None
    gpu_hour_micro: int
    guaranteed_milli: int = 1000
    reserved_milli: int = 1000
    borrowed_milli: int = 1000
    reserved_unused_milli: int = 1000
    gpu_model_id: int | None = None


@transaction.atomic
def set_rate_card(
    *,
    name: str,
    currency: str,
    valid_from: datetime,
    rates: Sequence[NewRate],
    actor_id: int | None,
    now: datetime,
    tax_basis_points: int = 0,
    idle_rule: str = IdleRule.OWN_LINE,
) -> RateCard:
    """Close the open card at `valid_from` and open the next.

    Raises `Invalid` for figures that make no sense, and `Conflict` when the card would reach into
    a closed month, begin before the open one, or bring another currency into a month.
    """
    check_figures(name, currency, rates, tax_basis_points, idle_rule)
    current = RateCard.objects.select_for_update(no_key=True).filter(valid_to__isnull=True).first()
    _check_time(valid_from, current)
    _check_currency(currency, valid_from, current)
    if current is not None:
        current.valid_to = valid_from
        current.save(update_fields=["valid_to"])
    card = RateCard.objects.create(
        name=name, currency=currency, tax_basis_points=tax_basis_points, idle_rule=idle_rule,
        valid_from=valid_from, created_by_id=actor_id, created_at=now,
    )  # fmt: skip
    Rate.objects.bulk_create(as_row(card, given) for given in rates)
    audit.record(
        actor_id=actor_id, action="finance.rate_card_set", target_type="rate_card",
        target_id=card.pk, data=_as_data(card, rates, current),
    )  # fmt: skip
    return card


def propose(
    *,
    name: str,
    currency: str,
    rates: Sequence[NewRate],
    tax_basis_points: int = 0,
    idle_rule: str = IdleRule.OWN_LINE,
) -> Terms:
    """The terms of a card nobody has set, for a preview. Raises `Invalid` as setting it would."""
    check_figures(name, currency, rates, tax_basis_points, idle_rule)
    card = RateCard(
        name=name, currency=currency, tax_basis_points=tax_basis_points, idle_rule=idle_rule,
        valid_from=datetime.min.replace(tzinfo=UTC),
    )  # fmt: skip
    return cards.terms_of(card, [as_row(card, given) for given in rates])


def as_row(card: RateCard, given: NewRate) -> Rate:
    """A rate as its row, not saved."""
    return Rate(
        card=card, pool_id=given.pool_id, gpu_model_id=given.gpu_model_id,
        gpu_hour_micro=given.gpu_hour_micro, guaranteed_milli=given.guaranteed_milli,
        reserved_milli=given.reserved_milli, borrowed_milli=given.borrowed_milli,
        reserved_unused_milli=given.reserved_unused_milli,
    )  # fmt: skip


def check_figures(
    name: str,
    currency: str,
    rates: Sequence[NewRate],
    tax_basis_points: int,
    idle_rule: str,
) -> None:
    """Raise `Invalid` for figures of a card that make no sense, all at once."""
    faults: dict[str, str] = {}
    if not name.strip():
        faults["name"] = _("Give the card a name.")
    if not (
        len(currency) == 3 and currency.isascii() and currency.isalpha() and currency.isupper()
    ):
        faults["currency"] = _("Name the currency by its three capital letters, such as KRW.")
    if not 0 <= tax_basis_points <= 10_000:
        faults["tax_basis_points"] = _("Tax lies between 0 and 100 %.")
    if idle_rule not in IdleRule.values:
        faults["idle_rule"] = _("Choose one of the ways to treat idle time.")
    fault = _fault_of_rates(rates)
    if fault:
        faults["rates"] = fault
    if faults:
        raise Invalid(_("The rate card has faults."), fields=faults)


def _fault_of_rates(rates: Sequence[NewRate]) -> str:
    if not rates:
        return _("Give at least one pool a rate.")
    if any((given.pool_id is None) == (given.gpu_model_id is None) for given in rates):
        return _("A rate is either a pool's or a GPU model's.")
    pools = [given.pool_id for given in rates if given.pool_id is not None]
    gpu_models = [given.gpu_model_id for given in rates if given.gpu_model_id is not None]
    if len({*pools}) != len(pools) or len({*gpu_models}) != len(gpu_models):
        return _("Each pool has one rate on a card.")
    if Pool.objects.filter(pk__in=pools).count() != len(pools):
        return _("There is no such pool.")
    if GPUModel.objects.filter(pk__in=gpu_models).count() != len(gpu_models):
        return _("There is no such GPU model.")
    if not all(0 <= given.gpu_hour_micro <= LARGEST_RATE for given in rates):
        return _("A rate is 0 or more, and at most a million a GPU-hour.")
    multipliers = [
        milli
        for given in rates
        for milli in (
            given.guaranteed_milli,
            given.reserved_milli,
            given.borrowed_milli,
            given.reserved_unused_milli,
        )
    ]
    if not all(0 <= milli <= LARGEST_MULTIPLIER for milli in multipliers):
        return _("A multiplier lies between 0 and 100.")
    return ""


def _check_time(valid_from: datetime, current: RateCard | None) -> None:
    """A card neither reaches into a closed month nor begins before the one it follows."""
    closed = Month.objects.filter(state=StatementState.FINAL).order_by("-ends_at").first()
    if closed is not None and valid_from < closed.ends_at:
        raise Conflict(
            _("%(month)s is closed. Let the card begin on or after its end.")
            % {"month": closed.name},
            code="month_closed",
            fields={"valid_from": _("It lies in a closed month.")},
            details={"month": closed.name, "ends_at": closed.ends_at.isoformat()},
        )
    if current is not None and valid_from <= current.valid_from:
        raise Conflict(
            _("“%(card)s” begins at that time or later. Let the next card begin after it.")
            % {"card": current.name},
            code="card_follows",
            fields={"valid_from": _("It must begin after the newest card.")},
            details={"card_id": current.pk, "valid_from": current.valid_from.isoformat()},
        )


def _check_currency(currency: str, valid_from: datetime, current: RateCard | None) -> None:
    """A month has one currency, and late use of a closed month is billed in that month's."""
    if current is None or current.currency == currency:
        return
    fields = {
        "currency": _("The card before it is in %(currency)s.") % {"currency": current.currency}
    }
    if Month.objects.filter(state=StatementState.FINAL).exists():
        raise Conflict(
            _("The currency cannot change any more: months have been closed in %(currency)s.")
            % {"currency": current.currency},
            code="currency_settled",
            fields=fields,
        )
    if months.find(valid_from).starts_at != valid_from:
        raise Conflict(
            _("Another currency can only begin with a month."),
            code="currency_in_month",
            fields=fields,
        )


def _as_data(
    card: RateCard, rates: Sequence[NewRate], before: RateCard | None
) -> dict[str, object]:
    return {
        "valid_from": card.valid_from.isoformat(),
        "currency": card.currency,
        "tax_basis_points": card.tax_basis_points,
        "idle_rule": card.idle_rule,
        "closes": before.pk if before else None,
        "rates": [
            {
                "pool": given.pool_id,
                "gpu_model": given.gpu_model_id,
                "gpu_hour_micro": given.gpu_hour_micro,
                "guaranteed": given.guaranteed_milli,
                "reserved": given.reserved_milli,
                "borrowed": given.borrowed_milli,
                "reserved_unused": given.reserved_unused_milli,
            }
            for given in rates
        ],
    }
