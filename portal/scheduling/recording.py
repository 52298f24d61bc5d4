"""A plan → rows, in one transaction: the tick, what changed for whom, shares, charges, use.

Only what changed is written: a decision when verb, reason or planned start differ from the
standing before, a standing when anything in it does, a charge when it is another. A standing's
`tick` is the tick that last said something else than its position, which moves with every arrival.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction

from portal.common import leases
from portal.inventory.models import Cluster
from portal.scheduling import batches, freezing, naming
from portal.scheduling import outcomes as deciding
from portal.scheduling.freezing import Frozen
from portal.scheduling.models import Decision, Share, Standing, Tick, TickState, Verb
from portal.scheduling.outcomes import Outcome
from portal.usage import services as usage
from portal.usage.models import DecayedUse
from portal.workloads.models import Workload
from scheduler_core import document
from scheduler_core import model as engine

SNAPSHOTS_ALL = timedelta(hours=24)
SNAPSHOTS_OF_CHANGES = timedelta(days=30)
SHARES_ALL = timedelta(hours=48)
TICKS = timedelta(days=400)
SWIFT = 3
"""How hard a snapshot is compressed: a little larger than by default, in a third of the time."""
STANDING_FIELDS = (
    "tick", "verb", "reason", "detail", "position", "charged_to", "planned_start",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cycle:
    """Which cycle is written: whose, when, under which lease, how long it took so far."""

    cluster_id: int
    now: datetime
    real_now: datetime
    lease: leases.Held | None
    took_ms: int

    @property
    def fence(self) -> int:
        """The lease's number; 0 where the cycle runs without one."""
        return self.lease.fence if self.lease else 0


def snapshot_bytes(snapshot: engine.Snapshot) -> bytes:
    """The snapshot as `python -m scheduler_core plan` reads it; equal snapshots, equal bytes."""
    return document.snapshot_to_text(snapshot).encode()


class Said(NamedTuple):
    """What a standing says, as its row has it."""

    workload_id: int
    verb: str
    reason: str
    detail: dict[str, Any]
    position: int | None
    charged_to: str
    planned_start: datetime | None


def record(cycle: Cycle, frozen: Frozen, plan: engine.Plan) -> Tick:
    """Write one finished cycle. Raises `leases.Fenced` when the lease was taken meanwhile."""
    # What needs no database is done before anybody has to wait.
    snapshot = zlib.compress(snapshot_bytes(frozen.snapshot), SWIFT)
    said = deciding.outcomes(frozen, plan)
    with transaction.atomic():
        return _write(cycle, frozen, plan, said, snapshot)


def _write(
    cycle: Cycle, frozen: Frozen, plan: engine.Plan, said: dict[int, Outcome], snapshot: bytes
) -> Tick:
    if cycle.lease is not None:
        leases.check(cycle.lease)
    Cluster.objects.select_for_update(no_key=True).get(pk=cycle.cluster_id)
    tick = _tick(cycle, frozen, plan, snapshot)
    standing = Standing.objects.filter(workload__cluster_id=cycle.cluster_id)
    before = {row[0]: Said(*row) for row in standing.values_list(*Said._fields)}
    kept = said.keys() | (frozen.work.stopping & before.keys())
    fresh = {pk: outcome for pk, outcome in said.items() if not _says(before.get(pk), outcome)}
    _write_decisions(tick, fresh, before)
    _write_standings(tick, fresh)
    _move_up(said, fresh, before)
    for pks in batches.of(before.keys() - kept):
        Standing.objects.filter(workload_id__in=pks).delete()
    Share.objects.bulk_create(_shares(tick, plan), batch_size=batches.SIZE)
    usage.charge(charges=deciding.pod_charges(frozen, plan), now=cycle.now)
    _write_charges(fresh)
    paid = frozenset(pk for pk, row in before.items() if row.verb == Verb.START)
    _charge_use(frozen, deciding.uses(frozen, plan, paid=paid), cycle.now)
    return tick


