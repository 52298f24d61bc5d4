"""What `replay` on the command line means: arguments in, one answer a policy out.

Files, CPU time and showing progress are the caller's (`Outside`); printing is too.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import BinaryIO, TextIO

from scheduler_core import document, model
from scheduler_core.resources import DEVICE
from scheduler_core.simulator import breaks, running, study, writing
from scheduler_core.simulator.breaks import Refusal
from scheduler_core.simulator.events import Event
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import (
    BadCluster,
    Scenario,
    equal_nodes,
    on_terms,
    scenario,
)
from scheduler_core.traces import READERS, Job, Node
from scheduler_core.traces.reading import lines_of

Answer = dict[str, object]
MOST_LOAD = 100


@dataclass(frozen=True, slots=True)
class Outside:
    """What the command needs of the world.

    A file's bytes by name, a new text file by name (its folders made), CPU seconds used so far, and
    somebody to tell how far it is.
    """

    open_file: Callable[[str], BinaryIO]
    new_file: Callable[[str], TextIO]
    cpu_seconds: Callable[[], float]
    tell: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where jobs are replayed: bare nodes, or a cluster with terms of its own."""

    nodes: Sequence[Node] = ()
    terms: model.Snapshot | None = None

    def scenario(self, jobs: Sequence[Job], policy: model.Policy) -> Scenario:
        """Return the jobs there, under the policy."""
        if self.terms is None:
            return scenario(jobs, self.nodes, policy)
        return on_terms(jobs, replace(self.terms, policy=policy))


def add_arguments(parser: argparse.ArgumentParser, *, elsewhere: bool = False) -> None:
    """Declare the arguments of `replay`; `elsewhere`, jobs and nodes may come from there too."""
    add = parser.add_argument
    needed = not elsewhere
    add("--trace", required=needed, choices=sorted(READERS), help="format of the files")
    add("--workloads", required=needed, metavar="FILE", help="the jobs; gzip is accepted")
    where = parser.add_mutually_exclusive_group(required=needed)
    where.add_argument("--nodes", metavar="FILE", help="the machines, in the trace's format")
    where.add_argument("--cluster", metavar="64x8", help="equal nodes: how many x GPUs of each")
    add("--order", action="append", choices=model.ORDERS, help="may be given several times")
    placements = [*model.PLACEMENT_NAMES, *study.STUDY_ONLY]
    add("--placement", action="append", choices=placements, help="the same")
    add("--policy", action="append", default=[], metavar="FILE", help="a policy as JSON; the same")
    add("--head-blocks", action="store_true", help="the first that does not fit blocks all")
    add("--backfill", choices=model.BACKFILLS, default="off", help="unless a policy file says")
    add("--arrivals-only", action="store_true", help="tasks never leave, a misfit is dropped")
    add("--load", type=float, default=1.3, help="demand to arrive, as a share of all GPUs")
    add("--arrivals-order", metavar="FILE", help="rows of the workloads, from 0, one a line")
    add("--nodes-order", metavar="FILE", help="rows of the nodes, best rank first")
    add("--seed", type=int, default=42, help="of every random choice")
    breaks.add_arguments(parser)
    add("--gpu-hour-cost", type=float, help="what a GPU-hour costs, for the cost of a job")
    add("--report", metavar="FOLDER", help="write figures, jobs and shares over time there")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="a JSON list, one object a policy")
    output.add_argument("--csv", action="store_true", help="one row a policy")


def answers(arguments: argparse.Namespace, outside: Outside) -> Iterator[Answer]:
    """Yield one answer for each policy, as each is done.

    Raises `Refusal`, `TraceError`, `document.Fault` or `OSError`.
    """
    jobs = read_jobs(arguments, outside)
    ground = Ground(read_nodes(arguments, outside))
    yield from compare(arguments, outside, jobs, ground)


def read_jobs(arguments: argparse.Namespace, outside: Outside) -> list[Job]:
    """Return the jobs of the file named. Raises as `answers` does."""
    with outside.open_file(arguments.workloads) as stream:
        reading = READERS[arguments.trace].jobs(stream)
        jobs = list(reading)
    if reading.bad:
        first = "; ".join(map(str, reading.first_bad))
        outside.tell(f"{reading.bad} of {reading.rows} rows were skipped: {first}")
    return jobs


