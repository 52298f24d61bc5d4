"""Which price holds when: rate cards read as stretches of one price.

A pool's own rate counts before that of its GPU model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from django.db.models import FilteredRelation

from portal.common.pages import once_a_page
from portal.finance.models import IdleRule, Rate, RateCard
from portal.finance.pricing import Price, Stretch
from portal.inventory import selectors as inventory
from portal.teams import selectors as teams


@dataclass(frozen=True, slots=True)
class Terms:
    """A card's prices by pool and by GPU model, and `bare`: its terms where it has no rate."""

    valid_from: datetime
    valid_to: datetime | None
    bare: Price
    pools: Mapping[int, Price] = field(default_factory=dict)
    models: Mapping[int, Price] = field(default_factory=dict)

    def holds_at(self, at: datetime) -> bool:
        """Whether an instant is billed by it."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def meets(self, from_at: datetime, to_at: datetime) -> bool:
        """Whether some instant of a period is billed by it."""
        return self.valid_from < to_at and (self.valid_to is None or self.valid_to > from_at)


@dataclass(frozen=True, slots=True)
class Book:
    """The cards of a period, in order, and the GPU model of each pool."""

    cards: tuple[Terms, ...]
    currency: str
    models: Mapping[int, int]

    def price(self, pool_id: int, at: datetime) -> Price:
        """The price of a pool at an instant; without a rate nothing costs anything."""
        card = next((card for card in self.cards if card.holds_at(at)), None)
        if card is None:
            return Price(currency=self.currency)
        of_model = card.models.get(self.models.get(pool_id, 0), card.bare)
        return card.pools.get(pool_id, of_model)

    def cuts(self, from_at: datetime, to_at: datetime) -> list[datetime]:
        """A period's ends and every instant between at which a card begins or ends."""
        begins = {max(from_at, card.valid_from) for card in self.cards}
        ends = {min(to_at, card.valid_to) for card in self.cards if card.valid_to}
        return sorted({from_at, to_at, *begins, *ends})


def read(from_at: datetime, to_at: datetime) -> Book:
    """The cards that hold at some time in a period."""
    return book_of(tuple(card for card in _every() if card.meets(from_at, to_at)))


@once_a_page
def _every() -> tuple[Terms, ...]:
    """All cards there ever were, which are few: one query."""
    cards: dict[int, tuple[RateCard, list[Rate]]] = {}
    named = RateCard.objects.annotate(one=FilteredRelation("rates"))
    # The types know no relation that the query itself names.
    rows = named.select_related("one")  # type: ignore[misc]
    for row in rows:
        rates = cards.setdefault(row.pk, (row, []))[1]
        rate: Rate | None = getattr(row, "one", None)
        rates += [rate] if rate is not None else []
    return tuple(terms_of(card, rates) for card, rates in cards.values())


def book_of(cards: tuple[Terms, ...]) -> Book:
    """These cards as a book; without one the currency is the organisation's."""
    currency = cards[0].bare.currency if cards else teams.get_organisation().currency
    return Book(cards=cards, currency=currency, models=inventory.pool_models())


def terms_of(card: RateCard, rates: Sequence[Rate]) -> Terms:
    """A card, saved or only proposed, as the terms it brings."""
    bare = Price(
        currency=card.currency,
        tax_basis_points=card.tax_basis_points,
        idle_rule=IdleRule(card.idle_rule),
    )
    prices = [(rate, _priced(bare, card, rate)) for rate in rates]
    return Terms(
        valid_from=card.valid_from,
        valid_to=card.valid_to,
        bare=bare,
        pools={rate.pool_id: price for rate, price in prices if rate.pool_id is not None},
        models={rate.gpu_model_id: p for rate, p in prices if rate.gpu_model_id is not None},
    )


def stretches(
    pool_ids: Sequence[int], from_at: datetime, to_at: datetime, book: Book | None = None
) -> list[list[Stretch]]:
    """The period cut where cards change; in each cut every pool at its price then."""
    if not pool_ids or to_at <= from_at:
        return []
    book = book or read(from_at, to_at)
    return [
        [Stretch(pool_id, first, last, book.price(pool_id, first)) for pool_id in pool_ids]
        for first, last in pairwise(book.cuts(from_at, to_at))
    ]


def _priced(bare: Price, card: RateCard, rate: Rate) -> Price:
    return replace(
        bare,
        card_id=card.pk or PROPOSED,
        gpu_hour_micro=rate.gpu_hour_micro,
        guaranteed_milli=rate.guaranteed_milli,
        reserved_milli=rate.reserved_milli,
        borrowed_milli=rate.borrowed_milli,
        reserved_unused_milli=rate.reserved_unused_milli,
    )


PROPOSED = 0
"""The id a card has that nobody has set."""
