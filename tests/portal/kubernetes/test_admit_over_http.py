"""Starting and stopping over HTTP, with a server that is busy, breaks, forgets or was faster."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterMode, Pool
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Ask, ReadMark, Stop, StopState
from portal.kubernetes.models import Verb as Asked
from portal.quotas import services as quotas
from portal.scheduling import services as scheduling
from portal.teams.models import Team
from portal.workloads.models import Admission, Workload, WorkloadState
from tests import builders
from tests.api_server import controllers, serving
from tests.api_server.controllers import at
from tests.api_server.faults import Fault, broken, busy
from tests.api_server.serving import ApiServer
from tests.api_server.store import Manifest
from tests.portal.kubernetes import watched

pytestmark = pytest.mark.django_db
GATE = {"name": "evenshare.io/admission"}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with serving.serving() as server:
        yield server


class Lab:
    """The fake with two machines of eight; vision is promised eight."""

    def __init__(self, api: ApiServer, folder: Path) -> None:
        self.api, self.store, self.ahead = api, api.store, timedelta(0)
        self.cluster = watched.a_cluster(api, folder)
        Cluster.objects.update(mode=ClusterMode.ADMISSION)
        self.turn()
        quotas.change(
            team_id=Team.objects.get().pk, pool_id=Pool.objects.get().pk, guaranteed=8, limit=None,
            valid_from=self.now, now=self.now, actor_id=None,
        )  # fmt: skip
        self.turn()

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def turn(self) -> kubernetes.Carried:
        """The cluster settles; then look, decide, write."""
        controllers.settle(self.store)
        # Without a mark nobody waits a second to hear of what was deleted since.
        ReadMark.objects.all().delete()
        kubernetes.collect(cluster_id=self.cluster.pk, now=self.now)
        scheduling.run_tick(cluster_id=self.cluster.pk, now=self.now)
        kubernetes.sync_cluster(cluster_id=self.cluster.pk, now=self.now)
        controllers.settle(self.store)
        return kubernetes.carry_out(cluster_id=self.cluster.pk, now=self.now)

    def submit(self, name: str = "train", tasks: int = 1, gpus: int = 1) -> None:
        """A suspended job; its class is there already, so that its pods may be made."""
        template = {"spec": {**watched.spec(gpus), "priorityClassName": "evenshare-burst-a100"}}
        body = {"spec": {"suspend": True, "parallelism": tasks, "completions": tasks,
                         "template": template}}  # fmt: skip
        self.store.create(at("Job", name, "vision"), body)

    def pods(self, *names: str, gpus: int = 1) -> None:
        """Bare pods that wait by the gate."""
        for name in names:
            spec = {**watched.spec(gpus), "schedulingGates": [GATE],
                    "priorityClassName": "evenshare-burst-a100"}  # fmt: skip
            body = {"metadata": {"labels": {"app": name}}, "spec": spec}
            self.store.create(at("Pod", name, "vision"), body)

    def job(self, name: str = "train") -> Manifest:
        return self.store.get(at("Job", name, "vision"))

    def patches(self, kind: str = "jobs") -> list[dict[str, Any]]:
        """What was asked to change of objects of a kind."""
        asked = [one for one in self.api.script.asked if one.method == "PATCH"]
        return [one.body or {} for one in asked if f"/vision/{kind}/" in one.path]


@pytest.fixture
def lab(api: ApiServer, tmp_path: Path) -> Lab:
    return Lab(api, tmp_path)


def test_a_change_names_the_very_object_and_version_it_was_made_for(lab: Lab) -> None:
    lab.submit()
    before = lab.job()["metadata"]
    lab.turn()
    (change,) = lab.patches()
    assert change["metadata"]["uid"] == before["uid"]
    assert change["metadata"]["resourceVersion"] == before["resourceVersion"]
    assert "evenshare.io/fence" in change["metadata"]["annotations"]
    assert lab.job()["spec"]["suspend"] is False


def test_an_answer_that_was_lost_starts_nothing_twice(lab: Lab) -> None:
    lab.submit(gpus=8)
    lab.api.script.add(Fault(method="PATCH", path="/vision/jobs/", lost=True))
    assert lab.turn().error != ""
    assert lab.job()["spec"]["suspend"] is False
    assert Admission.objects.filter(ended_at=None).count() == 1
    for _ in range(2):
        assert lab.turn().error == ""
    assert len(lab.patches()) == 1
    assert Workload.objects.get().state == WorkloadState.RUNNING
    assert Admission.objects.count() == 1


@pytest.mark.parametrize("fault", [busy, broken])
def test_a_server_that_is_busy_or_broken_is_asked_again_by_a_later_tick(
    lab: Lab, fault: Any
) -> None:
    lab.submit()
    lab.api.script.add(fault(method="PATCH", path="/vision/jobs/"))
    assert lab.turn().error != ""
    assert lab.job()["spec"]["suspend"] is True
    lab.turn()
    lab.turn()
    assert lab.job()["spec"]["suspend"] is False
    assert [row.why for row in Admission.objects.all()] == ["suspended", ""]


def test_a_job_that_was_made_anew_under_its_name_is_not_let_start_for_the_other(lab: Lab) -> None:
    lab.submit()
    kubernetes.collect(cluster_id=lab.cluster.pk, now=lab.now)
    scheduling.run_tick(cluster_id=lab.cluster.pk, now=lab.now)
    lab.store.drop(at("Job", "train", "vision"))
    lab.submit(gpus=8, tasks=9)
    assert kubernetes.carry_out(cluster_id=lab.cluster.pk, now=lab.now).lines == ()
    assert lab.job()["spec"]["suspend"] is True
    assert not Admission.objects.exists()


def test_a_job_that_is_made_anew_in_the_very_moment_is_refused_by_its_uid(lab: Lab) -> None:
    lab.submit()
    made: list[str] = []

    def race(request: Any) -> None:
        if request.method == "PATCH" and "/vision/jobs/" in request.path and not made:
            made.append(request.path)
            lab.store.drop(at("Job", "train", "vision"))
            lab.submit()

    lab.api.script.look = race
    lab.turn()
    assert made
    assert lab.job()["spec"]["suspend"] is True
    assert Ask.objects.get().answer != ""
    lab.turn()
    assert lab.job()["spec"]["suspend"] is False


def test_pods_by_the_gate_start_one_by_one_and_each_knows_its_node(lab: Lab) -> None:
    lab.pods("one", "two", gpus=8)
    lab.turn()
    changes = lab.patches("pods")
    assert len(changes) == 2
    nodes = [
        change["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        for change in changes
    ]
    assert sorted(nodes) == [["node-0"], ["node-1"]]
    lab.turn()
    assert {row.state for row in Workload.objects.all()} == {WorkloadState.RUNNING}
    assert sorted(row.charged_to for row in Workload.objects.all()) == ["borrowed", "guaranteed"]


def make_room(lab: Lab) -> None:
    """Speech, promised nothing, borrows with two bare pods what vision then wants back."""
    controllers.add_namespace(lab.store, "speech", "speech")
    speech = builders.a_team("speech")
    inventory.register_namespace(
        cluster_id=lab.cluster.pk, name="speech", team_id=speech.pk, now=lab.now
    )
    quotas.change(
        team_id=speech.pk, pool_id=Pool.objects.get().pk, guaranteed=0, limit=None,
        valid_from=lab.now, now=lab.now, actor_id=None,
    )  # fmt: skip
    lab.turn()
    spec = {**watched.spec(8), "schedulingGates": [GATE], "terminationGracePeriodSeconds": 45,
            "priorityClassName": "evenshare-burst-a100"}  # fmt: skip
    for name in ("first", "second"):
        body = {"metadata": {"labels": {"app": "serve"}}, "spec": spec}
        lab.store.create(at("Pod", name, "speech"), body)
    lab.turn()
    lab.turn()
    running = Workload.objects.filter(namespace="speech", state=WorkloadState.RUNNING)
    assert running.count() == 2
    lab.ahead += timedelta(minutes=1)
    lab.submit("owner", gpus=8)


def test_a_budget_is_asked_again_and_again_until_the_pools_grace_is_over(lab: Lab) -> None:
    make_room(lab)
    budget = {"spec": {"selector": {"matchLabels": {"app": "serve"}}},
              "status": {"disruptionsAllowed": 0}}  # fmt: skip
    lab.store.create(at("PodDisruptionBudget", "all", "speech"), budget)
    lab.turn()
    lab.turn()
    stop = Stop.objects.get()
    assert stop.state == StopState.BLOCKED
    ask = Ask.objects.get(verb=Asked.EVICT)
    assert (ask.times, "disruption budget" in ask.answer) == (2, True)
    assert not Ask.objects.filter(verb=Asked.DELETE).exists()
    lab.ahead += timedelta(seconds=Pool.objects.get().grace_seconds)
    lab.turn()
    deleted = Ask.objects.get(verb=Asked.DELETE)
    assert (deleted.name, deleted.answer) == (stop.workload.name, "")
    # Its own grace, since that is shorter than the pool's.
    assert deleted.changes == [["metadata.deletionGracePeriodSeconds", None, 45]]


def test_a_server_that_is_only_busy_is_no_budget(lab: Lab) -> None:
    make_room(lab)
    lab.api.script.add(busy(method="POST", path="/eviction"))
    assert lab.turn().error != ""
    assert Stop.objects.get().state == StopState.ASKED
    assert lab.turn().error == ""
    assert Ask.objects.get(verb=Asked.EVICT).answer == ""


def test_an_eviction_that_was_done_twice_is_fine(lab: Lab) -> None:
    make_room(lab)
    lab.api.script.add(Fault(method="POST", path="/eviction", lost=True))
    assert lab.turn().error != ""
    assert lab.turn().error == ""
    assert not Ask.objects.filter(verb=Asked.EVICT).exists()
    lab.turn()
    assert Stop.objects.get().state == StopState.GONE
    assert lab.job("owner")["spec"]["suspend"] is False
    assert Workload.objects.get(name=Stop.objects.get().workload.name).ended_at is not None
