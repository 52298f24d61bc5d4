"""Whatever rows stand in the database, the engine's own parser accepts their snapshot."""

import json
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from portal.inventory.models import GPUModel, MaintenanceWindow, Node, NodeState, Pool, Sharing
from portal.quotas.models import Quota
from portal.reservations.models import Reservation, Source
from portal.scheduling import freezing, naming, outcomes
from portal.scheduling.reading import PodRow, Rows, WorkloadRow
from portal.teams.selectors import TeamRow
from portal.usage.models import DecayedUse
from portal.workloads.models import ChargedTo, Kind, Pod, Workload, WorkloadState
from scheduler_core import document, planner
from scheduler_core import model as engine
from tests import builders

NOW = builders.LONG_AGO + timedelta(days=3)
TEAMS = (1, 2, 3)  # 3 stands below 2; 4 is a team without a place in the tree
ANY_TEAM = st.sampled_from((1, 2, 3, 4))
POOLS = (1, 2)
instants = st.integers(-10_000, 10_000).map(lambda ms: NOW + timedelta(milliseconds=ms * 700))
maybe_instants = st.none() | instants
pools_known = st.sampled_from(POOLS)
amounts = st.integers(0, 40)


@st.composite
def periods(draw: st.DrawFn) -> tuple[datetime, datetime]:
    """A half-open period, some shorter than a second."""
    start = draw(instants)
    return start, start + timedelta(milliseconds=draw(st.integers(1, 5_000_000)))


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    start, end = draw(periods())
    guaranteed = draw(amounts)
    return Quota(
        pk=draw(st.integers(1, 99)), team_id=draw(ANY_TEAM), pool_id=draw(pools_known),
        guaranteed=guaranteed, limit=draw(st.none() | st.integers(guaranteed, 50)),
        valid_from=start, valid_to=draw(st.sampled_from((None, end))),
    )  # fmt: skip


@st.composite
def reservations(draw: st.DrawFn) -> Reservation:
    start, end = draw(periods())
    return Reservation(
        team_id=draw(ANY_TEAM), pool_id=draw(pools_known), gpus=draw(st.integers(1, 9)),
        source=draw(st.sampled_from(Source.values)), starts_at=start, ends_at=end,
    )  # fmt: skip


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    return Node(
        pool_id=draw(pools_known), gpus=draw(st.integers(0, 8)), cpu_milli=1, memory_mib=1,
        state=draw(st.sampled_from(NodeState.values)),
        taints=draw(st.lists(st.sampled_from(("a=b", "", {"key": "k", "value": None}, 7)))),
        topology=draw(st.lists(st.sampled_from(("rack-1", "", 3)))),
    )  # fmt: skip


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    tasks = draw(st.integers(1, 5) | st.just(2**31 - 1))
    return Workload(
        team_id=draw(st.none() | ANY_TEAM), pool_id=draw(st.sampled_from((None, 1, 2, 9))),
        reservation_id=draw(st.none() | st.integers(1, 4)), kind=draw(st.sampled_from(Kind.values)),
        state=draw(st.sampled_from(WorkloadState.values)), tasks=tasks,
        min_tasks=draw(st.none() | st.just(tasks)), gpu_milli=draw(millis),
        priority=draw(st.integers(-(2**31), 2**31 - 1)), person=draw(st.sampled_from(("", "kim"))),
        save_seconds=draw(st.none() | amounts), last_saved_at=draw(maybe_instants),
        duration_seconds=draw(st.none() | st.integers(0, 2**62)), submitted_at=draw(instants),
    )  # fmt: skip


millis = st.sampled_from((0, 1, 250, 500, 1000, 1500, 2000, 3000, 8000))
told: st.SearchStrategy[object] = st.one_of(
    st.just([]),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from((250, 500, 1000, 1001))).map(list)),
    st.sampled_from((None, "gpu0", [[0]], [["0", 1000]], [[-1, 1000]])),
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    return Pod(
        workload_id=draw(st.integers(1, 4)), node_id=draw(st.none() | st.integers(1, 5)),
        gpu_milli=draw(millis), cpu_milli=draw(amounts), memory_mib=draw(amounts),
        devices=draw(told), scheduled_at=draw(instants), created_at=NOW,
        stopping_at=draw(maybe_instants), charged_to=draw(st.sampled_from(ChargedTo.values)),
    )  # fmt: skip


def numbered(found: list[Any]) -> list[Any]:
    """Give rows their ids, as a database would."""
    for number, row in enumerate(found, start=1):
        row.pk = number
    return found


