"""Jobs start when a tick says so, where it says, and make room when a tick says that."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes.models import Ask, Stop, StopState
from portal.kubernetes.models import Verb as Asked
from portal.kubernetes.port import ADMITTED, CHARGED, Manifest
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.operations import cycle
from portal.quotas import services as quotas
from portal.scheduling.models import Standing, Verb
from portal.teams.models import Team
from portal.workloads.models import Admission, Workload, WorkloadState
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db


class Lab:
    """A cluster of two machines with eight A100s each, of which each of two teams is promised half."""

    def __init__(self, cluster: Cluster, port: SimulatedCluster) -> None:
        self.cluster, self.port, self.minute = cluster, port, 0.0
        self.turn()
        for team in world.TEAMS:
            quotas.change(
                team_id=Team.objects.get(slug=team).pk, now=self.now, valid_from=self.now, actor_id=None,
                pool_id=world.pool_of(cluster, "a100").pk, guaranteed=8, limit=None,
            )  # fmt: skip
        self.turn()

    def turn(self, after: float = 0.25) -> None:
        """Look, decide and write, a while later."""
        self.minute += after
        assert cycle.turn(cluster_id=self.cluster.pk, now=self.now) == ""

    @property
    def now(self) -> datetime:
        return START + minutes(self.minute)

    def turns(self, number: int) -> None:
        for _ in range(number):
            self.turn()

    def submit(self, name: str, gpus: int = 1, **more: Any) -> None:
        self.port.submit(world.a_spec(name, gpus=gpus, **more))

    def job(self, name: str) -> Manifest:
        return next(i for i in self.port.owners().items if i["metadata"]["name"] == name)

    def row(self, name: str) -> Workload:
        return Workload.objects.get(name=name)

    def nodes(self, name: str) -> list[str]:
        return [pod["spec"].get("nodeName", "") for pod in world.pods_of(self.port, name)]


@pytest.fixture
def lab(folder: Path) -> Lab:
    """The lab in admission mode."""
    cluster, port = world.a_registered(folder, world.a_plan())
    Cluster.objects.update(mode=ClusterMode.ADMISSION)
    cluster.refresh_from_db()
    return Lab(cluster, port)


def test_a_job_is_handed_in_suspended_and_starts_where_the_tick_placed_it(lab: Lab) -> None:
    lab.submit("train", gpus=4)
    assert lab.job("train")["spec"]["suspend"] is True
    assert lab.nodes("train") == []

    lab.turn()

    placed = [node for node, _tasks in Admission.objects.get().placements]
    job = lab.job("train")
    assert (job["spec"]["suspend"], lab.nodes("train")) == (False, placed)
    assert job["metadata"]["annotations"][CHARGED] == "guaranteed"
    template = job["spec"]["template"]
    assert template["metadata"]["annotations"] == {ADMITTED: "evenshare-guaranteed-a100"}
    assert template["spec"]["nodeSelector"] == {"evenshare.io/pool": "a100"}
    lab.turn()
    assert lab.row("train").state == WorkloadState.RUNNING


def test_what_goes_beyond_the_guarantee_carries_the_class_that_gives_way(lab: Lab) -> None:
    lab.submit("one", gpus=8)
    lab.submit("two", gpus=8)
    lab.turn()
    classes = sorted(
        pod["spec"]["priorityClassName"] for name in ("one", "two")
        for pod in world.pods_of(lab.port, name)
    )  # fmt: skip
    assert classes == ["evenshare-burst-a100", "evenshare-guaranteed-a100"]


def test_a_service_waits_by_the_gate_and_each_pod_goes_to_its_node(lab: Lab) -> None:
    service = {"evenshare.io/class": "inference"}
    lab.submit("serve", gpus=2, tasks=2, annotations=service)
    gated = world.pods_of(lab.port, "serve")
    assert [pod["spec"]["schedulingGates"] for pod in gated] == [
        [{"name": "evenshare.io/admission"}]
    ] * 2
    lab.turn()
    assert sorted(lab.nodes("serve")) == ["big-0", "big-1"]
    pods = world.pods_of(lab.port, "serve")
    assert {pod["metadata"]["annotations"][CHARGED] for pod in pods} == {"guaranteed"}
    assert Ask.objects.filter(verb=Asked.UNGATE, answer="").count() == 2


def test_a_job_that_was_let_start_is_never_let_start_twice(lab: Lab) -> None:
    lab.submit("train", gpus=4)
    lab.turns(3)
    assert Admission.objects.count() == 1
    assert Ask.objects.filter(verb=Asked.START).count() == 1


def test_borrowed_work_makes_room_for_a_guarantee_and_comes_back_with_its_history(lab: Lab) -> None:
    lab.submit("lent", gpus=8, namespace="speech", work=7200)
    lab.submit("borrows", gpus=8, namespace="speech", work=7200)
    lab.turns(3)
    assert {lab.row(name).state for name in ("lent", "borrows")} == {WorkloadState.RUNNING}
    lab.turn(after=5)

    lab.submit("owner", gpus=8, work=600)
    lab.turn()
    stop = Stop.objects.select_related("workload", "made_for").get()
    victim = stop.workload.name
    assert stop.made_for == lab.row("owner")
    assert lab.job(victim)["spec"]["suspend"] is True
    assert lab.job("owner")["spec"]["suspend"] is True
    assert lab.nodes(victim) != []

    # Its pods have their grace; their devices are kept for whom they make room for.
    lab.turn()
    assert lab.row(victim).state == WorkloadState.STOPPING
    assert lab.job("owner")["spec"]["suspend"] is True
    lab.turns(3)
    assert Stop.objects.get().state == StopState.GONE
    assert lab.nodes(victim) == []
    assert lab.row(victim).state == WorkloadState.WAITING
    assert lab.row(victim).preemptions == 1
    assert lab.job("owner")["spec"]["suspend"] is False
    assert len(lab.nodes("owner")) == 1

    lab.turn(after=20)
    lab.turns(2)
    assert lab.row("owner").state == WorkloadState.SUCCEEDED
    assert lab.job(victim)["spec"]["suspend"] is False
    whys = [row.why for row in Admission.objects.filter(workload=lab.row(victim))]
    assert whys == ["preempted", ""]
    assert Standing.objects.get(workload=lab.row(victim)).verb == Verb.RUN


def test_a_quota_is_as_wide_as_a_team_may_ever_go_so_that_services_can_wait(lab: Lab) -> None:
    hard = {
        (quota["metadata"]["namespace"], quota["metadata"]["name"]):
            quota["spec"]["hard"]["requests.nvidia.com/gpu"]
        for quota in lab.port.quotas().items
    }  # fmt: skip
    # No limit was set, so it is the pool; of T4s nothing was promised to anybody.
    for name in ("guaranteed-a100", "burst-a100", "total"):
        assert hard["vision", f"evenshare-{name}"] == "16"
    assert hard["vision", "evenshare-guaranteed-t4"] == "0"
