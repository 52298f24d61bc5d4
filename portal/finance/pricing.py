"""From GPU-time to money, exactly. No database.

A line is quantity times the rate printed on it, rounded once to what the currency can pay. The
rate printed is the pool's rate times its multiplier, in whole micro-units, half-even. The pool's
cost is capacity times time times the plain rate, rounded once; what multipliers and roundings
make of it stands in one line of its own, so that all lines of a pool add up to its cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal, localcontext
from fractions import Fraction

from portal.common import money
from portal.finance.models import IdleRule, LineKind
from portal.finance.reckoning import Reckoning, split

MILLI_SECONDS_PER_GPU_HOUR = 3_600_000
THOUSAND = 1000
BASIS_POINTS = 10_000
_DIGITS = 60


@dataclass(frozen=True, slots=True)
class Price:
    """What a pool costs, and how the card it is from treats tax and idle time."""

    gpu_hour_micro: int = 0
    guaranteed_milli: int = THOUSAND
    reserved_milli: int = THOUSAND
    borrowed_milli: int = THOUSAND
    reserved_unused_milli: int = THOUSAND
    card_id: int | None = None
    currency: str = "KRW"
    tax_basis_points: int = 0
    idle_rule: IdleRule = IdleRule.OWN_LINE

    def for_use(self, charged_to: str) -> int:
        """The rate of use charged to this, in micro-units a GPU-hour."""
        multipliers = {
            "guaranteed": self.guaranteed_milli,
            "reserved": self.reserved_milli,
            "borrowed": self.borrowed_milli,
        }
        return self._times(multipliers[charged_to])

    def for_unused(self) -> int:
        """The rate of what is reserved and not used."""
        return self._times(self.reserved_unused_milli)

    def _times(self, milli: int) -> int:
        return round(Fraction(self.gpu_hour_micro * milli, THOUSAND))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A pool for as long as one price holds: half-open, within one month."""

    pool_id: int
    from_at: datetime
    to_at: datetime
    price: Price


@dataclass(frozen=True, slots=True)
class Draft:
    """A line before it is a row; team None is the organisation's own."""

    team_id: int | None
    kind: LineKind
    pool_id: int
    from_at: datetime
    to_at: datetime
    charged_to: str = ""
    reservation_id: int | None = None
    gpu_milli_seconds: int = 0
    rate_micro: int = 0
    amount_micro: int = 0
    tax_basis_points: int = 0
    rate_card_id: int | None = None
    idle_rule: str = ""
    adjusts: str = ""


def amount(gpu_milli_seconds: int, rate_micro: int, currency: str) -> int:
    """GPU-time times a rate a GPU-hour, in micro-units, rounded once."""
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(gpu_milli_seconds * rate_micro) / MILLI_SECONDS_PER_GPU_HOUR
        return money.round_micro(exact / money.MICRO, currency)


def tax(lines: Sequence[tuple[int, int]], currency: str) -> int:
    """The tax on (amount, basis points) pairs: each rate's sum is taxed and rounded once."""
    sums: dict[int, int] = {}
    for amount_micro, basis_points in lines:
        sums[basis_points] = sums.get(basis_points, 0) + amount_micro
    with localcontext() as context:
        context.prec = _DIGITS
        return sum(
            money.round_micro(Decimal(net * points) / (BASIS_POINTS * money.MICRO), currency)
            for points, net in sums.items()
        )


def price_pool(
    stretch: Stretch,
    reckoning: Reckoning,
    *,
    holders: Mapping[int, int],
    weights: Mapping[int, int],
) -> list[Draft]:
    """Every line of one pool in one stretch; they add up to its cost.

    `holders` says whose each reservation is, `weights` how idle time is shared where it is.
    """
    drafts = [
        *_use(stretch, reckoning),
        *_unused(stretch, reckoning, holders),
        *_idle(stretch, reckoning.idle, weights),
        *_own(stretch, LineKind.MAINTENANCE, reckoning.maintenance),
        *_own(stretch, LineKind.DOWN, reckoning.down),
        *_own(stretch, LineKind.BEYOND, -reckoning.beyond),
    ]
    cost = amount(reckoning.capacity, stretch.price.gpu_hour_micro, stretch.price.currency)
    difference = cost - sum(draft.amount_micro for draft in drafts)
    if difference:
        line = _draft(stretch, LineKind.RATE_DIFFERENCE, None, 0, 0)
        drafts.append(replace(line, amount_micro=difference))
    return drafts


def _use(stretch: Stretch, reckoning: Reckoning) -> list[Draft]:
    drafts: dict[tuple[int | None, str, int | None], int] = {}
    for key, quantity in reckoning.use.items():
        reservation_id = key.reservation_id if key.charged_to == "reserved" else None
        owned = (key.team_id, key.charged_to, reservation_id)
        line = owned if key.team_id is not None else (None, "", None)
        drafts[line] = drafts.get(line, 0) + quantity
    return [
        _draft(stretch, LineKind.UNOWNED, None, quantity, stretch.price.gpu_hour_micro)
        if team_id is None
        else replace(
            _draft(stretch, LineKind.USE, team_id, quantity, stretch.price.for_use(charged_to)),
            charged_to=charged_to,
            reservation_id=reservation_id,
        )
        for (team_id, charged_to, reservation_id), quantity in drafts.items()
        if quantity
    ]


def _unused(stretch: Stretch, reckoning: Reckoning, holders: Mapping[int, int]) -> list[Draft]:
    rate = stretch.price.for_unused()
    return [
        replace(
            _draft(stretch, LineKind.RESERVED_UNUSED, holders[reservation_id], quantity, rate),
            reservation_id=reservation_id,
        )
        for reservation_id, quantity in reckoning.reserved_unused.items()
    ]


def _idle(stretch: Stretch, idle: int, weights: Mapping[int, int]) -> list[Draft]:
    """Idle time as the organisation's line, or shared out in whole milli-GPU-seconds."""
    rule = stretch.price.idle_rule
    sharers = {team_id: weight for team_id, weight in sorted(weights.items()) if weight > 0}
    if rule is IdleRule.OWN_LINE or not sharers:
        return _own(stretch, LineKind.IDLE, idle)
    rate = stretch.price.gpu_hour_micro
    shares = split(idle, list(sharers.values()))
    return [
        replace(_draft(stretch, LineKind.IDLE_SHARE, team_id, share, rate), idle_rule=rule.value)
        for team_id, share in zip(sharers, shares, strict=True)
        if share
    ]


def _own(stretch: Stretch, kind: LineKind, quantity: int) -> list[Draft]:
    rate = stretch.price.gpu_hour_micro
    return [_draft(stretch, kind, None, quantity, rate)] if quantity else []


def _draft(
    stretch: Stretch, kind: LineKind, team_id: int | None, quantity: int, rate_micro: int
) -> Draft:
    price = stretch.price
    return Draft(
        team_id=team_id,
        kind=kind,
        pool_id=stretch.pool_id,
        from_at=stretch.from_at,
        to_at=stretch.to_at,
        gpu_milli_seconds=quantity,
        rate_micro=rate_micro,
        amount_micro=amount(quantity, rate_micro, price.currency),
        tax_basis_points=0 if team_id is None else price.tax_basis_points,
        rate_card_id=price.card_id,
    )
