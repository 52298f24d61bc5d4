"""What lets a workload start as far as quotas go; nodes are asked elsewhere.

Each rule is asked with an amount in milli-GPU, since a gang may start with fewer tasks.
"""

from scheduler_core.model import Workload
from scheduler_core.scratch.ledger import Book
from scheduler_core.scratch.state import State


class Rules:
    """The quota rules for one workload in one pool."""

    def __init__(self, state: State, workload: Workload, pool: int) -> None:
        self._state = state
        self._workload = workload
        self._pool = pool
        self.book: Book = state.books[pool]
        self.team = state.tree.index[workload.team]

    @property
    def fence(self) -> int:
        """Return what of the guarantee is kept from this workload for those who name it."""
        names = self._state.names_fence(self._workload)
        return 0 if names else self.book.fence(self.team)

    def largest_count(self) -> int:
        """Return how many tasks the quotas let start now: all, or down to `min_tasks`, or 0."""
        workload = self._workload
        milli = workload.per_task.gpu_milli
        if self.permits(workload.tasks * milli):
            return workload.tasks
        low, high = 0, workload.tasks
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.permits(middle * milli) else (low, middle)
        return low if low >= (workload.min_tasks or workload.tasks) else 0

    def permits(self, milli: int) -> bool:
        """Tell whether limits, the person's limit and entitlement or borrowing let it start."""
        return (
            self.book.breaks_limit(self.team, milli) is None
            and not self.breaks_user_limit(milli)
            and not self.is_too_firm(milli)
            and (self.within_guarantee(milli) or milli + self.fence <= self.available())
        )

    def within_guarantee(self, milli: int) -> bool:
        """Tell whether the team stays within what it is entitled to."""
        return self.book.within_guarantee(self.team, milli + self.fence)

    def available(self) -> int:
        """Return what the team can still use, borrowing included."""
        return self.book.available(self.team)

    def breaks_user_limit(self, milli: int) -> bool:
        """Tell whether the person would use more than the quota allows one person."""
        return self.book.breaks_user_limit(self.team, self._workload.user, milli)

    def is_too_firm(self, milli: int) -> bool:
        """Tell whether it cannot be preempted and would break the team's guarantee.

        What stands on an open reservation must end before it closes.
        """
        if self._workload.preemptible:
            return False
        firm = self.book.firm[self.team] + milli
        if firm > self.book.entitled[self.team]:
            return True
        if firm <= self.book.terms.guaranteed[self.team]:
            return False
        duration = self._workload.duration_seconds
        closing = self._closes_at(firm)
        return duration is None or closing is None or self._state.now + duration > closing

    def _closes_at(self, firm: int) -> int | None:
        """Return until when the open reservations carry so much non-preemptible work."""
        state = self._state
        open_ = sorted(
            (entry.ends_at, entry.gpu_milli)
            for entry in state.snapshot.reservations
            if entry.team == self._workload.team
            and entry.source == "pool"
            and state.pool_index[entry.pool] == self._pool
            and entry.open_at(state.now)
        )
        carried = self.book.entitled[self.team]
        for ends_at, milli in open_:
            carried -= milli
            if firm > carried:
                return ends_at
        return None
