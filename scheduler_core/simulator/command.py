"""What `replay` on the command line means: arguments in, one answer a policy out.

Opening files and measuring CPU time are the caller's; printing is too.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import BinaryIO

from scheduler_core import document, model
from scheduler_core.resources import DEVICE
from scheduler_core.simulator import running, study, writing
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import BadCluster, equal_nodes, scenario
from scheduler_core.traces import READERS, Job, Node
from scheduler_core.traces.reading import lines_of

Answer = dict[str, object]


@dataclass(frozen=True, slots=True)
class Outside:
    """What the command needs of the world: a file's bytes by name, and CPU seconds used so far."""

    open_file: Callable[[str], BinaryIO]
    cpu_seconds: Callable[[], float]


class Refusal(ValueError):
    """The arguments do not go together, or a file does not say what it should."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `replay`."""
    add = parser.add_argument
    add("--trace", required=True, choices=sorted(READERS), help="format of the files")
    add("--workloads", required=True, metavar="FILE", help="the jobs; gzip is accepted")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--nodes", metavar="FILE", help="the machines, in the trace's format")
    where.add_argument("--cluster", metavar="64x8", help="equal nodes: how many x GPUs of each")
    add("--order", action="append", choices=model.ORDERS, help="may be given several times")
    add("--placement", action="append", choices=model.PLACEMENT_NAMES, help="the same")
    add("--policy", action="append", default=[], metavar="FILE", help="a policy as JSON; the same")
    add("--head-blocks", action="store_true", help="the first that does not fit blocks all")
    add("--backfill", choices=model.BACKFILLS, default="off", help="unless a policy file says")
    add("--arrivals-only", action="store_true", help="tasks never leave, a misfit is dropped")
    add("--load", type=float, default=1.3, help="demand to arrive, as a share of all GPUs")
    add("--arrivals-order", metavar="FILE", help="rows of the workloads, from 0, one a line")
    add("--nodes-order", metavar="FILE", help="rows of the nodes, best rank first")
    add("--seed", type=int, default=42, help="of every random choice")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="a JSON list, one object a policy")
    output.add_argument("--csv", action="store_true", help="one row a policy")


def answers(arguments: argparse.Namespace, outside: Outside) -> Iterator[Answer]:
    """Yield one answer for each policy, as each is done.

    Raises `Refusal`, `TraceError`, `document.Fault` or `OSError`.
    """
    with outside.open_file(arguments.workloads) as stream:
        jobs = list(READERS[arguments.trace].jobs(stream))
    nodes = _nodes(arguments, outside)
    if not jobs or not nodes:
        raise Refusal("there are no jobs" if not jobs else "there are no nodes")
    if arguments.arrivals_only:
        yield from _studies(arguments, outside, jobs, nodes)
    else:
        yield from _replays(arguments, outside, jobs, nodes)


def _nodes(arguments: argparse.Namespace, outside: Outside) -> list[Node]:
    if arguments.cluster is not None:
        try:
            return equal_nodes(arguments.cluster)
        except BadCluster as why:
            raise Refusal(f"--cluster: {why}") from None
    with outside.open_file(arguments.nodes) as stream:
        return list(READERS[arguments.trace].nodes(stream))


def _replays(
    arguments: argparse.Namespace, outside: Outside, jobs: Sequence[Job], nodes: Sequence[Node]
) -> Iterator[Answer]:
    for policy in _policies(arguments, outside):
        begun = outside.cpu_seconds()
        told = scenario(jobs, nodes, policy)
        figures = report(running.replay(told))
        answer = writing.report_to_json(
            figures, policy.order, policy.placement, outside.cpu_seconds() - begun
        )
        yield {**answer, "left_out": told.left_out, "never_fit": told.never_fit}


def _policies(arguments: argparse.Namespace, outside: Outside) -> list[model.Policy]:
    named = arguments.order or arguments.placement or not arguments.policy
    orders = (arguments.order or ["fair_share"]) if named else []
    policies = [
        model.Policy(
            order=order, placement=placement, backfill=arguments.backfill, seed=arguments.seed
        )
        for order, placement in product(orders, arguments.placement or ["pack"])
    ]
    policies += [_policy(outside, path) for path in arguments.policy]
    if arguments.head_blocks:
        policies = [replace(policy, head_blocks=True) for policy in policies]
    return policies


def _policy(outside: Outside, path: str) -> model.Policy:
    with outside.open_file(path) as stream:
        try:
            given = json.load(stream)
        except ValueError:
            raise Refusal(f"{path} is not JSON") from None
    return document.parse_policy(given)


def _studies(
    arguments: argparse.Namespace, outside: Outside, jobs: Sequence[Job], nodes: Sequence[Node]
) -> Iterator[Answer]:
    single = [job for job in jobs if job.tasks == 1]
    if len(single) < len(jobs):
        raise Refusal("--arrivals-only takes jobs of one task")
    draw = Random(arguments.seed)  # noqa: S311 - a simulation, no secret
    capacity = sum(node.gpus for node in nodes) * DEVICE
    arrivals = study.arrival_order(jobs, capacity, arguments.load, draw)
    ranks = study.node_order(nodes, draw)
    if arguments.arrivals_order is not None:
        arrivals = _rows(outside, arguments.arrivals_order, len(jobs))
    if arguments.nodes_order is not None:
        ranks = _rows(outside, arguments.nodes_order, len(nodes))
    if not arrivals:
        raise Refusal("nothing arrives")
    for placement in arguments.placement or ["fgd"]:
        begun = outside.cpu_seconds()
        make = study.POLICIES[placement]
        outcome = study.study(jobs, nodes, make, arrivals, ranks, arguments.seed)
        yield writing.outcome_to_json(outcome, placement, outside.cpu_seconds() - begun)


def _rows(outside: Outside, path: str, size: int) -> list[int]:
    rows: list[int] = []
    with outside.open_file(path) as stream:
        for number, line in enumerate(lines_of(stream), start=1):
            if not line.strip().isdecimal() or int(line) >= size:
                raise Refusal(f"{path} line {number}: {line!r} is no row from 0 to {size - 1}")
            rows.append(int(line))
    return rows


TABLE = (
    ("order", "order", "s"),
    ("placement", "placement", "s"),
    ("jobs", "jobs", "d"),
    ("wait mean", "wait_seconds.mean", ".2f"),
    ("p50", "wait_seconds.p50", ".0f"),
    ("p90", "wait_seconds.p90", ".0f"),
    ("p99", "wait_seconds.p99", ".0f"),
    ("completion", "completion_seconds.mean", ".2f"),
    ("makespan", "makespan_seconds", "d"),
    ("allocated %", "allocated_pct", ".2f"),
    ("fragmented %", "fragmented_pct", ".2f"),
    ("preempted", "preemptions", "d"),
    ("Jain", "jain", ".3f"),
    ("CPU s", "cpu_seconds", ".2f"),
)


def table(answered: Sequence[Answer]) -> str:
    """Return the answers as a table for people; what a policy has no figure for is left empty."""
    flat = [writing.flat(answer) for answer in answered]
    cells = [[title for title, _, _ in TABLE]]
    cells += [
        [format(row[key], spec) if key in row else "" for _, key, spec in TABLE] for row in flat
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(TABLE))]
    lines = ("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in cells)
    return "".join(line.rstrip() + "\n" for line in lines)
