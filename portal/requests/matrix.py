"""The matrix of quotas: teams down, pools across, sums against what there is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from portal.common.models import AuditEvent
from portal.inventory import calendar
from portal.inventory.calendar import FOREVER, Period, Span
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import CommitmentRow, rows
from portal.quotas import bounds
from portal.quotas import selectors as quotas
from portal.quotas.bounds import Bound
from portal.quotas.selectors import QuotaRow
from portal.requests import selectors
from portal.requests.quota_figures import FIGURES
from portal.teams import selectors as teams
from portal.teams.models import User
from portal.teams.permissions import ANY_ROLE, DECIDE
from portal.teams.selectors import Access, TeamRow, Tree

NOTHING: Mapping[str, int | None] = {**dict.fromkeys(FIGURES, None), "guaranteed": 0}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a team has in a pool now, and the next change agreed on; None is nothing."""

    team_id: int
    pool_id: int
    pool: str
    now: QuotaRow | None
    next: QuotaRow | None


@dataclass(frozen=True, slots=True)
class Line:
    """One team's cells, in the order of the pools."""

    team: TeamRow
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Sums:
    """A pool from an instant on, where it is tightest: what is promised of what there is.

    `left` is what nobody was promised, below zero where more was promised than there is.
    """

    capacity: int
    guaranteed: int
    reserved: int
    left: int
    tightest_at: datetime


@dataclass(frozen=True, slots=True)
class Column:
    """A pool and the sums of all teams in it."""

    pool_id: int
    pool: str
    sums: Sums


@dataclass(frozen=True, slots=True)
class Matrix:
    """The teams somebody may look at, and every pool; `over` is where a limit is passed."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    over: tuple[Bound, ...]


def read(*, access: Access, tree: Tree, now: datetime, team_ids: frozenset[int]) -> Matrix:
    """The matrix for these teams, of those whose branch the reader has a role in.

    Five queries, whatever its size: sums and limits need all teams' rows, so all are read once.
    """
    pools, window = selectors.list_pool_names(), Period(now, FOREVER)
    pool_ids = [pool_id for pool_id, _name in pools]
    figures, booked = quotas.list_all(window), rows.get_commitments(pool_ids, window)
    held: dict[tuple[int, int], QuotaRow] = {}
    later: dict[tuple[int, int], QuotaRow] = {}
    for q in figures:
        if q.team_id in team_ids:
            (held if q.valid_from <= now else later).setdefault((q.team_id, q.pool_id), q)
    sums = _sums_of_all(pool_ids, booked, window, {})
    return Matrix(
        columns=tuple(Column(pool_id, name, sums[pool_id]) for pool_id, name in pools),
        lines=tuple(
            Line(
                team,
                tuple(
                    Cell(team.id, pk, name, held.get((team.id, pk)), later.get((team.id, pk)))
                    for pk, name in pools
                ),
            )
            for team in readable(access, tree)
            if team.id in team_ids
        ),
        over=tuple(bounds.over_limits(figures, booked, window, tree)),
    )  # fmt: skip


def readable(access: Access, tree: Tree) -> list[TeamRow]:
    """The teams whose figures somebody reads on this page: those of their branches."""
    return _below_their_parents(teams.list_teams(access, roles=ANY_ROLE, tree=tree), tree)


def editable(access: Access, tree: Tree) -> list[TeamRow]:
    """The teams whose figures somebody may set."""
    return _below_their_parents(teams.list_teams(access, roles=DECIDE, tree=tree), tree)


def _below_their_parents(found: list[TeamRow], tree: Tree) -> list[TeamRow]:
    """In the order one reads a tree, each branch after its head."""
    place = {row.id: number for number, row in enumerate(tree.rows)}
    return sorted(found, key=lambda row: [place[team_id] for team_id in row.path])


def sums_of(*, pool_id: int, from_at: datetime, instead: Mapping[int, int] | None = None) -> Sums:
    """A pool's sums from an instant on; `instead` are guarantees by team as they would be."""
    return _sums(pool_id, Period(from_at, FOREVER), instead or {})


def least_left(
    *, pool_id: int, from_at: datetime, to_at: datetime, instead: Mapping[int, int]
) -> int:
    """The least that is left unpromised in a window, with these guarantees in place of others."""
    return _sums(pool_id, Period(from_at, to_at), instead).left


def _sums(pool_id: int, window: Period, changed: Mapping[int, int]) -> Sums:
    booked = rows.get_commitments([pool_id], window)
    return _sums_of_all([pool_id], booked, window, changed)[pool_id]


def _sums_of_all(
    pool_ids: Sequence[int],
    booked: Iterable[CommitmentRow],
    window: Period,
    changed: Mapping[int, int],
) -> dict[int, Sums]:
    """The sums of several pools, each where the window is tightest: two queries."""
    held: dict[int, list[CommitmentRow]] = {pool_id: [] for pool_id in pool_ids}
    for row in booked:
        held[row.pool_id].append(row)
    nodes = rows.list_bookable(pool_ids, window)
    return {
        pool_id: _tightest(nodes[pool_id], held[pool_id], window, changed) for pool_id in pool_ids
    }


def _tightest(
    nodes: list[Span], held: list[CommitmentRow], window: Period, changed: Mapping[int, int]
) -> Sums:
    kept = [
        row.hold for row in held if row.kind is CommitmentKind.QUOTA and row.team_id not in changed
    ]
    wanted = [Span(window.from_at, window.to_at, gpus) for gpus in changed.values()]
    booked = (r.hold for r in held if r.kind is CommitmentKind.RESERVATION and r.adds)
    part, (has, promised, reserved) = min(
        calendar.aligned(
            calendar.steps(nodes, window),
            calendar.steps([*kept, *wanted], window),
            calendar.steps(booked, window),
        ),
        key=lambda step: step[1][0] - step[1][1] - step[1][2],
    )
    return Sums(has, promised, reserved, has - promised - reserved, part.from_at)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a team's figures, as the audit tells it; `at` is real time."""

    quota_id: int
    at: datetime
    who: str
    valid_from: str
    was: Mapping[str, int | None]
    now: Mapping[str, int | None]
    request_id: int | None
    undoes: int | None


def list_told(*, team_id: int, pool_id: int) -> list[Change]:
    """Every change of a team's figures in a pool, newest first."""
    lines = list(
        AuditEvent.objects.filter(
            action="quotas.changed", team_id=team_id, data__pool=pool_id
        ).order_by("-id")
    )
    people = User.objects.in_bulk({row.actor_id for row in lines if row.actor_id})
    return [
        Change(
            quota_id=row.target_id or 0,
            at=row.at,
            who=str(people.get(row.actor_id, "")),
            valid_from=str(row.data["now"]["valid_from"]),
            was=_before(row.data),
            now=row.data["now"],
            request_id=row.data.get("request"),
            undoes=row.data.get("undoes"),
        )
        for row in lines
    ]


def _before(told: Mapping[str, Any]) -> Mapping[str, int | None]:
    """What held when a change began; one of the same instant that it replaced is nearer."""
    begins = told["now"]["valid_from"]
    same = [row for row in told["replaced"] if row["valid_from"] == begins]
    return next(iter(same), told["was"]) or NOTHING
