"""What a quota bounds: a team's own figures and the limits of the branches it stands in.

At every instant, for the team and for each team above it: the guarantees of its branch and the
reservations from the pool made in it are at most its `limit`. And what reservations fence inside
a team's guarantee is at most that guarantee.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from portal.inventory import selectors as inventory
from portal.inventory.calendar import FOREVER, Period, Span, aligned, clip, steps
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import CommitmentRow
from portal.quotas import selectors
from portal.quotas.selectors import QuotaRow
from portal.teams import selectors as teams
from portal.teams.selectors import Tree


@dataclass(frozen=True, slots=True)
class Bound:
    """A team's branch in a pool while nothing changes: what it holds, and its limit if any."""

    team_id: int
    from_at: datetime
    to_at: datetime
    guaranteed: int
    reserved: int
    limit: int | None
    pool_id: int | None = None

    @property
    def left(self) -> int | None:
        """GPUs that may still be promised to it; None is no limit."""
        return None if self.limit is None else self.limit - self.guaranteed - self.reserved


@dataclass(frozen=True, slots=True)
class Fence:
    """A team's guarantee in a pool while nothing changes, and what of it is set aside."""

    from_at: datetime
    to_at: datetime
    guaranteed: int
    fenced: int

    @property
    def left(self) -> int:
        """GPUs of the guarantee not set aside."""
        return self.guaranteed - self.fenced


@dataclass(frozen=True, slots=True)
class Room:
    """How many GPUs a team's quotas let it take for a whole period; `left` None is no limit.

    `team_id` is whose figure binds, at `at`.
    """

    left: int | None
    team_id: int
    at: datetime


def list_bounds(
    *, team_id: int, pool_id: int, from_at: datetime, to_at: datetime | None, now: datetime
) -> list[Bound]:
    """The team's own bounds over the window and those of each team above it, nearest first."""
    window = Period(from_at, to_at or FOREVER)
    tree = teams.get_tree(now=now)
    own = tree.get(team_id)
    chain = tuple(reversed(own.path)) if own else (team_id,)
    widest = tree.branch(chain[-1]) | {team_id}
    quotas = selectors.list_within(widest, pool_id, window)
    held = inventory.list_commitments(
        pool_id=pool_id, from_at=window.from_at, to_at=to_at, team_ids=widest,
        kind=CommitmentKind.RESERVATION,
    )  # fmt: skip
    found: list[Bound] = []
    for bound_team in chain:
        branch = tree.branch(bound_team) | {bound_team}
        found += _bounds_of(
            bound_team,
            [q for q in quotas if q.team_id in branch],
            [r for r in held if r.team_id in branch and r.adds],
            window,
        )
    return found


def list_over_limit(*, now: datetime, tree: Tree | None = None) -> list[Bound]:
    """Every stretch from now on in which a team's branch is promised more than its limit.

    A change is refused where it would make one; what still can is a team that moves into a branch
    with too little left. By pool, team and time; a bound of a pool carries its id.
    """
    window = Period(now, FOREVER)
    booked = inventory.list_commitments(from_at=now, kind=CommitmentKind.RESERVATION)
    return over_limits(selectors.list_all(window), booked, window, tree or teams.get_tree(now=now))


def over_limits(
    figures: Iterable[QuotaRow], booked: Iterable[CommitmentRow], window: Period, tree: Tree
) -> list[Bound]:
    """The same of all teams' figures and commitments in the window, read already."""
    below = _below(tree)
    quotas: dict[int, dict[int, list[QuotaRow]]] = {}
    for row in figures:
        quotas.setdefault(row.pool_id, {}).setdefault(row.team_id, []).append(row)
    held: dict[int, dict[int, list[CommitmentRow]]] = {}
    for hold in booked:
        if hold.adds and hold.kind is CommitmentKind.RESERVATION:
            held.setdefault(hold.pool_id, {}).setdefault(hold.team_id, []).append(hold)
    return [
        replace(bound, pool_id=pool_id)
        for pool_id, by_team in sorted(quotas.items())
        for team_id in sorted(by_team)
        for bound in _over(team_id, below, by_team, held.get(pool_id, {}), window)
    ]


def _below(tree: Tree) -> dict[int, list[int]]:
    """Each team with the teams of its branch, itself included."""
    found: dict[int, list[int]] = {}
    for row in tree.rows:
        for above in row.path:
            found.setdefault(above, []).append(row.id)
    return found


