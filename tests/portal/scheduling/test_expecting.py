"""What was let start is taken before its pods are bound, and given to nobody else."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.inventory.models import Cluster, ClusterMode, Node, Pool
from portal.scheduling import expecting, freezing, policies, services
from portal.scheduling.models import Policy, Standing, Verb
from portal.scheduling.reading import PodRow, WorkloadRow
from portal.scheduling.selectors.room import free_gpu_milli
from portal.workloads import admissions
from portal.workloads.admissions import Admitted
from portal.workloads.models import Admission, Pod, Workload, WorkloadState
from tests import builders

NOW = builders.LONG_AGO + timedelta(days=3)


@pytest.fixture
def pool(db: None) -> Pool:
    """Two machines of eight."""
    pool = builders.a_pool(nodes=2)
    builders.a_quota(builders.a_team("vision"), pool)
    Cluster.objects.update(seen_real_at=NOW, seen_at=NOW)
    return pool


def ask(work: Workload, pool: Pool, *places: tuple[str, int], tick: int = 1) -> Admission | None:
    """Write down that it may start, if it may."""
    return admissions.let_start(
        workload_id=work.pk, pool_id=pool.pk, tick_id=tick, placements=places,
        charged_to="guaranteed", now=NOW,
    )  # fmt: skip


def let_start(work: Workload, pool: Pool, *places: tuple[str, int], tick: int = 1) -> None:
    """Write down that it may start."""
    assert ask(work, pool, *places, tick=tick)


def a_job(pool: Pool, gpus: int = 8, tasks: int = 1) -> Workload:
    """A job of vision's that waits."""
    team = pool.quotas.get().team
    return builders.a_workload(team, pool, gpu_milli=1000 * gpus, tasks=tasks,
                               state=WorkloadState.WAITING)  # fmt: skip


def names(pool: Pool) -> list[str]:
    return list(pool.nodes.values_list("name", flat=True))


def test_what_was_let_start_runs_in_the_snapshot_on_the_nodes_it_was_given(pool: Pool) -> None:
    first, second = names(pool)
    work = a_job(pool, gpus=4, tasks=2)
    let_start(work, pool, (first, 1), (second, 1))
    (seen,) = freezing.freeze(cluster_id=pool.cluster_id, now=NOW).snapshot.workloads
    assert seen.running is not None
    assert [(p.node, p.tasks) for p in seen.running.placements] == [(first, 1), (second, 1)]
    assert free_gpu_milli(cluster_id=pool.cluster_id, now=NOW) == {first: 4000, second: 4000}


def test_a_tick_says_start_of_it_only_once(pool: Pool) -> None:
    first, _second = names(pool)
    work = a_job(pool)
    tick = services.run_tick(cluster_id=pool.cluster_id, now=NOW, real_now=NOW)
    assert Standing.objects.get().verb == Verb.START
    let_start(work, pool, (first, 1), tick=tick.pk)
    again = services.run_tick(cluster_id=pool.cluster_id, now=NOW, real_now=NOW)
    assert (Standing.objects.get().verb, again.starts, again.running) == (Verb.RUN, 0, 1)


def test_nobody_is_let_start_twice_or_by_a_tick_that_was_heeded(pool: Pool) -> None:
    first, _second = names(pool)
    work = a_job(pool)
    let_start(work, pool, (first, 1), tick=5)
    assert ask(work, pool, (first, 1), tick=6) is None
    assert admissions.end(workload_id=work.pk, why="preempted", now=NOW)
    assert not admissions.end(workload_id=work.pk, why="preempted", now=NOW)
    assert ask(work, pool, (first, 1), tick=5) is None
    assert ask(work, pool, (first, 1), tick=6) is not None


def test_tasks_that_ran_to_their_end_hold_nothing_any_more(pool: Pool) -> None:
    first, second = names(pool)
    work = a_job(pool, gpus=4, tasks=2)
    let_start(work, pool, (first, 1), (second, 1))
    done = builders.a_pod(work, pool.nodes.get(name=first), scheduled_at=NOW)
    Pod.objects.filter(pk=done.pk).update(closed_at=NOW + timedelta(minutes=5), why="")
    later = NOW + timedelta(minutes=6)
    assert free_gpu_milli(cluster_id=pool.cluster_id, now=later) == {first: 8000, second: 4000}
    lost = builders.a_pod(work, pool.nodes.get(name=second), scheduled_at=NOW)
    Pod.objects.filter(pk=lost.pk).update(closed_at=NOW + timedelta(minutes=5), why="node_lost")
    assert free_gpu_milli(cluster_id=pool.cluster_id, now=later) == {first: 8000, second: 4000}


