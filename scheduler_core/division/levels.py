"""One level of division: guarantees first, then weighted rounds, then the largest fractions.

The rule is KAI-Scheduler's; the arithmetic is in integers and rationals.
"""

from collections.abc import Sequence
from fractions import Fraction

from scheduler_core.model import Division, DivisionShares, DivisionTeam, Number


def divide(division: Division) -> DivisionShares:
    """Return what each team gets of the total, and what is left over."""
    teams = division.teams
    shares = [min(team.guaranteed, _requestable(team)) for team in teams]
    left = max(0, division.total - sum(shares))
    for priority in sorted({team.priority for team in teams}, reverse=True):
        group = [number for number, team in enumerate(teams) if team.priority == priority]
        left = _serve(teams, group, shares, left, division.k)
    return DivisionShares(
        {team.name: share for team, share in zip(teams, shares, strict=True)}, left
    )


def _requestable(team: DivisionTeam) -> int:
    return team.request if team.limit is None else min(team.request, team.limit)


def _serve(
    teams: Sequence[DivisionTeam], group: Sequence[int], shares: list[int], left: int, k: Number
) -> int:
    """Give the teams of one priority what is left, in rounds; return what remains."""
    fractions: dict[int, Fraction] = {}
    again = True
    while left > 0 and again:
        again = False
        open_ = [n for n in group if teams[n].weight and shares[n] < _requestable(teams[n])]
        offers = _offers([teams[number] for number in open_], left, k)
        fractions = {}
        for number, offer in zip(open_, offers, strict=True):
            rest = _requestable(teams[number]) - shares[number]
            taken = rest if rest <= offer else offer.numerator // offer.denominator
            shares[number] += taken
            left -= taken
            if rest > offer:
                fractions[number] = offer - taken
            again = again or rest < offer
    return _serve_fractions(teams, fractions, shares, left)


def _offers(teams: Sequence[DivisionTeam], amount: int, k: Number) -> list[Fraction]:
    """Return each team's part of the amount, by weight bent towards those who used less."""
    total_weight = sum(Fraction(team.weight) for team in teams)
    weights = [Fraction(team.weight) / total_weight for team in teams]
    bent = [
        max(Fraction(0), weight + k * (weight - team.used))
        for team, weight in zip(teams, weights, strict=True)
    ]
    total = sum(bent)
    if not total:
        bent, total = weights, Fraction(1)
    return [amount * part / total for part in bent]


def _serve_fractions(
    teams: Sequence[DivisionTeam], fractions: dict[int, Fraction], shares: list[int], left: int
) -> int:
    """Give single units to the largest fractions; ties to the older team, then by name."""
    order = sorted(fractions, key=lambda number: (-fractions[number], number, teams[number].name))
    for number in order[:left]:
        shares[number] += 1
    return max(0, left - len(order))