def a_row(team_id: int, parent_id: int | None = None) -> TeamRow:
    path = (parent_id, team_id) if parent_id else (team_id,)
    return TeamRow(team_id, f"t-{team_id}", "T", 1, parent_id, 1, 0, path)


@st.composite
def all_rows(draw: st.DrawFn) -> Rows:
    """One cluster's rows, each kind drawn without regard to the others."""
    some_nodes = numbered(draw(st.lists(nodes(), max_size=4)))
    for node in some_nodes:
        node.name = f"n{node.pk}"
    model = GPUModel(name="H100", memory_mib=81559)
    return Rows(
        teams=(a_row(1), a_row(2), a_row(3, 2)),
        decayed={1: DecayedUse(team_id=1, gpu_seconds=1e6, as_of=draw(instants))},
        pools=[
            Pool(pk=pk, gpu_model=model, sharing=draw(st.sampled_from(Sharing.values)),
                 topology_levels=draw(st.sampled_from(([], ["rack", "rack", "node"], "rack"))))
            for pk in POOLS
        ],
        quotas=draw(st.lists(quotas(), max_size=6)),
        reservations=numbered(draw(st.lists(reservations(), max_size=4))),
        maintenance=[
            MaintenanceWindow(node_id=draw(st.integers(1, 5)), starts_at=start, ends_at=end)
            for start, end in draw(st.lists(periods(), max_size=2))
        ],
        nodes=some_nodes,
        workloads=[
            WorkloadRow(*(getattr(row, name) for name in WorkloadRow._fields))
            for row in numbered(draw(st.lists(workloads(), max_size=4)))
        ],
        pods=[
            PodRow(*(getattr(row, name) for name in PodRow._fields))
            for row in numbered(draw(st.lists(pods(), max_size=8)))
        ],
        preempted_for=draw(st.dictionaries(st.integers(1, 4), st.sampled_from(("w1", "w99")))),
        estimates=draw(st.dictionaries(st.sampled_from(TEAMS), amounts)),
    )  # fmt: skip


def frozen(rows: Rows) -> freezing.Frozen:
    return freezing.build(rows, None, engine.Policy(), NOW)


@given(all_rows())
def test_the_engines_parser_accepts_the_snapshot_of_any_rows(rows: Rows) -> None:
    snapshot = frozen(rows).snapshot
    plain = document.snapshot_to_json(snapshot)
    assert document.parse_snapshot(plain) == snapshot
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    assert document.snapshot_to_text(snapshot) == text


@given(all_rows())
def test_what_pods_hold_is_never_free_in_the_snapshot(rows: Rows) -> None:
    made = frozen(rows)
    taken: dict[str, int] = {}
    for work in made.snapshot.workloads:
        for placement in work.running.placements if work.running else ():
            milli = sum(amount for _, amount in placement.gpus)
            taken[placement.node] = taken.get(placement.node, 0) + milli
    known = {row.pk for row in rows.workloads}
    for node, name in ((node, node.name) for node in rows.nodes):
        held = sum(
            pod.gpu_milli
            for pod in rows.pods
            if pod.node_id == node.pk and pod.workload_id in known
        )
        closed = not next(n for n in made.snapshot.nodes if n.name == name).schedulable
        assert closed or taken.get(name, 0) >= held


@given(all_rows(), st.sampled_from(engine.ORDERS), st.booleans())
def test_the_engine_plans_any_rows_and_speaks_of_each_job_at_most_once(
    rows: Rows, order: str, head_blocks: bool
) -> None:
    rules = engine.Policy(order=order, head_blocks=head_blocks)
    made = freezing.build(rows, None, rules, NOW)
    plan = planner.plan(made.snapshot)
    said = outcomes.outcomes(made, plan)
    waiting = {w.id for w in made.snapshot.workloads if w.running is None}
    assert {f"w{pk}" for pk, one in said.items() if one.verb in ("wait", "start")} == waiting
    assert all(used >= 0 for used in outcomes.uses(made, plan, paid=frozenset()).values())


@given(all_rows())
def test_only_work_of_a_team_in_the_tree_is_written_back(rows: Rows) -> None:
    made = frozen(rows)
    owners = {row.pk: row.team_id for row in rows.workloads}
    assert all(owners[pk] in TEAMS for pk in made.work.rows.values())
    teams = {work.id: work.team for work in made.snapshot.workloads}
    hidden = {name for name, team in teams.items() if team == naming.HIDDEN_TEAM}
    assert not hidden & made.work.rows.keys()
