"""What recurs among those who look for victims, so that a search in vain is made once."""

from collections.abc import Hashable

from scheduler_core.model import Workload
from scheduler_core.scratch import State


def kind_of(state: State, workload: Workload, pool: int) -> Hashable:
    """Return what is alike for all work that would search for victims in the same way."""
    limited = state.books[pool].terms.per_user[state.tree.index[workload.team]] is not None
    return (
        pool,
        workload.team,
        state.shape(workload),
        workload.priority,
        workload.preemptible,
        workload.duration_seconds,
        workload.reservation,
        workload.checkpoint,
        workload.user if limited else None,
    )
