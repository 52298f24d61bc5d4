"""Which price holds when: rate cards read as stretches of one price."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from django.db.models import Q

from portal.finance.models import IdleRule, RateCard
from portal.finance.pricing import Price, Stretch
from portal.teams import selectors as teams


def read(from_at: datetime, to_at: datetime) -> list[RateCard]:
    """The cards that hold at some time in the period, in order, with their rates."""
    return list(
        RateCard.objects.filter(valid_from__lt=to_at)
        .filter(Q(valid_to__isnull=True) | Q(valid_to__gt=from_at))
        .prefetch_related("rates")
    )


def stretches(pool_ids: Sequence[int], from_at: datetime, to_at: datetime) -> list[list[Stretch]]:
    """The period cut where cards change; in each cut every pool at its price then."""
    if not pool_ids or to_at <= from_at:
        return []
    cards = read(from_at, to_at)
    begins = {max(from_at, card.valid_from) for card in cards}
    ends = {min(to_at, card.valid_to) for card in cards if card.valid_to}
    currency = currency_of(cards)
    return [
        [
            Stretch(pool_id, first, last, _price(cards, currency, pool_id, first))
            for pool_id in pool_ids
        ]
        for first, last in pairwise(sorted({from_at, to_at, *begins, *ends}))
    ]


def currency_of(cards: Sequence[RateCard]) -> str:
    """The currency of these cards, of which there is one; without a card the organisation's."""
    return cards[0].currency if cards else teams.get_organisation().currency


def _price(cards: Sequence[RateCard], currency: str, pool_id: int, at: datetime) -> Price:
    """The price of a pool at an instant; without a rate nothing costs anything."""
    card = next(
        (c for c in cards if c.valid_from <= at and (not c.valid_to or at < c.valid_to)), None
    )
    if card is None:
        return Price(currency=currency)
    terms = Price(
        currency=card.currency,
        tax_basis_points=card.tax_basis_points,
        idle_rule=IdleRule(card.idle_rule),
    )
    rate = next((r for r in card.rates.all() if r.pool_id == pool_id), None)
    if rate is None:
        return terms
    return replace(
        terms,
        card_id=card.pk,
        gpu_hour_micro=rate.gpu_hour_micro,
        guaranteed_milli=rate.guaranteed_milli,
        reserved_milli=rate.reserved_milli,
        borrowed_milli=rate.borrowed_milli,
        reserved_unused_milli=rate.reserved_unused_milli,
    )
