"""The search for victims: team by team, then put back what was not needed."""

from collections.abc import Callable, Container, Iterator, Mapping
from itertools import groupby

from scheduler_core.model import Workload
from scheduler_core.ordering import Order
from scheduler_core.reclaim.board import Board
from scheduler_core.reclaim.shares import Share
from scheduler_core.reclaim.taking import Gate, Removal, Taken, Trial, merged
from scheduler_core.reclaim.victims import Claim, Victim, in_order, is_protected, victim_of
from scheduler_core.resources import Amount
from scheduler_core.scratch import Held, Rules, State

Branches = tuple[int, int]
"""The children of the lowest common ancestor: on the preemptor's side, and on the other."""

_Place = tuple[bool, Share]
"""Where branches stand in turn, highest first: whether others than the own team, and the share."""

Stamp = tuple[str, Share, Share]
"""What decides whether work may go: the rule, the preemptor's share, the share of the other."""


class Reclaim:
    """Looks for victims for one workload in one pool.

    `find` leaves the victims stopped in the state if it succeeds; the caller wraps it in an
    attempt. Afterwards `refused` is (cost, benefit) where the
    cost gate said no.
    """

    def __init__(
        self,
        state: State,
        order: Order,
        board: Board,
        workload: Workload,
        pool: int,
    ) -> None:
        self._state = state
        self._workload = workload
        self._pool = pool
        self._board = board
        self._book = state.books[pool]
        self._team = state.tree.index[workload.team]
        shape = state.shape(workload)
        self._shape = shape
        self._ask = Amount(*(part * shape.least for part in workload.per_task.amount))
        self._rules = Rules(state, workload, pool)
        self.within = self._book.entitled[self._team] > 0 and self._rules.within_guarantee(
            self._ask.gpu_milli
        )
        self._claim = Claim(state, order, workload, pool, board.spared, hurried=self._is_opening())
        self.refused: tuple[int, int] | None = None
        self._place = (self._team, id(state.allowed(pool, shape.need)))
        self._removed: list[Removal] = []
        self._known_branches: dict[int, tuple[int, int]] = {}
        self._places: dict[Branches, _Place] = {}
        self._known_victims: dict[int, tuple[list[Victim], list[Victim]]] = {}
        self._verdicts: dict[tuple[int, Share, Share], dict[Amount, bool]] = {}
        self._members: dict[Branches, list[int]] = {}
        self._passed_over: dict[int, Stamp] = {}
        self._spent: dict[Branches, Stamp] = {}
        self._exhausted: set[int] = set()
        self._own: Branches = self._branches(self._team)
        self._sides: set[int] = set()
        self._ranking: list[tuple[_Place, list[Branches]]] | None = None

    def is_hopeless(self) -> bool:
        """Tell from a few sums that no victims can be found, so that `find` need not try."""
        if self._rules.is_too_firm(self._ask.gpu_milli):
            return True
        if self._claim.hurried or self._own_victims():
            return False
        self._board.refresh()
        if not self.within and self._board.is_barren(self._place, self._shares()):
            return True
        if not self.within and not any(
            self._mine(branch) <= share for branch, share in self._board.largest_beside(self._team)
        ):
            return True
        return not self._board.above() or not self._board.could_hold(self._shape)

    def _shares(self) -> tuple[Share, ...]:
        """Return the preemptor's share at each level with its ask."""
        return tuple(self._mine(branch) for branch in self._state.tree.paths[self._team])

    def is_personal(self) -> bool:
        """Tell whether another workload of the same team, shape and priority may fare otherwise.

        Only what it could take from its own team depends on its very place in the order.
        """
        own = self._state.of_team.get((self._pool, self._team), {})
        mine = self._workload.priority
        return any(held.workload.priority < mine for held in own.values())

    def protected(self) -> int:
        """Return how many of those it might take only their minimum runtime saves."""
        self._board.refresh()
        own = self._state.of_team.get((self._pool, self._team), {})
        return self._board.protected_beside(self._team) + sum(
            held.workload.preemptible
            and is_protected(self._state, held)
            and self._claim.precedes(held.workload)
            for held in own.values()
        )

    def find(self, trial: Trial, gate: Callable[[], Gate]) -> Taken | None:
        """Stop victims until the workload fits; None if the rules do not let it."""
        if self.is_hopeless():
            return None
        shares = self._shares()
        self._trial = trial
        if not self._search(trial.fits):
            if not (self._removed or self.within or self._claim.hurried):
                self._board.note_barren(self._place, shares)
            return None
        self._put_back(trial.fits)
        if not (self.within or all(map(self._cannot_claim_back, self._removed))):
            return None
        lost = sum(removal.victim.lost for removal in self._removed)
        allowed = Gate(None, None) if self.within else gate()
        if not allowed.passes(lost):
            most = [one for one in (allowed.benefit, allowed.budget) if one is not None]
            self.refused = (lost, min(most))
            return None
        for removal in self._removed:
            self._state.vacate(removal.victim.held, removal.left)
        why = "reclaim_guaranteed" if self.within else "fair_share"
        return Taken(merged(self._removed), why, lost)

    def _is_opening(self) -> bool:
        """Tell whether an open reservation is what the workload claims."""
        name = self._workload.reservation
        if name is not None and self._state.reservations[name].open_at(self._state.now):
            return True
        own = self._book.own[self._team].gpu_milli + self._ask.gpu_milli
        return self.within and own > self._book.terms.guaranteed[self._team]

    def _search(self, fits: Callable[[], bool]) -> bool:
        strategies = self._state.policy.preemption.strategies
        if self.within or "final" in strategies:
            while (victim := self._next("within" if self.within else "final")) is not None:
                self._remove(victim, "within" if self.within else "final")
                if fits():
                    return True
        if self.within or "initial" not in strategies:
            return False
        done: set[int] = set()
        while (victim := self._next("initial", done)) is not None:
            if victim.held.team != self._team:
                done.add(victim.held.team)
            self._remove(victim, "initial")
            if fits():
                return True
        return False

    def _next(self, rule: str, done: Container[int] = ()) -> Victim | None:
        """Return whom the rule lets go next: of the team with the highest share that has any.

        A team none of whose work may go is passed over until its share or the own side changes,
        and so is a branch whose teams all are.
        """
        for stamps in self._turns(rule):
            for team, stamp in self._teams_of(stamps):
                if team in done or self._passed_over.get(team) == stamp:
                    continue
                victim = self._first(team, stamp)
                if victim is not None:
                    return victim
                self._passed_over[team] = stamp
            self._spent.update(stamps)
        return None

    def _may_lose(self, stamp: Stamp) -> bool:
        """Tell whether anything of another branch may go, before its teams are looked at."""
        rule, mine, share = stamp
        if rule == "within":
            return True
        return mine < share if rule == "initial" else mine <= share

    def _first(self, team: int, stamp: Stamp) -> Victim | None:
        """Return the first of the team's work that may go now, if something of the team may.

        What matters of a victim is only how much it gives back, so few verdicts are worked out.
        """
        rule, mine, share = stamp
        victims = self._covered(team)
        if not victims:
            self._exhausted.add(team)
            return None
        if team == self._team or rule != "final":
            return victims[0]
        verdicts = self._verdicts.setdefault((self._branches(team)[1], mine, share), {})
        for victim in victims:
            if victim.less not in verdicts:
                verdicts[victim.less] = mine <= self._theirs(team, victim.less)
            if verdicts[victim.less]:
                return victim
        return None

    def _covered(self, team: int) -> list[Victim]:
        """Return the team's work that may be asked for; the same until its work changes."""
        victims = self._of_team(team)
        known = self._known_victims.get(team)
        if known is None or known[0] is not victims:
            covered = victims
            if team == self._team or not self._claim.takes_all:
                covered = [victim for victim in victims if self._claim.covers(victim.held)]
            known = self._known_victims[team] = (victims, covered)
        return known[1]

    def _turns(self, rule: str) -> Iterator[dict[Branches, Stamp]]:
        """Yield the branches that may lose something by share, highest first, equal ones together.

        All teams of a branch have its share, so that a few branches are ranked, not all teams;
        within its guarantee the own team comes last.
        """
        self._board.refresh()
        if self._ranking is None:
            self._ranking = self._rank()
        mine = {side: self._mine(side) for side in self._sides}
        for (_, share), group in self._ranking:
            stamps: dict[Branches, Stamp] = {}
            for branches in group:
                stamp = (rule, mine[branches[0]], share)
                if self._spent.get(branches) != stamp and (
                    branches == self._own or self._may_lose(stamp)
                ):
                    stamps[branches] = stamp
            if stamps:
                yield stamps

    def _rank(self) -> list[tuple[_Place, list[Branches]]]:
        """Return the branches by share; the ranking stands until something is taken away."""
        if not self._members:
            self._find_members()
        places = self._places
        for branches, teams in self._members.items():
            if branches not in places:
                is_last = self.within and branches == self._own
                places[branches] = (not is_last, self._share_of(teams[0]))
        ranked = sorted(self._members, key=places.__getitem__, reverse=True)
        return [(place, list(group)) for place, group in groupby(ranked, places.__getitem__)]

    def _find_members(self) -> None:
        """Find the teams that may lose something, branch by branch; the own one always may.

        Taking work away puts no team and no branch above its entitlement, so that they stay those
        of the first removal, or fewer.
        """
        for team in sorted(self._board.above() | {self._team}):
            branches = self._branches(team)
            if branches == self._own or self._book.is_branch_above(branches[1]):
                self._members.setdefault(branches, []).append(team)
        self._sides = {mine for mine, _ in self._members}

    def _teams_of(self, stamps: Mapping[Branches, Stamp]) -> list[tuple[int, Stamp]]:
        """Return the teams of the branches that may still lose something, in order."""
        above = self._board.above()
        return sorted(
            (team, stamp)
            for branches, stamp in stamps.items()
            for team in self._members[branches]
            if team == self._team or (team in above and team not in self._exhausted)
        )

    def _share_of(self, team: int) -> Share:
        """Return the share by which the team's turn comes."""
        if team == self._team:
            return self._board.shares.of_team(team, self._ask)
        return self._theirs(team)

    def _of_team(self, team: int) -> list[Victim]:
        if self._claim.hurried:
            work = self._state.of_team.get((self._pool, team), {})
            victims = (victim_of(held, self._state.now) for held in work.values())
            return in_order(self._state, self._pool, team, victims)
        return self._board.victims(team)

    def _own_victims(self) -> bool:
        return any(self._claim.covers(victim.held) for victim in self._board.victims(self._team))

    def _branches(self, team: int) -> tuple[int, int]:
        if team not in self._known_branches:
            self._known_branches[team] = self._state.tree.branches(self._team, team)
        return self._known_branches[team]

    def _mine(self, branch: int) -> Share:
        return self._board.shares.of_branch(branch, self._ask)

    def _theirs(self, team: int, more: Amount = Amount()) -> Share:  # noqa: B008 (immutable)
        """Return the share of the team's branch; of an ancestor's own row, that row's."""
        branch = self._branches(team)[1]
        shares = self._board.shares
        if branch in self._state.tree.paths[self._team]:
            return shares.of_team(branch, more)
        return shares.of_branch(branch, more)

    def _remove(self, victim: Victim, rule: str) -> None:
        left = self._stop(victim)
        branches = self._branches(victim.held.team)
        self._places.pop(branches, None)
        self._passed_over.pop(victim.held.team, None)
        self._spent.pop(branches, None)
        self._ranking = None
        if branches != self._own and not self._book.is_branch_above(branches[1]):
            del self._members[branches]
        self._removed.append(Removal(victim, left, rule))

    def _stop(self, victim: Victim) -> Held | None:
        left = self._state.suspend(victim.held, victim.tasks)
        self._trial.leave(victim.held, left)
        return left

    def _put_back(self, fits: Callable[[], bool]) -> None:
        """Put back, last removed first, whatever is not needed, if the rule still holds."""
        for removal in list(reversed(self._removed)):
            if self._was_cut_further(removal):
                continue
            self._trial.come_back(removal.victim.held, removal.left)
            self._state.resume(removal.victim.held, removal.left)
            stays = [one for one in self._removed if one is not removal]
            if fits() and (not self._raises_mine(removal) or all(map(self._still_holds, stays))):
                self._removed = stays
            else:
                removal.left = self._stop(removal.victim)

    def _cannot_claim_back(self, removal: Removal) -> bool:
        """Tell whether the victim's team is still above its guarantee, of whose GPUs it held none.

        Else it would be within that guarantee the moment it waits, and claim its place at once.
        """
        team = removal.victim.held.team
        if team == self._team or removal.victim.held.gpu_milli or not self._book.entitled[team]:
            return True
        return self._book.own[team].gpu_milli > self._book.entitled[team]

    def _raises_mine(self, removal: Removal) -> bool:
        """Tell whether putting it back raises the preemptor's side; else every rule still holds."""
        paths = self._state.tree.paths
        return paths[removal.victim.held.team][-1] == paths[self._team][-1]

    def _was_cut_further(self, removal: Removal) -> bool:
        """Tell whether more of the same work was removed after this and stays removed."""
        return removal.left is not None and any(
            one.victim.held is removal.left for one in self._removed
        )

    def _still_holds(self, removal: Removal) -> bool:
        """Tell whether the rule allows the removal with what else stays removed."""
        victim = removal.victim
        team = victim.held.team
        if team == self._team or removal.rule == "within":
            return True
        mine = self._mine(self._branches(team)[0])
        if removal.rule == "final":
            return mine <= self._theirs(team)
        more = victim.held.workload.per_task.amount.times(victim.tasks)
        return mine < self._theirs(team, more)
