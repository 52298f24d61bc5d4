"""Where work goes: packing, spreading, domains, fractions, and what a node must have."""

from dataclasses import replace

from scheduler_core.model import Node, PerTask, Plan, Policy, Pool, Snapshot, Topology, Workload
from scheduler_core.planner import plan
from scheduler_core.testing import node, running, snapshot, waiting

RACKS = Pool("p", topology_levels=("block", "rack"))


def tasks_on(answer: Plan) -> dict[str, int]:
    return {one.node: one.tasks for start in answer.starts for one in start.placements}


def cluster(nodes: list[Node], work: list[Workload], pool: Pool = RACKS) -> Snapshot:
    return snapshot(nodes, {"a": 100_000}, work, pools=(pool,))


def racked(name: str, block: str, rack: str, gpus: int = 2) -> Node:
    return node(name, gpus, topology=(block, rack))


GRID = [
    racked("n1", "b1", "r1"),
    racked("n2", "b1", "r1"),
    racked("n3", "b1", "r2"),
    racked("n4", "b2", "r1"),
    racked("n5", "b2", "r1", 4),
]


def test_pack_takes_the_fullest_node_that_fits() -> None:
    work = [running("r", "a", "n2", [0, 1, 2]), waiting("w", "a", 4000)]
    assert tasks_on(plan(cluster([node("n1"), node("n2")], work))) == {"n2": 1}


def test_spread_takes_the_emptiest() -> None:
    work = [running("r", "a", "n1", [0]), waiting("w", "a", tasks=3)]
    one = cluster([node("n1", 4), node("n2", 4), node("n3", 4)], work)
    spread = Policy(order="priority", placement="spread", backfill="off")
    assert tasks_on(plan(replace(one, policy=spread))) == {"n1": 1, "n2": 1, "n3": 1}


class TestTopology:
    def test_required_keeps_all_tasks_in_the_tightest_domain(self) -> None:
        work = [waiting("w", "a", tasks=4, topology=Topology("rack", required=True))]
        assert tasks_on(plan(cluster(GRID, work))) == {"n1": 2, "n2": 2}

    def test_a_domain_is_its_whole_path(self) -> None:
        work = [waiting("w", "a", tasks=8, topology=Topology("rack", required=True))]
        answer = plan(cluster(GRID, work))
        assert not answer.starts
        assert answer.waiting[0].reason == "topology"

    def test_required_on_one_node(self) -> None:
        work = [waiting("w", "a", tasks=4, topology=Topology("node", required=True))]
        assert tasks_on(plan(cluster(GRID, work))) == {"n5": 4}

    def test_preferred_climbs(self) -> None:
        work = [waiting("w", "a", tasks=6, topology=Topology("node"))]
        assert tasks_on(plan(cluster(GRID, work))) == {"n5": 4, "n4": 2}

    def test_preferred_goes_anywhere_in_the_end(self) -> None:
        work = [waiting("w", "a", tasks=12, topology=Topology("node"))]
        assert sum(tasks_on(plan(cluster(GRID, work))).values()) == 12


class TestGangs:
    def test_start_with_the_largest_count_that_fits(self) -> None:
        work = [waiting("w", "a", tasks=9, min_tasks=3)]
        assert tasks_on(plan(cluster([node("n1", 4), node("n2", 2)], work))) == {"n1": 4, "n2": 2}

    def test_never_start_below_their_minimum(self) -> None:
        work = [waiting("w", "a", tasks=9, min_tasks=7)]
        assert not plan(cluster([node("n1", 4), node("n2", 2)], work)).starts


class TestFractions:
    SHARED = Pool("p", sharing="shared")

    def test_share_the_fullest_device_that_fits(self) -> None:
        work = [waiting("x", "a", 600), waiting("y", "a", 300), waiting("z", "a", 300)]
        answer = plan(cluster([node("n", 2)], work, self.SHARED))
        held = [start.placements[0].gpus for start in answer.starts]
        assert held == [((0, 600),), ((0, 300),), ((1, 300),)]

    def test_leave_whole_devices_for_whole_gpus(self) -> None:
        work = [waiting("x", "a", 500), waiting("y", "a", 2000)]
        answer = plan(cluster([node("n", 2)], work, self.SHARED))
        assert [start.workload for start in answer.starts] == ["x"]
        assert answer.waiting[0].reason == "pool_full"

    def test_bring_that_fraction_of_the_memory(self) -> None:
        work = replace(waiting("x", "a", 500), per_task=PerTask(500, 1, 1, gpu_memory_mib=30_000))
        roomy = cluster([node("n", 2, gpu_memory_mib=60_000)], [work], self.SHARED)
        tight = cluster([node("n", 2, gpu_memory_mib=59_999)], [work], self.SHARED)
        assert plan(roomy).starts
        assert plan(tight).waiting[0].reason == "gpu_memory_short"


class TestReasons:
    def reason(self, work: Workload, *nodes: Node) -> str:
        return plan(cluster(list(nodes), [work])).waiting[0].reason

    def test_zone(self) -> None:
        assert self.reason(waiting("w", "a", zone="z2"), node("n", zone="z1")) == "zone"

    def test_taint(self) -> None:
        assert self.reason(waiting("w", "a"), node("n", taints=("team=b",))) == "taint"
        tolerant = waiting("w", "a", tolerations=("team=b",))
        assert plan(cluster([node("n", taints=("team=b",))], [tolerant])).starts

    def test_cpu_and_memory(self) -> None:
        asks = replace(waiting("w", "a"), per_task=PerTask(1000, 600, 600))
        one = cluster(
            [node("n", 2, cpu_milli=1000, memory_mib=5000)], [asks, replace(asks, id="v")]
        )
        assert plan(one).waiting[0].reason == "cpu_short"
        two = cluster(
            [node("n", 2, cpu_milli=5000, memory_mib=1000)], [asks, replace(asks, id="v")]
        )
        assert plan(two).waiting[0].reason == "memory_short"

    def test_no_quota(self) -> None:
        one = replace(cluster([node("n")], [waiting("w", "a")]), quotas=())
        assert plan(one).waiting[0].reason == "no_quota_in_pool"

    def test_closed_nodes_start_nothing(self) -> None:
        assert self.reason(waiting("w", "a"), node("n", schedulable=False)) == "pool_full"
