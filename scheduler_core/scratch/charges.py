"""To what each running workload is charged: guarantee first, then reservation, then borrowed."""

from collections.abc import Iterable

from scheduler_core.model import ChargedTo
from scheduler_core.scratch.held import Held
from scheduler_core.scratch.state import State


def charges(state: State) -> dict[str, ChargedTo]:
    """Return the charge of everything that runs or starts, by workload id.

    A team's work fills its guarantee highest priority first, then longest running; of equals the
    one that would be evicted last goes first. What crosses a boundary is wholly the later kind.
    """
    teams: dict[tuple[int, int], list[Held]] = {}
    for held in state.running.values():
        teams.setdefault((held.pool, held.team), []).append(held)
    answer: dict[str, ChargedTo] = {}
    for (pool, team), work in teams.items():
        terms = state.books[pool].terms
        answer.update(_fill(work, terms.guaranteed[team], terms.reserved[team]))
    return answer


def borrowed_of(state: State, pool: int, team: int) -> set[str]:
    """Return the ids of the team's running work in the pool that is borrowed now."""
    terms = state.books[pool].terms
    work = state.of_team.get((pool, team), {}).values()
    charged = _fill(work, terms.guaranteed[team], terms.reserved[team])
    return {name for name, charge in charged.items() if charge == "borrowed"}


def _fill(work: Iterable[Held], guaranteed: int, reserved: int) -> dict[str, ChargedTo]:
    filled = 0
    answer: dict[str, ChargedTo] = {}
    order = sorted(work, key=lambda held: held.workload.id, reverse=True)
    order.sort(key=lambda held: (-held.workload.priority, held.started_at))
    for held in order:
        filled += held.gpu_milli
        if filled <= guaranteed:
            answer[held.workload.id] = "guaranteed"
        elif filled <= guaranteed + reserved:
            answer[held.workload.id] = "reserved"
        else:
            answer[held.workload.id] = "borrowed"
    return answer
