"""One cycle, in numbered steps."""

from scheduler_core.model import Plan, Snapshot
from scheduler_core.ordering import ORDERINGS
from scheduler_core.placement import PLACEMENTS
from scheduler_core.planner import answers
from scheduler_core.planner.modes import placement_mode
from scheduler_core.planner.report import Report
from scheduler_core.planner.walk import Walk
from scheduler_core.scratch import State, charges


def plan(snapshot: Snapshot) -> Plan:
    """Return what to do now; the same snapshot gives the same plan, byte for byte."""
    return decide(State(snapshot))


def decide(state: State) -> Plan:
    """Return what to do in the state of now, which is left as it was."""
    with state.attempt():
        report = Report(state)  # 1. entitle and 2. divide
        order = ORDERINGS[state.policy.order](state)  # 3. order
        mode = placement_mode(state)
        walk = Walk(state, order, PLACEMENTS[mode])
        walk.run()  # 4. walk, and plan what still waits
        charged = charges(state)
        return Plan(  # 5. explain and report
            now=state.now,
            starts=answers.starts(state, walk, charged),
            running=answers.running(state, charged),
            preemptions=tuple(walk.preempted.values()),
            waiting=answers.waiting(state, walk, order),
            shares=report.shares(charged),
            quotas=report.quotas(charged),
            fairness=report.fairness(),
            placement_mode=mode,
            fragmentation=report.fragmentation(),
        )
