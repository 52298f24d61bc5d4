"""The committed part of the traces is what its README says it is."""

import json
from collections import Counter

from portal.kubernetes.simulated import building, selection, slices
from portal.kubernetes.simulated.records import Spec
from tests.portal.kubernetes.world import START


def test_the_measured_demand_is_what_the_slice_asks_of_each_pool() -> None:
    measured = json.loads((slices.DATA / "measured.json").read_text())
    nodes, jobs = slices.nodes(), slices.jobs()
    assert (measured["nodes"], measured["jobs"]) == (len(nodes), len(jobs))
    assert measured["demand_percent"] == selection.demand(jobs, nodes)
    for pool in measured["demand_percent"].values():
        assert 85 <= pool["all"] <= 105


def test_every_virtual_cluster_of_the_slice_is_a_demo_team_with_people() -> None:
    teams = {slices.teams()[job.team] for job in slices.jobs()}
    assert teams == {"vision", "speech", "search", "robotics", "platform"}
    assert set(slices.people()) == teams


def test_the_demos_jobs_fit_their_pool_and_carry_what_the_trace_lacks() -> None:
    plan = slices.demo(START)
    known = building.pools(plan.nodes)
    specs = [building.spec_of(job, plan, known) for job in plan.jobs]
    for spec in specs:
        assert spec.gpus <= known[spec.pool][0].gpus
        assert 0 < spec.cpu_milli <= known[spec.pool][0].cpu_milli
        assert 0 < spec.memory_mib <= known[spec.pool][0].memory_mib
        assert "evenshare.io/class" in spec.annotations
    kinds = Counter(spec.annotations["evenshare.io/class"] for spec in specs)
    assert set(kinds) == {"training", "inference", "interactive", "batch"}
    told = sum("evenshare.io/duration" in spec.annotations for spec in specs)
    assert 0.8 < told / len(specs) < 0.9
    failing = sum(spec.fails_after is not None for spec in specs)
    assert 0.04 < failing / len(specs) < 0.08


def test_the_same_seed_draws_the_same_and_another_seed_another() -> None:
    first, again, other = slices.demo(START), slices.demo(START), slices.demo(START, seed=1)
    known = building.pools(first.nodes)

    def drawn(plan: building.Plan) -> list[Spec]:
        return [building.spec_of(job, plan, known) for job in plan.jobs]

    assert drawn(first) == drawn(again)
    assert drawn(first) != drawn(other)


def test_the_trace_turned_round_loses_no_job_and_keeps_to_its_period() -> None:
    jobs, turned = slices.jobs(), slices.turned(slices.jobs())
    assert {job.id for job in turned} == {job.id for job in jobs}
    assert all(0 <= job.submitted_at < slices.PERIOD_SECONDS for job in turned)
