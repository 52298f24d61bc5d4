"""Ticks, their snapshots, and the policies they followed."""

import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from portal.inventory.models import Cluster
from portal.scheduling import policies
from portal.scheduling.models import Policy, Tick


@dataclass(frozen=True, slots=True)
class FragmentationRow:
    """What is free in a pool at a tick, and how much of it typical work cannot use."""

    pool_id: int
    free_gpu_milli: int
    largest_on_one_node: int
    fragmented_gpu_milli: int


@dataclass(frozen=True, slots=True)
class TickRow:
    """One cycle of one cluster; `at` is organisation time."""

    id: int
    cluster_id: int
    cluster_name: str
    at: datetime
    state: str
    message: str
    policy_id: int | None
    took_ms: int
    waiting: int
    running: int
    starts: int
    preemptions: int
    jain: float | None
    placement_mode: str
    fragmentation: tuple[FragmentationRow, ...]


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The rules a cluster follows; `id` 0 and no date are the rules it follows by default."""

    id: int
    cluster_id: int
    rules: dict[str, Any]
    valid_from: datetime | None
    created_by_id: int | None
    note: str = ""


def latest_tick(*, cluster_id: int) -> TickRow | None:
    """The newest tick of a cluster, also one that decided nothing."""
    tick = list_ticks(cluster_id=cluster_id).first()
    return None if tick is None else tick_row(tick)


def get_tick(*, tick_id: int) -> TickRow | None:
    """One tick."""
    tick = list_ticks().filter(pk=tick_id).first()
    return None if tick is None else tick_row(tick)


def list_ticks(*, cluster_id: int | None = None, state: str = "") -> QuerySet[Tick]:
    """Ticks, newest first, without their snapshots; for a paged list."""
    ticks = Tick.objects.defer("snapshot").select_related("cluster").order_by("-at", "-id")
    if cluster_id is not None:
        ticks = ticks.filter(cluster_id=cluster_id)
    return ticks.filter(state=state) if state else ticks


def tick_row(tick: Tick) -> TickRow:
    """A tick of such a list as a frozen answer."""
    return TickRow(
        id=tick.pk, cluster_id=tick.cluster_id, cluster_name=tick.cluster.name, at=tick.at,
        state=tick.state, message=tick.message, policy_id=tick.policy_id, took_ms=tick.took_ms,
        waiting=tick.waiting, running=tick.running, starts=tick.starts,
        preemptions=tick.preemptions, jain=tick.jain, placement_mode=tick.placement_mode,
        fragmentation=tuple(FragmentationRow(**row) for row in tick.fragmentation),
    )  # fmt: skip


def get_snapshot(*, tick_id: int) -> bytes | None:
    """The engine's input of a tick as JSON, as `python -m scheduler_core plan` takes it.

    None when there is no such tick or its snapshot is past its time.
    """
    row = Tick.objects.filter(pk=tick_id).values_list("snapshot", flat=True).first()
    return None if row is None else zlib.decompress(row)


def get_policy(*, cluster_id: int, now: datetime) -> PolicyRow | None:
    """What a cluster follows now; None for an unknown cluster."""
    policy = policies.get_policy(cluster_id=cluster_id, now=now)
    if policy is not None:
        return PolicyRow(
            id=policy.pk, cluster_id=cluster_id, rules=policy.rules, valid_from=policy.valid_from,
            created_by_id=policy.created_by_id, note=policy.note,
        )  # fmt: skip
    mode = Cluster.objects.filter(pk=cluster_id).values_list("mode", flat=True).first()
    if mode is None:
        return None
    rules = policies.default_rules(mode)
    return PolicyRow(id=0, cluster_id=cluster_id, rules=rules, valid_from=None, created_by_id=None)


def list_policies(*, cluster_id: int) -> list[PolicyRow]:
    """Every policy a cluster was given, newest first."""
    found = Policy.objects.filter(cluster_id=cluster_id).order_by("-valid_from", "-id")
    return [
        PolicyRow(
            id=one.pk, cluster_id=cluster_id, rules=one.rules, valid_from=one.valid_from,
            created_by_id=one.created_by_id, note=one.note,
        )
        for one in found
    ]  # fmt: skip
