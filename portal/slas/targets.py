"""Which promise holds for whom at an instant: a team's own, or that of a team above it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q

from portal.slas.models import Sla
from portal.teams import selectors as teams
from portal.teams.selectors import Tree

Key = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class SlaRow:
    """A team's promise while it holds; without a pool it is for all of them."""

    id: int
    team_id: int
    pool_id: int | None
    pool: str
    tier_id: int
    tier: str
    target_wait_seconds: int
    goal_permille: int
    answer_seconds: int | None
    valid_from: datetime
    valid_to: datetime | None
    request_id: int | None

    def holds_at(self, at: datetime) -> bool:
        """Whether it holds at an instant."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


@dataclass(frozen=True, slots=True)
class Targets:
    """The promises of a time, found by team and pool: the nearest team's, its pool's before all."""

    tree: Tree
    rows: dict[Key, list[SlaRow]]
    _paths: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _near: dict[Key, list[SlaRow]] = field(default_factory=dict)

    def of(self, team_id: int, pool_id: int | None, at: datetime) -> SlaRow | None:
        """The promise a team has in a pool at an instant; without a pool, the one for all."""
        if not self.rows:
            return None
        known = self._near.get((team_id, pool_id))
        if known is None:
            known = self._near[team_id, pool_id] = self._nearest(team_id, pool_id)
        return next((row for row in known if row.holds_at(at)), None)

    def each(self) -> Iterator[SlaRow]:
        """Every promise."""
        for rows in self.rows.values():
            yield from rows

    def _nearest(self, team_id: int, pool_id: int | None) -> list[SlaRow]:
        """The promises of a team and of those above it, in the order in which they count."""
        keys = dict.fromkeys([pool_id, None])
        return [
            row
            for above in reversed(self._path(team_id))
            for key in keys
            for row in self.rows.get((above, key), ())
        ]

    def _path(self, team_id: int) -> tuple[int, ...]:
        if not self._paths:
            self._paths.update({row.id: row.path for row in self.tree.rows})
        return self._paths.get(team_id, (team_id,))


def get_targets(
    *, now: datetime, from_at: datetime | None = None, tree: Tree | None = None
) -> Targets:
    """The promises that hold, held at some time since `from_at`, or are to; the tree is today's."""
    still = Q(valid_to__isnull=True) | Q(valid_to__gt=from_at or now)
    rows = Sla.objects.filter(still).select_related("tier", "pool")
    return Targets(tree=tree or teams.get_tree(now=now), rows=_by_key(rows.order_by("valid_from")))


def _by_key(rows: Iterable[Sla]) -> dict[Key, list[SlaRow]]:
    found: dict[Key, list[SlaRow]] = {}
    for row in rows:
        found.setdefault((row.team_id, row.pool_id), []).append(row_of(row))
    return found


def row_of(row: Sla) -> SlaRow:
    """A promise as a frozen answer."""
    return SlaRow(
        id=row.pk, team_id=row.team_id, pool_id=row.pool_id,
        pool=row.pool.name if row.pool else "", tier_id=row.tier_id, tier=row.tier.name, target_wait_seconds=row.tier.target_wait_seconds,
        goal_permille=row.tier.goal_permille, answer_seconds=row.tier.answer_seconds,
        valid_from=row.valid_from, valid_to=row.valid_to, request_id=row.request_id,
    )  # fmt: skip
