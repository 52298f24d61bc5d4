"""Rate cards as pages see them, and what something would cost before it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.common.clock import whole_seconds
from portal.common.pages import once_a_page
from portal.finance import cards, pricing
from portal.finance.models import Rate, RateCard
from portal.finance.selectors import presentation
from portal.inventory.models import GPUModel, Pool
from portal.reservations.models import Source


@dataclass(frozen=True, slots=True)
class RateRow:
    """What a GPU-hour costs, and its multipliers in thousandths.

    `pool_id` None is the rate of every pool of `gpu_model` without one of its own.
    """

    pool_id: int | None
    gpu_model_id: int | None
    pool_name: str
    gpu_model: str
    gpu_hour_micro: int
    guaranteed_milli: int
    reserved_milli: int
    borrowed_milli: int
    reserved_unused_milli: int


@dataclass(frozen=True, slots=True)
class RateCardRow:
    """A card with its rates; `valid_to` None is until the next one is set."""

    id: int
    name: str
    currency: str
    tax_basis_points: int
    idle_rule: str
    idle_rule_label: str
    valid_from: datetime
    valid_to: datetime | None
    rates: tuple[RateRow, ...]

    def holds_at(self, at: datetime) -> bool:
        """Whether it is the card of an instant."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What so many GPUs for a while would cost, without tax, at the rates known now.

    `amount_micro` if all of it is used; `unused_micro` if none of it is: what is held in the
    pool is paid for, what is only fenced inside the team's own guarantee is not.
    """

    amount_micro: int
    unused_micro: int
    tax_micro: int
    currency: str
    gpu_milli_seconds: int


@once_a_page
def list_rate_cards() -> list[RateCardRow]:
    """Every card, newest first."""
    found = RateCard.objects.order_by("-valid_from").prefetch_related(
        "rates__pool__gpu_model", "rates__gpu_model"
    )
    return [_card_row(card) for card in found]


def currency_at(at: datetime) -> str:
    """What is billed in at an instant."""
    return cards.read(at, at + timedelta(seconds=1)).currency


def list_gpu_models() -> list[tuple[int, str]]:
    """The models pools have, by name."""
    models = GPUModel.objects.filter(pk__in=Pool.objects.values("gpu_model_id"))
    return list(models.order_by("name").values_list("pk", "name"))


def get_card_at(at: datetime) -> RateCardRow | None:
    """The card that holds at an instant."""
    return next((card for card in list_rate_cards() if card.holds_at(at)), None)


def estimate(
    *,
    pool_id: int,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime,
    source: str = Source.POOL,
    charged_to: str = "",
) -> Estimate | None:
    """The price of holding GPUs of a pool; None where some of it has no rate, or none is shown.

    `source` decides what its use is charged to (the pool: reserved, the guarantee: guaranteed)
    unless `charged_to` says otherwise.
    """
    if not presentation.shows_money():
        return None
    charged_to = charged_to or _CHARGED[Source(source)]
    used: list[tuple[int, int]] = []
    unused = quantity = 0
    currencies: set[str] = set()
    for (stretch,) in cards.stretches([pool_id], starts_at, ends_at):
        price = stretch.price
        if price.card_id is None:
            return None
        seconds = whole_seconds(stretch.to_at) - whole_seconds(stretch.from_at)
        amount = gpus * 1000 * seconds
        quantity += amount
        currencies.add(price.currency)
        paid = pricing.amount(amount, price.for_use(charged_to), price.currency)
        used.append((paid, price.tax_basis_points))
        if charged_to == "reserved":
            unused += pricing.amount(amount, price.for_unused(), price.currency)
    if len(currencies) != 1:
        return None
    currency = currencies.pop()
    return Estimate(
        amount_micro=sum(paid for paid, _ in used),
        unused_micro=unused,
        tax_micro=pricing.tax(used, currency),
        currency=currency,
        gpu_milli_seconds=quantity,
    )


_CHARGED: Mapping[Source, str] = {Source.POOL: "reserved", Source.GUARANTEE: "guaranteed"}


def _model_of(rate: Rate) -> str:
    if rate.pool is not None:
        return rate.pool.gpu_model.name
    return rate.gpu_model.name if rate.gpu_model is not None else ""


def _card_row(card: RateCard) -> RateCardRow:
    return RateCardRow(
        id=card.pk,
        name=card.name,
        currency=card.currency,
        tax_basis_points=card.tax_basis_points,
        idle_rule=card.idle_rule,
        idle_rule_label=str(card.get_idle_rule_display()),
        valid_from=card.valid_from,
        valid_to=card.valid_to,
        rates=tuple(
            RateRow(
                pool_id=rate.pool_id,
                gpu_model_id=rate.gpu_model_id,
                pool_name=rate.pool.name if rate.pool else "",
                gpu_model=_model_of(rate),
                gpu_hour_micro=rate.gpu_hour_micro,
                guaranteed_milli=rate.guaranteed_milli,
                reserved_milli=rate.reserved_milli,
                borrowed_milli=rate.borrowed_milli,
                reserved_unused_milli=rate.reserved_unused_milli,
            )
            for rate in sorted(card.rates.all(), key=lambda r: (r.pool_id or 0, r.pk))
        ),
    )