def _tick(cycle: Cycle, frozen: Frozen, plan: engine.Plan, snapshot: bytes) -> Tick:
    return Tick.objects.create(
        cluster_id=cycle.cluster_id,
        at=cycle.now,
        state=TickState.DONE,
        policy=frozen.policy,
        fence=cycle.fence,
        started_real_at=cycle.real_now,
        took_ms=cycle.took_ms,
        waiting=len(plan.waiting),
        running=len(plan.running),
        starts=len(plan.starts),
        preemptions=len(plan.preemptions),
        jain=plan.fairness.jain,
        placement_mode=plan.placement_mode,
        fragmentation=[_fragmentation(row) for row in plan.fragmentation],
        snapshot=snapshot,
        message=" ".join(frozen.notes),
    )


def _fragmentation(row: engine.PoolFragmentation) -> dict[str, int | None]:
    return {
        "pool_id": naming.row_id(row.pool, "p"),
        "free_gpu_milli": row.free_gpu_milli,
        "largest_on_one_node": row.largest_on_one_node,
        "fragmented_gpu_milli": row.fragmented_gpu_milli,
    }


def _says(row: Said | None, outcome: Outcome) -> bool:
    """Whether a standing says all of an outcome but its position."""
    return (
        row is not None
        and not _decides_anew(row, outcome)
        and row.charged_to == outcome.charged_to
        and row.detail == outcome.detail
    )


def _decides_anew(row: Said | None, outcome: Outcome) -> bool:
    return (
        row is None
        or row.verb != outcome.verb
        or row.reason != outcome.reason
        or row.planned_start != outcome.planned_start
    )


def _write_decisions(tick: Tick, fresh: dict[int, Outcome], before: dict[int, Said]) -> None:
    changed = [
        Decision(
            tick=tick,
            workload_id=pk,
            verb=outcome.verb,
            reason=outcome.reason,
            detail=outcome.detail,
            charged_to=outcome.charged_to,
            planned_start=outcome.planned_start,
        )
        for pk, outcome in fresh.items()
        if _decides_anew(before.get(pk), outcome)
    ]
    Decision.objects.bulk_create(changed, batch_size=batches.SIZE)


def _write_standings(tick: Tick, fresh: dict[int, Outcome]) -> None:
    changed = [
        Standing(
            tick=tick,
            workload_id=pk,
            verb=outcome.verb,
            reason=outcome.reason,
            detail=outcome.detail,
            position=outcome.position,
            charged_to=outcome.charged_to,
            planned_start=outcome.planned_start,
        )
        for pk, outcome in fresh.items()
    ]
    Standing.objects.bulk_create(
        changed,
        batch_size=batches.SIZE,
        update_conflicts=True,
        unique_fields=["workload"],
        update_fields=STANDING_FIELDS,
    )


def _move_up(said: dict[int, Outcome], fresh: dict[int, Outcome], before: dict[int, Said]) -> None:
    """Write the positions of those of whom nothing else is new, all in one statement.

    After one arrival nearly everybody stands elsewhere, by the ten thousand.
    """
    moved = [
        (pk, outcome.position)
        for pk, outcome in said.items()
        if pk not in fresh and outcome.position != before[pk].position
    ]
    table = connection.ops.quote_name(Standing._meta.db_table)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            columns = [list(column) for column in zip(*moved, strict=True)] or [[], []]
            cursor.execute(
                f"UPDATE {table} SET position = moved.position"  # noqa: S608 -- a name of ours
                " FROM unnest(%s::bigint[], %s::integer[]) AS moved (workload_id, position)"
                f" WHERE {table}.workload_id = moved.workload_id",
                columns,
            )
        else:
            cursor.executemany(
                f"UPDATE {table} SET position = %s WHERE workload_id = %s",  # noqa: S608
                [(position, pk) for pk, position in moved],
            )


