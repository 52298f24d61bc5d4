"""What a search for victims is asked with, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler_core.reclaim.victims import Victim
from scheduler_core.scratch import Held


class Trial(Protocol):
    """Tells whether the workload fits while work is imagined away."""

    def leave(self, held: Held, left: Held | None) -> None:
        """Imagine the work away, all but what is left of it."""
        ...

    def come_back(self, held: Held, left: Held | None) -> None:
        """Take that back."""
        ...

    def fits(self) -> bool:
        """Tell whether the workload would start now."""
        ...


@dataclass(frozen=True, slots=True)
class Gate:
    """What a fairness reclaim may cost: `benefit` and `budget` in milli-GPU-seconds, or no cap."""

    benefit: int | None
    budget: int | None

    def passes(self, cost: int) -> bool:
        """Tell whether the cost is worth it and within the budget."""
        return all(most is None or cost <= most for most in (self.benefit, self.budget))


@dataclass(frozen=True, slots=True)
class Taken:
    """The victims of one workload and why; their stops stand in the state."""

    victims: tuple[Victim, ...]
    why: str
    lost: int


@dataclass(slots=True)
class Removal:
    """A victim, what is left of it, and the rule that let it go."""

    victim: Victim
    left: Held | None
    rule: str


def merged(removals: Sequence[Removal]) -> tuple[Victim, ...]:
    """Return one victim for each workload, in the order they were first removed."""
    whole: dict[str, Victim] = {}
    for removal in removals:
        victim = removal.victim
        before = whole.get(victim.name)
        if before is None:
            whole[victim.name] = victim
        else:
            held = before.held if before.held.tasks > victim.held.tasks else victim.held
            whole[victim.name] = Victim(
                held,
                before.tasks + victim.tasks,
                before.lost + victim.lost,
                before.less.plus(victim.less),
            )
    return tuple(whole.values())