def _over(
    team_id: int,
    below: Mapping[int, list[int]],
    quotas: Mapping[int, list[QuotaRow]],
    held: Mapping[int, list[CommitmentRow]],
    window: Period,
) -> list[Bound]:
    """Where a team's branch is promised more than its limit, in one pool."""
    limits = [row.limit for row in quotas[team_id] if row.limit is not None]
    if not limits:
        return []
    branch = below.get(team_id, [team_id])
    promised = [row for pk in branch for row in quotas.get(pk, ())]
    booked = [row for pk in branch for row in held.get(pk, ())]
    # All that is ever promised, at once: where that is within the limit nothing can be above it.
    if sum(row.guaranteed for row in promised) + sum(row.gpus for row in booked) <= min(limits):
        return []
    bounds = _bounds_of(team_id, promised, booked, window)
    return [bound for bound in bounds if bound.left is not None and bound.left < 0]


def _bounds_of(
    team_id: int, quotas: list[QuotaRow], held: list[CommitmentRow], window: Period
) -> list[Bound]:
    own = [q for q in quotas if q.team_id == team_id and q.limit is not None]
    guaranteed = steps(
        (Span(q.valid_from, q.valid_to or FOREVER, q.guaranteed) for q in quotas), window
    )
    reserved = steps((row.hold for row in held), window)
    capped = steps((Span(q.valid_from, q.valid_to or FOREVER, 1) for q in own), window)
    limit = steps((Span(q.valid_from, q.valid_to or FOREVER, q.limit or 0) for q in own), window)
    return [
        Bound(team_id, part.from_at, part.to_at, promised, booked, cap if is_capped else None)
        for part, (promised, booked, is_capped, cap) in aligned(guaranteed, reserved, capped, limit)
    ]


def list_fences(
    *, team_id: int, pool_id: int, from_at: datetime, to_at: datetime | None
) -> list[Fence]:
    """The team's guarantee over the window beside what reservations set aside of it."""
    guaranteed = selectors.guaranteed_steps(
        team_ids=[team_id], pool_id=pool_id, from_at=from_at, to_at=to_at
    )
    fenced = inventory.committed_steps(
        pool_id=pool_id, from_at=from_at, to_at=to_at, team_ids=[team_id],
        kind=CommitmentKind.RESERVATION, adds=False,
    )  # fmt: skip
    return [
        Fence(part.from_at, part.to_at, promised, aside)
        for part, (promised, aside) in aligned(guaranteed, fenced)
    ]


def get_room(
    *,
    team_id: int,
    pool_id: int,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    from_guarantee: bool = False,
) -> Room:
    """How many more GPUs the team may reserve for the whole period, and whose figure says so.

    From its own guarantee that is what is not set aside yet; from the pool, what the limits of
    the team and of the branches above leave.
    """
    if from_guarantee:
        fence = min(
            list_fences(team_id=team_id, pool_id=pool_id, from_at=starts_at, to_at=ends_at),
            key=lambda f: f.left,
        )
        return Room(left=fence.left, team_id=team_id, at=fence.from_at)
    capped = [
        (bound.left, bound)
        for bound in list_bounds(
            team_id=team_id, pool_id=pool_id, from_at=starts_at, to_at=ends_at, now=now
        )
        if bound.left is not None
    ]
    if not capped:
        return Room(left=None, team_id=team_id, at=starts_at)
    left, tightest = min(capped, key=lambda pair: pair[0])
    return Room(left=left, team_id=tightest.team_id, at=tightest.from_at)


def over_limit(bounds: list[Bound]) -> dict[int, list[Span]]:
    """By team, where more is promised than its limit allows, and by how much."""
    found: dict[int, list[Span]] = {}
    for bound in bounds:
        if bound.left is not None and bound.left < 0:
            found.setdefault(bound.team_id, []).append(
                Span(bound.from_at, bound.to_at, -bound.left)
            )
    return found


def first_worse(before: list[Span], after: list[Span]) -> datetime | None:
    """The first instant at which `after` exceeds `before`, None where it never does."""
    if not after:
        return None
    window = Period(min(s.from_at for s in after), max(s.to_at for s in after))
    was = [s for s in before if clip(s.from_at, s.to_at, window)]
    both = aligned(steps(was, window), steps(after, window))
    return next((part.from_at for part, (old, new) in both if new > old), None)
