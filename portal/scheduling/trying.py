"""What another policy would do now: the next tick planned twice on the same rows, nothing written.

Both plans are made of one snapshot, so what differs between them is the policy alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from portal.scheduling import freezing, naming, policies
from portal.scheduling.freezing import Frozen
from portal.teams.models import Team
from portal.workloads.models import Workload
from scheduler_core import model as engine
from scheduler_core import planner

STARTS, HOLDS, STOPS, SPARES, EARLIER, LATER = (
    "starts", "holds", "stops", "spares", "earlier", "later",
)  # fmt: skip
HARDEST_FIRST = (STOPS, HOLDS, LATER, STARTS, SPARES, EARLIER)
MOST = 100
"""So many jobs of each kind are named; all are counted."""
CLOSE_SECONDS = 60
"""Planned starts this near each other count as the same."""


@dataclass(frozen=True, slots=True)
class Move:
    """One job that fares otherwise: it starts, waits, is stopped or spared, earlier or later."""

    kind: str
    workload_id: int | None
    name: str
    team_id: int | None
    was_at: datetime | None = None
    now_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TeamEffect:
    """One team under both policies, over all pools, in milli-GPU."""

    team_id: int
    name: str
    hue: int
    fair_before: int
    fair_after: int
    allocated_before: int
    allocated_after: int
    borrowed_before: int
    borrowed_after: int

    @property
    def differs(self) -> bool:
        """Whether anything of it changes."""
        before = (self.fair_before, self.allocated_before, self.borrowed_before)
        return before != (self.fair_after, self.allocated_after, self.borrowed_after)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The next tick under both policies."""

    counts: Mapping[str, int]
    moves: tuple[Move, ...]
    teams: tuple[TeamEffect, ...]
    starts_before: int
    starts_after: int
    stops_before: int
    stops_after: int
    waiting_before: int
    waiting_after: int

    @property
    def is_same(self) -> bool:
        """Whether the next tick would decide the same."""
        return not self.counts and not any(team.differs for team in self.teams)


def try_policy(*, cluster_id: int, rules: Mapping[str, object], now: datetime) -> Rehearsal:
    """Plan the next tick under the policy that holds and under another."""
    frozen = freezing.freeze(cluster_id=cluster_id, now=now)
    last = policies.last_tick(cluster_id=cluster_id)
    other = policies.effective(rules, last=last, now=now)
    before = planner.plan(frozen.snapshot)
    after = planner.plan(replace(frozen.snapshot, policy=other))
    moves = list(_moves(frozen, before, after))
    kinds = [move.kind for move in moves]
    counts = {kind: kinds.count(kind) for kind in HARDEST_FIRST if kind in kinds}
    return Rehearsal(
        counts=counts, moves=tuple(_named(_few(moves))), teams=tuple(_teams(before, after)),
        starts_before=len(before.starts), starts_after=len(after.starts),
        stops_before=len(before.preemptions), stops_after=len(after.preemptions),
        waiting_before=len(before.waiting), waiting_after=len(after.waiting),
    )  # fmt: skip


def _moves(frozen: Frozen, before: engine.Plan, after: engine.Plan) -> Iterable[Move]:
    """Every job that fares otherwise, in the order of the snapshot."""
    starts = [{one.workload for one in plan.starts} for plan in (before, after)]
    stops = [{one.workload for one in plan.preemptions} for plan in (before, after)]
    waits = [{one.workload: one.planned_start for one in plan.waiting} for plan in (before, after)]
    for job in frozen.snapshot.workloads:
        name = job.id
        kind = _kind([name in one for one in starts], [name in one for one in stops])
        times = [_moment(one.get(name)) for one in waits]
        if not kind and all(name in one for one in waits):
            kind = _shift(times[0], times[1])
        if kind:
            yield Move(kind, frozen.work.rows.get(name), name, naming.row_id(job.team, "t"), *times)


def _kind(starts: list[bool], stops: list[bool]) -> str:
    if starts[0] != starts[1]:
        return STARTS if starts[1] else HOLDS
    if stops[0] != stops[1]:
        return STOPS if stops[1] else SPARES
    return ""


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _shift(was: datetime | None, now: datetime | None) -> str:
    """Whether a planned start comes earlier or later; none is the latest of all."""
    if was is None or now is None:
        return "" if was is now else LATER if now is None else EARLIER
    seconds = (now - was).total_seconds()
    return "" if abs(seconds) < CLOSE_SECONDS else LATER if seconds > 0 else EARLIER


def _few(moves: Iterable[Move]) -> list[Move]:
    kept: dict[str, list[Move]] = {}
    for move in moves:
        of_kind = kept.setdefault(move.kind, [])
        if len(of_kind) < MOST:
            of_kind.append(move)
    return [move for kind in HARDEST_FIRST for move in kept.get(kind, ())]


def _named(moves: list[Move]) -> Iterable[Move]:
    """The moves with the jobs' own names."""
    rows = Workload.objects.filter(pk__in={move.workload_id for move in moves})
    names = {
        pk: f"{space}/{name}" for pk, space, name in rows.values_list("pk", "namespace", "name")
    }
    for move in moves:
        yield replace(move, name=names.get(move.workload_id or 0, move.name))


def _teams(before: engine.Plan, after: engine.Plan) -> Iterable[TeamEffect]:
    """Every team with a share, by name."""
    sums: dict[int, list[int]] = {}
    for side, plan in enumerate((before, after)):
        for share in plan.shares:
            team_id = naming.row_id(share.team, "t")
            if team_id:
                row = sums.setdefault(team_id, [0] * 6)
                for place, amount in enumerate((share.fair_share, share.allocated, share.borrowed)):
                    row[2 * place + side] += amount
    for team in Team.objects.filter(pk__in=sums).order_by("name", "id"):
        yield TeamEffect(team.pk, team.name, team.hue, *sums[team.pk])