def _shares(tick: Tick, plan: engine.Plan) -> Iterator[Share]:
    """One row a team and pool; the hidden team's is nobody's."""
    told = {(quota.team, quota.pool): quota for quota in plan.quotas}
    for share in plan.shares:
        team_id, pool_id = naming.row_id(share.team, "t"), naming.row_id(share.pool, "p")
        if not team_id or not pool_id:
            continue
        quota = told.get((share.team, share.pool))
        yield Share(
            tick=tick,
            team_id=team_id,
            pool_id=pool_id,
            guaranteed=share.guaranteed,
            reserved=share.reserved,
            fair_share=share.fair_share,
            allocated=share.allocated,
            borrowed=share.borrowed,
            lent=share.lent,
            available=share.available,
            dominant_share=share.dominant_share,
            satisfaction=share.satisfaction,
            factor=share.factor,
            guaranteed_gpus=quota.guaranteed_gpus if quota else 0,
            burst_gpus=quota.burst_gpus if quota else 0,
        )


def _write_charges(fresh: dict[int, Outcome]) -> None:
    """Workloads that run or start carry what they are charged to, since it was said."""
    of_kind: dict[str, list[int]] = {}
    for pk, outcome in fresh.items():
        if outcome.verb in (Verb.RUN, Verb.START):
            of_kind.setdefault(outcome.charged_to, []).append(pk)
    for kind, workload_ids in of_kind.items():
        for pks in batches.of(workload_ids):
            Workload.objects.filter(pk__in=pks).exclude(charged_to=kind).update(charged_to=kind)


def _charge_use(frozen: Frozen, used: dict[int, float], now: datetime) -> None:
    """Decay every team's use to `now` and add what it used since the last tick."""
    half_life = frozen.snapshot.policy.half_life_seconds
    # In one order, since the ticks of two clusters lock the same rows.
    rows = DecayedUse.objects.select_for_update(no_key=True).order_by("team_id")
    old = {row.team_id: row for row in rows}
    new: list[DecayedUse] = []
    for team_id in sorted(old.keys() | used.keys()):
        row = old.get(team_id)
        left = freezing.decayed(row, half_life_seconds=half_life, now=now)
        as_of = max(now, row.as_of) if row else now
        new.append(
            DecayedUse(team_id=team_id, gpu_seconds=left + used.get(team_id, 0.0), as_of=as_of)
        )
    DecayedUse.objects.bulk_create(
        new,
        batch_size=batches.SIZE,
        update_conflicts=True,
        unique_fields=["team"],
        update_fields=["gpu_seconds", "as_of"],
    )


@transaction.atomic
def prune(*, now: datetime) -> dict[str, int]:
    """Forget what is past its time; gives how many rows of each kind.

    Snapshots: 24 hours all, 30 days where something started or was stopped. Shares: 48 hours all,
    after that one tick an hour. Ticks with their decisions: 400 days.
    """
    with_snapshot = Tick.objects.filter(snapshot__isnull=False)
    quiet = with_snapshot.filter(at__lt=now - SNAPSHOTS_ALL, starts=0, preemptions=0)
    old = with_snapshot.filter(at__lt=now - SNAPSHOTS_OF_CHANGES)
    gone: dict[str, int] = {
        "snapshots": quiet.update(snapshot=None) + old.update(snapshot=None),
        "shares": _prune_shares(now),
    }
    kept_by_standings = Standing.objects.values("tick_id")
    ticks = Tick.objects.filter(at__lt=now - TICKS).exclude(pk__in=kept_by_standings)
    gone["ticks"] = ticks.count()
    ticks.delete()
    return gone


def _prune_shares(now: datetime) -> int:
    """Thin shares older than two days out to the first tick of each hour."""
    old = Tick.objects.filter(at__lt=now - SHARES_ALL, state=TickState.DONE)
    seen: set[tuple[int, Any]] = set()
    extra: list[int] = []
    with_shares = old.filter(shares__isnull=False).distinct().order_by("at", "id")
    for pk, cluster_id, at in with_shares.values_list("pk", "cluster_id", "at"):
        hour = (cluster_id, at.replace(minute=0, second=0, microsecond=0))
        if hour in seen:
            extra.append(pk)
        seen.add(hour)
    gone = 0
    for pks in batches.of(extra):
        gone += Share.objects.filter(tick_id__in=pks).delete()[0]
    return gone
