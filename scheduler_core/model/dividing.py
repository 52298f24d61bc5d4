"""A division alone: who gets what of a total, without placing anything."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_core.model.words import Number


@dataclass(frozen=True, slots=True)
class DivisionTeam:
    """One claimant of a division; `used` is its share of the capacity over the window, 0 to 1."""

    name: str
    request: int
    guaranteed: int = 0
    limit: int | None = None
    weight: Number = 1
    priority: int = 0
    used: Number = 0


@dataclass(frozen=True, slots=True)
class Division:
    """A total to divide among teams, in any whole unit."""

    total: int
    teams: tuple[DivisionTeam, ...]
    k: Number = 0


@dataclass(frozen=True, slots=True)
class DivisionShares:
    """Who gets what, and what is left over."""

    shares: Mapping[str, int]
    left: int