def read_nodes(arguments: argparse.Namespace, outside: Outside) -> list[Node]:
    """Return the nodes described or of the file named. Raises as `answers` does."""
    if arguments.cluster is not None:
        try:
            return equal_nodes(arguments.cluster)
        except BadCluster as why:
            raise Refusal(f"--cluster: {why}") from None
    with outside.open_file(arguments.nodes) as stream:
        return list(READERS[arguments.trace].nodes(stream))


def compare(
    arguments: argparse.Namespace,
    outside: Outside,
    jobs: Sequence[Job],
    ground: Ground,
    policies: Sequence[model.Policy] = (),
) -> Iterator[Answer]:
    """Yield one answer for each policy, as each is done: those given, else those of the arguments.

    Raises as `answers` does.
    """
    nodes = ground.nodes if ground.terms is None else ground.terms.nodes
    if not jobs or not nodes:
        raise Refusal("there are no jobs" if not jobs else "there are no nodes")
    if arguments.arrivals_only:
        if ground.terms is not None:
            raise Refusal("--arrivals-only needs --nodes or --cluster")
        yield from _studies(arguments, outside, jobs, ground.nodes)
        return
    others = breaks.events(arguments, outside.open_file, [node.name for node in nodes], jobs)
    for number, policy in enumerate(policies or policies_of(arguments, outside), start=1):
        yield _replay(arguments, outside, ground.scenario(jobs, policy), others, number)


def _replay(
    arguments: argparse.Namespace,
    outside: Outside,
    told: Scenario,
    others: Sequence[Event],
    number: int,
) -> Answer:
    policy = told.snapshot.policy
    name = f"{number} {policy.order} {policy.placement}"
    watch = Watching(name, len(told.workloads), outside.tell)
    begun = outside.cpu_seconds()
    log = running.replay(told, others=others, watch=watch)
    figures = report(log)
    spent = outside.cpu_seconds() - begun
    outside.tell(f"{name}: done, {figures.completed:,} jobs ended")
    answer = writing.report_to_json(figures, policy.order, policy.placement, spent)
    answer |= {"left_out": told.left_out, "never_fit": told.never_fit}
    if arguments.gpu_hour_cost is not None:
        cost = figures.gpu_hours_per_completed * arguments.gpu_hour_cost
        answer["cost_per_completed"] = cost
    if arguments.report is not None:
        folder = f"{arguments.report}/{name.replace(' ', '-')}"
        with outside.new_file(f"{folder}/figures.json") as stream:
            stream.write(json.dumps(answer, indent=2) + "\n")
        with outside.new_file(f"{folder}/jobs.csv") as stream:
            writing.write_jobs(log, told.ids, stream)
        with outside.new_file(f"{folder}/shares.csv") as stream:
            writing.write_shares(figures, stream)
    return answer


class Watching:
    """Tells at each tenth of the jobs how many have ended."""

    def __init__(self, name: str, jobs: int, tell: Callable[[str], object]) -> None:
        self._name = name
        self._jobs = jobs
        self._tell = tell
        self._tenth = 0

    def __call__(self, ended: int) -> None:
        """Take how many have ended."""
        tenth = 10 * ended // max(1, self._jobs)
        if tenth > self._tenth:
            self._tenth = tenth
            self._tell(f"{self._name}: {tenth * 10} %, {ended:,} of {self._jobs:,} jobs ended")


def policies_of(arguments: argparse.Namespace, outside: Outside) -> list[model.Policy]:
    """Return the policies the arguments name, `fair_share` if none. Raises as `answers` does."""
    for placement in arguments.placement or ():
        if placement in study.STUDY_ONLY:
            raise Refusal(f"--placement {placement} needs --arrivals-only")
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
    if not 0 < arguments.load <= MOST_LOAD:
        raise Refusal(f"--load: must be above 0 and at most {MOST_LOAD}")
    draw = Random(arguments.seed)  # noqa: S311 - a simulation, no secret
    capacity = sum(node.gpus for node in nodes) * DEVICE
    arrivals = study.arrival_order(jobs, capacity, arguments.load, draw)
    ranks = study.node_order(nodes, draw)
    if arguments.arrivals_order is not None:
        arrivals = _rows(outside, arguments.arrivals_order, len(jobs))
    if arguments.nodes_order is not None:
        ranks = _rows(outside, arguments.nodes_order, len(nodes))
    if not arrivals or not ranks:
        raise Refusal("nothing arrives" if not arrivals else "no node has a rank")
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
