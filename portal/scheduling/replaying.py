"""A trace, or our own past, replayed in a cluster of ours under one policy or several.

The rules are the engine's own: what the replay decides is what ticks would have decided.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings

from portal.scheduling import exporting, freezing, policies
from scheduler_core import document, traces
from scheduler_core import model as engine
from scheduler_core.simulator import command
from scheduler_core.simulator.breaks import Refusal
from scheduler_core.simulator.command import Answer, Ground, Outside, table
from scheduler_core.traces import evenshare

__all__ = ["Answer", "Outside", "Refusal", "compare", "export", "table"]
Period = tuple[datetime, datetime]


def compare(
    arguments: argparse.Namespace,
    outside: Outside,
    *,
    cluster_id: int | None,
    period: Period | None,
    now: datetime,
) -> Iterator[Answer]:
    """Yield one answer a policy, of the trace the arguments name or of our own past in a period.

    On the nodes the arguments name, else in our cluster with its pools, teams and quotas of now.
    The policies are those named, else the cluster's own. Without a cluster of ours everything must
    be named. Raises as `command.answers` does.
    """
    jobs = _jobs(arguments, outside, cluster_id, period)
    ours = None if cluster_id is None else own(cluster_id, now)
    yield from command.compare(
        arguments, outside, jobs, _ground(arguments, outside, ours), _policies(arguments, ours)
    )


def _jobs(
    arguments: argparse.Namespace, outside: Outside, cluster_id: int | None, period: Period | None
) -> list[traces.Job]:
    if period is not None and cluster_id is not None:
        return exporting.history(cluster_id=cluster_id, from_at=period[0], to_at=period[1])
    if arguments.trace and arguments.workloads:
        return command.read_jobs(arguments, outside)
    raise Refusal("name --trace and --workloads, or a period of our own with --history")


def export(outside: Outside, folder: str, *, cluster_id: int, period: Period) -> tuple[int, int]:
    """Write our past as `jobs.csv` and the machines as `nodes.csv`; gives how many of each.

    `python -m scheduler_core replay --trace evenshare` reads both.
    """
    jobs = exporting.history(cluster_id=cluster_id, from_at=period[0], to_at=period[1])
    machines = exporting.nodes(cluster_id=cluster_id)
    with outside.new_file(f"{folder}/jobs.csv") as stream:
        evenshare.write_jobs(jobs, stream)
    with outside.new_file(f"{folder}/nodes.csv") as stream:
        evenshare.write_nodes(machines, stream)
    return len(jobs), len(machines)


def own(cluster_id: int, now: datetime) -> engine.Snapshot:
    """The cluster without its work: every node of it in service, and no reservations."""
    frozen = freezing.freeze(cluster_id=cluster_id, now=now).snapshot
    policy = policies.get_policy(cluster_id=cluster_id, now=now)
    rules = document.parse_policy(dict(policies.rules_of(policy, cluster_id=cluster_id)))
    return replace(
        frozen,
        policy=replace(rules, tick_seconds=settings.TICK_SECONDS),
        reservations=(), maintenance=(), workloads=(),
        nodes=tuple(replace(node, schedulable=True) for node in frozen.nodes),
    )  # fmt: skip


def _ground(arguments: argparse.Namespace, outside: Outside, own: engine.Snapshot | None) -> Ground:
    if arguments.cluster is None and arguments.nodes is None:
        if own is None:
            raise Refusal("there is no cluster of ours yet: name --nodes or --cluster")
        return Ground(terms=own)
    if arguments.nodes is not None and arguments.trace is None:
        raise Refusal("--nodes needs --trace, which says how the file is read")
    return Ground(command.read_nodes(arguments, outside))


def _policies(
    arguments: argparse.Namespace, own: engine.Snapshot | None
) -> Sequence[engine.Policy]:
    """The cluster's own policy, where no other is named."""
    if own is None or arguments.order or arguments.placement or arguments.policy:
        return ()
    head_blocks = own.policy.head_blocks or arguments.head_blocks
    return (replace(own.policy, head_blocks=head_blocks),)
