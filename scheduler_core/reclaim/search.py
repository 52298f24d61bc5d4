"""The search for victims: team by team, then put back what was not needed."""

from collections.abc import Callable, Container
from dataclasses import dataclass

from scheduler_core.model import Workload
from scheduler_core.ordering import Order
from scheduler_core.reclaim.shares import BorrowedShare, borrowed_share, own_share
from scheduler_core.reclaim.victims import Candidates, Victim
from scheduler_core.resources import Amount
from scheduler_core.scratch import Held, Rules, State

Fits = Callable[[], bool]


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
class _Removal:
    victim: Victim
    left: Held | None
    rule: str


class Reclaim:
    """Looks for victims for one workload in one pool.

    `find` leaves the victims stopped in the state if it succeeds; the caller wraps it in an
    attempt. Work named in `spared` is no victim. Afterwards `protected` names whom only their minimum runtime saved, and `refused` is
    (cost, benefit) where the cost gate said no.
    """

    def __init__(
        self, state: State, order: Order, workload: Workload, pool: int, spared: Container[str]
    ) -> None:
        self._state = state
        self._order = order
        self._workload = workload
        self._pool = pool
        self._spared = spared
        self._book = state.books[pool]
        self._team = state.tree.index[workload.team]
        shape = state.shape(workload)
        self._ask = Amount(*(part * shape.least for part in workload.per_task.amount))
        self._rules = Rules(state, workload, pool)
        self.within = self._book.entitled[self._team] > 0 and self._rules.within_guarantee(
            self._ask.gpu_milli
        )
        self.protected: list[str] = []
        self.refused: tuple[int, int] | None = None
        self._removed: list[_Removal] = []

    def find(self, fits: Fits, gate: Callable[[], Gate]) -> Taken | None:
        """Stop victims until the workload fits; None if the rules do not let it."""
        if self._rules.is_too_firm(self._ask.gpu_milli):
            return None
        candidates = Candidates(
            self._state,
            self._order,
            self._workload,
            self._pool,
            spared=self._spared,
            hurried=self._is_opening(),
        )
        self.protected = candidates.protected
        if not self._search(candidates, fits):
            return None
        self._put_back(fits)
        lost = sum(removal.victim.lost for removal in self._removed)
        allowed = Gate(None, None) if self.within else gate()
        if not allowed.passes(lost):
            most = [one for one in (allowed.benefit, allowed.budget) if one is not None]
            self.refused = (lost, min(most))
            return None
        why = "reclaim_guaranteed" if self.within else "fair_share"
        return Taken(self._merged(), why, lost)

    def _is_opening(self) -> bool:
        """Tell whether an open reservation is what the workload claims."""
        name = self._workload.reservation
        if name is not None and self._state.reservations[name].open_at(self._state.now):
            return True
        own = self._book.own[self._team].gpu_milli + self._ask.gpu_milli
        return self.within and own > self._book.terms.guaranteed[self._team]

    def _search(self, candidates: Candidates, fits: Fits) -> bool:
        strategies = self._state.policy.preemption.strategies
        if self.within or "final" in strategies:
            rule = "within" if self.within else "final"
            if self._rounds(candidates, fits, rule):
                return True
        if not self.within and "initial" in strategies:
            return self._one_each(candidates, fits)
        return False

    def _rounds(self, candidates: Candidates, fits: Fits, rule: str) -> bool:
        """Remove whom the rule allows; after each removal all others are looked at again."""
        while (victim := self._next(candidates, rule)) is not None:
            self._remove(candidates, victim, rule)
            if fits():
                return True
        return False

    def _one_each(self, candidates: Candidates, fits: Fits) -> bool:
        """Remove at most one victim of each other team by the `initial` rule."""
        done: set[int] = set()
        while True:
            victim = self._next(candidates, "initial", done)
            if victim is None:
                return False
            if victim.held.team != self._team:
                done.add(victim.held.team)
            self._remove(candidates, victim, "initial")
            if fits():
                return True

    def _next(
        self, candidates: Candidates, rule: str, done: set[int] | None = None
    ) -> Victim | None:
        for team in self._turns(candidates.teams()):
            if done is None or team not in done:
                for victim in candidates.of_team(team):
                    if self._allows(victim, rule):
                        return victim
        return None

    def _turns(self, teams: list[int]) -> list[int]:
        """Return the teams by share, highest first; within its guarantee its own comes last."""
        turns = sorted(teams, key=self._share_of, reverse=True)
        return sorted(turns, key=lambda team: self.within and team == self._team)

    def _share_of(self, team: int) -> BorrowedShare:
        if team == self._team:
            return own_share(self._book, team, self._ask)
        return borrowed_share(self._book, self._branches(team)[1])

    def _branches(self, team: int) -> tuple[int, int]:
        return self._state.tree.branches(self._team, team)

    def _allows(self, victim: Victim, rule: str) -> bool:
        """Tell whether the victim may go now."""
        team = victim.held.team
        if team == self._team:
            return True
        _, theirs = self._branches(team)
        if not self._book.is_above(team) or not self._branch_is_above(theirs):
            return False
        if rule == "within":
            return True
        mine = self._mine_after(team)
        if rule == "initial":
            return mine < borrowed_share(self._book, theirs)
        less = victim.held.workload.per_task.amount.times(-victim.tasks)
        return mine <= borrowed_share(self._book, theirs, less)

    def _mine_after(self, team: int) -> BorrowedShare:
        return borrowed_share(self._book, self._branches(team)[0], self._ask)

    def _branch_is_above(self, branch: int) -> bool:
        use = self._book.use_below(branch)
        promised = self._book.promised_below[branch]
        return use.gpu_milli > promised or not (use.gpu_milli or promised)

    def _remove(self, candidates: Candidates, victim: Victim, rule: str) -> None:
        left = self._state.stop(victim.held, victim.tasks)
        candidates.gone(victim, left)
        self._removed.append(_Removal(victim, left, rule))

    def _put_back(self, fits: Fits) -> None:
        """Put back, last removed first, whatever is not needed, if the rule still holds."""
        for removal in list(reversed(self._removed)):
            if self._was_cut_further(removal):
                continue
            self._state.resume(removal.victim.held, removal.left)
            stays = [one for one in self._removed if one is not removal]
            if fits() and all(self._still_holds(one) for one in stays):
                self._removed = stays
            else:
                removal.left = self._state.stop(removal.victim.held, removal.victim.tasks)

    def _was_cut_further(self, removal: _Removal) -> bool:
        """Tell whether more of the same work was removed after this and stays removed."""
        return removal.left is not None and any(
            one.victim.held is removal.left for one in self._removed
        )

    def _still_holds(self, removal: _Removal) -> bool:
        """Tell whether the rule allows the removal with what else stays removed."""
        victim = removal.victim
        team = victim.held.team
        if team == self._team or removal.rule == "within":
            return True
        _, theirs = self._branches(team)
        mine = self._mine_after(team)
        if removal.rule == "final":
            return mine <= borrowed_share(self._book, theirs)
        more = victim.held.workload.per_task.amount.times(victim.tasks)
        return mine < borrowed_share(self._book, theirs, more)

    def _merged(self) -> tuple[Victim, ...]:
        """Return one victim for each workload, in the order they were first removed."""
        whole: dict[str, Victim] = {}
        for removal in self._removed:
            victim = removal.victim
            before = whole.get(victim.name)
            if before is None:
                whole[victim.name] = victim
            else:
                held = before.held if before.held.tasks > victim.held.tasks else victim.held
                whole[victim.name] = Victim(
                    held, before.tasks + victim.tasks, before.lost + victim.lost
                )
        return tuple(whole.values())
