"""Replay a scenario: by counting where that is all there is to do, else through the planner."""

from collections import Counter
from collections.abc import Callable, Sequence

from scheduler_core.model import Node, Quota, Snapshot, Team, Workload
from scheduler_core.placement.demands import Demand, FreeNode
from scheduler_core.resources import DEVICE
from scheduler_core.simulator.counted import Ask, Counted, Key, Share
from scheduler_core.simulator.events import Event
from scheduler_core.simulator.live import Live
from scheduler_core.simulator.log import Ground, Log
from scheduler_core.simulator.replay import Replay, Watch
from scheduler_core.simulator.scenario import PLENTY, Scenario

COUNTED_KEYS: dict[str, Callable[[Workload], Key]] = {
    "fifo": lambda one: (one.submitted_at,),
    "fifo_strict": lambda one: (one.submitted_at,),
    "sjf": lambda one: (
        one.duration_seconds is None,
        one.duration_seconds or 0,
        one.submitted_at,
    ),
    "fair_share": lambda one: (),
}
"""What the orders that can be counted sort by, before priority and submission."""


def log_of(scenario: Scenario) -> Log:
    """Return an empty log for the scenario's jobs."""
    return Log(
        submitted=[one.submitted_at for one in scenario.workloads],
        durations=scenario.durations,
        gpu_milli=[one.gpu_milli for one in scenario.workloads],
        teams=[one.team for one in scenario.workloads],
        capacity_milli=scenario.capacity_milli,
        ground=ground_of(scenario.snapshot.nodes, scenario.workloads),
    )


def ground_of(nodes: Sequence[Node], workloads: Sequence[Workload]) -> Ground:
    """Return what fragmentation is measured on: empty nodes, and the kinds of task."""
    kinds: Counter[Demand] = Counter()
    for one in workloads:
        ask = one.per_task
        kinds[Demand.of(ask.gpu_milli, ask.cpu_milli, one.gpu_models)] += 1
    return Ground(
        tuple(FreeNode(n.cpu_milli, [DEVICE] * n.gpus, n.gpu_model or "") for n in nodes), kinds
    )


def can_be_counted(scenario: Scenario) -> bool:
    """Tell whether counting free devices gives what the planner would decide."""
    snapshot, policy = scenario.snapshot, scenario.snapshot.policy
    strict = policy.head_blocks or policy.order == "fifo_strict"
    return (
        policy.order in COUNTED_KEYS
        and policy.placement == "pack"
        and (policy.backfill == "off" or strict)
        and not policy.preemption.enabled
        and policy.hybrid is None
        and len({(node.gpus, node.gpu_model) for node in snapshot.nodes}) == 1
        and _all_may_borrow_all(snapshot)
        and all(_plain(node.cpu_milli, node.memory_mib) for node in snapshot.nodes)
        and all(_countable(one, snapshot.nodes[0].gpus) for one in scenario.workloads)
    )


def counted(scenario: Scenario) -> Counted:
    """Return the decider that counts; the scenario must allow it."""
    policy, snapshot = scenario.snapshot.policy, scenario.snapshot
    team_of = {team.name: number for number, team in enumerate(snapshot.teams)}
    key = COUNTED_KEYS[policy.order]
    share = Share(
        team_of=[team_of[one.team] for one in scenario.workloads],
        weights=[1] * len(team_of),
        half_life_seconds=policy.half_life_seconds,
        tick_seconds=policy.tick_seconds,
    )
    return Counted(
        sizes=[node.gpus for node in snapshot.nodes],
        asks=[Ask(one.tasks, one.per_task.gpu_milli // DEVICE) for one in scenario.workloads],
        keys=[
            (*key(one), -one.priority, one.submitted_at, number)
            for number, one in enumerate(scenario.workloads)
        ],
        head_blocks=policy.head_blocks or policy.order == "fifo_strict",
        share=share if policy.order == "fair_share" else None,
    )


def replay(
    scenario: Scenario,
    until: int | None = None,
    *,
    others: Sequence[Event] = (),
    watch: Watch | None = None,
) -> Log:
    """Replay to the end, or up to a moment, and return what happened.

    `others` are failures and repairs of nodes; `watch` is told now and then how many have ended.
    """
    decider = counted(scenario) if can_be_counted(scenario) and not others else planned(scenario)
    return Replay(log_of(scenario), decider, others, watch=watch).run(until)


def planned(scenario: Scenario) -> Live:
    """Return the decider that asks the planner."""
    return Live(scenario.snapshot, scenario.workloads)


def _all_may_borrow_all(snapshot: Snapshot) -> bool:
    return (
        len(snapshot.pools) == 1
        and all(quota == Quota(quota.team, quota.pool, 0) for quota in snapshot.quotas)
        and snapshot.teams == tuple(Team(team.name) for team in snapshot.teams)
    )


def _plain(cpu_milli: int, memory_mib: int) -> bool:
    return cpu_milli == PLENTY and memory_mib == PLENTY


def _countable(one: Workload, size: int) -> bool:
    ask = one.per_task
    return (
        ask.gpu_milli > 0
        and ask.gpu_milli % DEVICE == 0
        and (one.tasks == 1 or ask.gpu_milli == size * DEVICE)
        and not one.gpu_models
        and not ask.cpu_milli
        and not ask.memory_mib
        and one.kind != "inference"
        and one.min_tasks is None
        and one.pool is None
    )
