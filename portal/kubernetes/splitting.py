"""How a team's figure is split over its namespaces, and who may borrow when all want more. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass


def by_remainder(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split whole units by weight, the rest by largest remainder, then by name; exact.

    All weights 0 count as equal.
    """
    if not weights:
        return {}
    counted = dict(weights) if any(weights.values()) else dict.fromkeys(weights, 1)
    whole = sum(counted.values())
    parts = {name: total * weight // whole for name, weight in counted.items()}
    left = total - sum(parts.values())
    order = sorted(counted, key=lambda name: (-(total * counted[name] % whole), name))
    for name in order[:left]:
        parts[name] += 1
    return parts


NOBODY: Mapping[str, int] = {}


def over_namespaces(
    total: int, used: Mapping[str, int], waiting: Mapping[str, int] = NOBODY
) -> dict[str, int]:
    """Each namespace first what it uses, then what waits in it, then equal parts of the rest.

    The sum is `total`. What does not suffice for all of one step is split in proportion to it:
    without the second step a job of the size of the total would fit into none of its namespaces.
    """
    parts = dict.fromkeys(used, 0)
    for step in (used, {name: waiting.get(name, 0) for name in used}):
        left = total - sum(parts.values())
        more = dict(step) if sum(step.values()) <= left else by_remainder(left, step)
        parts = {name: parts[name] + more[name] for name in parts}
    rest = by_remainder(total - sum(parts.values()), dict.fromkeys(used, 1))
    return {name: parts[name] + rest[name] for name in parts}


@dataclass(frozen=True, slots=True)
class Borrowing:
    """A team's burst quota in a pool: what it is, what pods use of it, what it should be.

    `covered` is the part of `wanted` that the team's own guarantee has room for as well.
    """

    hard: int
    used: int
    wanted: int
    covered: int = 0

    @property
    def beyond(self) -> int:
        """What is wanted of others' devices."""
        return self.wanted - self.covered


def grant_burst(
    capacity: int, guaranteed_used: int, borrowings: Mapping[str, Borrowing]
) -> dict[str, int]:
    """Shrink at once, grow only by devices nobody has or may take.

    Free is what pods of the guaranteed classes leave, less the larger of hard and used of every
    burst quota: a quota that shrank under running pods keeps its devices until they are gone. An
    unused guarantee may be lent, since its owner's pods evict borrowed ones. If all want more than
    is free, it goes out in proportion to what they want, by largest remainder. What a team's own
    guarantee covers it has there already: such a wish gets what all others leave, anew each time.
    """
    held = {team: max(min(b.hard, b.beyond), b.used) for team, b in borrowings.items()}
    free = max(0, capacity - guaranteed_used - sum(held.values()))
    beyond = _out_of(free, {t: max(0, b.beyond - held[t]) for t, b in borrowings.items()})
    held = {team: held[team] + beyond[team] for team in held}
    covered = _out_of(
        free - sum(beyond.values()),
        {t: max(0, b.wanted - held[t]) for t, b in borrowings.items()},
    )
    # What a team's own pods use above its quota is not free, and no growth either.
    return {t: min(b.wanted, held[t]) + covered[t] for t, b in borrowings.items()}


def _out_of(free: int, wishes: Mapping[str, int]) -> dict[str, int]:
    """All wishes where they fit, else parts of what is free."""
    return dict(wishes) if sum(wishes.values()) <= free else by_remainder(free, wishes)