@pytest.mark.parametrize(
    ("mode", "takes_back"),
    [(ClusterMode.OBSERVE, False), (ClusterMode.QUOTA, False), (ClusterMode.RECLAIM, True),
     (ClusterMode.ADMISSION, True)],
)  # fmt: skip
def test_a_cluster_nobody_gave_rules_takes_back_where_its_mode_can(
    pool: Pool, mode: ClusterMode, takes_back: bool
) -> None:
    Cluster.objects.update(mode=mode)
    rules = freezing.freeze(cluster_id=pool.cluster_id, now=NOW).snapshot.policy
    assert rules.preemption.enabled is takes_back
    row = Policy.objects.create(
        cluster=pool.cluster, valid_from=NOW,
        rules={**policies.DEFAULT_RULES, "preemption": {"enabled": not takes_back}},
    )  # fmt: skip
    assert policies.rules_of(row, cluster_id=pool.cluster_id) == row.rules
    told = freezing.freeze(cluster_id=pool.cluster_id, now=NOW).snapshot.policy
    assert told.preemption.enabled is not takes_back


# -- whatever was written down ---------------------------------------------------------------------

done = st.dictionaries(st.sampled_from(("n1", "n2", "gone")), st.integers(1, 5))
placements = st.lists(
    st.tuples(st.sampled_from(("n1", "n2", "gone")), st.integers(1, 9)), max_size=3
)
held = st.lists(st.tuples(st.integers(1, 3), st.sampled_from((1, 2, None))), max_size=8)


def a_row(pk: int, gpu_milli: int) -> WorkloadRow:
    blank = dict.fromkeys(WorkloadRow._fields)
    given = {"pk": pk, "gpu_milli": gpu_milli, "cpu_milli": 0, "memory_mib": 0}
    return WorkloadRow(**{**blank, **given})  # type: ignore[arg-type]


def a_pod(pk: int, workload_id: int, node_id: int | None, gpu_milli: int) -> PodRow:
    blank = dict.fromkeys(PodRow._fields)
    given = {"pk": pk, "workload_id": workload_id, "node_id": node_id, "gpu_milli": gpu_milli}
    return PodRow(**{**blank, **given})  # type: ignore[arg-type]


@given(
    st.dictionaries(st.integers(1, 3), st.tuples(placements, done), max_size=3),
    held,
    st.sampled_from((0, 500, 1000, 4000)),
)
def test_no_node_ever_carries_more_than_it_has_and_nobody_more_than_was_let_start(
    opened: dict[int, tuple[list[tuple[str, int]], dict[str, int]]],
    pods: list[tuple[int, int | None]],
    unit: int,
) -> None:
    moment = datetime(2026, 11, 2, tzinfo=NOW.tzinfo)
    nodes = [Node(pk=pk, name=f"n{pk}", gpus=8) for pk in (1, 2)]
    rows = [a_row(pk, unit) for pk in (1, 2, 3)]
    there = [a_pod(n, work, node, unit) for n, (work, node) in enumerate(pods, 1)]
    admitted = [
        Admitted(pk, pk, tuple(places), moment, ended) for pk, (places, ended) in opened.items()
    ]
    found = expecting.expected(admitted, rows, there, nodes)
    assert len({pod.pk for pod in found}) == len(found)
    assert all(pod.pk < 0 for pod in found)
    for node in nodes:
        before = sum(pod.gpu_milli for pod in there if pod.node_id == node.pk)
        after = before + sum(pod.gpu_milli for pod in found if pod.node_id == node.pk)
        assert after <= max(8000, before)
    for one in admitted:
        tasks = sum(count for _node, count in one.placements)
        mine = [pod for pod in found if pod.workload_id == one.workload_id]
        holding = [p for p in there if p.workload_id == one.workload_id and p.node_id]
        assert len(mine) <= max(0, tasks - sum(one.done.values()) - len(holding))
