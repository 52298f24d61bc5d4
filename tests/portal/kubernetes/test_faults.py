"""A sync and a look that meet every fault of the way end where a calm one does."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster
from portal.kubernetes import real, services
from portal.kubernetes.models import Drift, SyncRun, SyncState
from portal.kubernetes.port import FENCE
from portal.workloads.models import Workload
from tests import builders
from tests.api_server import controllers, serving
from tests.api_server.controllers import at
from tests.api_server.faults import Fault, Request, broken, busy
from tests.api_server.serving import ApiServer
from tests.portal.kubernetes import watched
from tests.portal.kubernetes.watched import states, submit

pytestmark = pytest.mark.django_db
MOST_SYNCS = 12
TEAMS = ("speech", "search")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An API server of our own."""
    with serving.serving() as running:
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Cluster:
    """Three teams with a namespace each."""
    cluster = watched.a_cluster(server, tmp_path, nodes=3, gpus=4)
    add_teams(server, cluster)
    return cluster


def add_teams(server: ApiServer, cluster: Cluster) -> None:
    """Two more teams."""
    for slug in TEAMS:
        controllers.add_namespace(server.store, slug)
        inventory.register_namespace(
            cluster_id=cluster.pk, name=slug, team_id=builders.a_team(slug).pk,
            now=datetime.now(UTC), actor_id=None,
        )  # fmt: skip


def sync(cluster: Cluster) -> SyncRun | None:
    """One sync."""
    return services.sync_cluster(cluster_id=cluster.pk, now=datetime.now(UTC))


def sync_to_the_end(cluster: Cluster) -> list[SyncRun]:
    """Sync until there is nothing to write."""
    runs: list[SyncRun] = []
    for _ in range(MOST_SYNCS):
        run = sync(cluster)
        if run is None:
            return runs
        runs.append(run)
    raise AssertionError("it never ends")


def wanted(server: ApiServer) -> dict[str, Any]:
    """What a sync writes, but for fences."""
    found = {}
    for kind in ("ResourceQuota", "PriorityClass", "Namespace"):
        for item in server.store.all(kind):
            metadata = item["metadata"]
            notes = {k: v for k, v in metadata.get("annotations", {}).items() if k != FENCE}
            name = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
            found[name] = (item.get("spec"), item.get("value"), metadata.get("labels"), notes)
    return found


CALM = Fault(times=0)
FAULTS = {
    "calm": CALM,
    "429": busy(0, method="PATCH", times=3),
    "500": broken(method="PATCH", times=3),
    "500 while listing": broken(method="GET", times=2),
    "422": Fault(method="PATCH", status=422, times=2),
    "409": Fault(method="PATCH", status=409, times=5),
    "410 in a list": Fault(method="GET", path="quotas", status=410, times=1),
    "slow": Fault(after=0.2, times=5),
    "answer lost": Fault(method="PATCH", lost=True, times=4),
    "no answer in time": Fault(method="GET", after=2.5, times=1),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_sync_ends_where_a_calm_one_does_and_writes_nothing_in_vain(
    server: ApiServer, cluster: Cluster, fault: Fault
) -> None:
    watched.decide(cluster, guaranteed=2, burst=1, fence=1)
    server.script.add(fault)
    sync_to_the_end(cluster)
    watched.decide(cluster, guaranteed=4, burst=0, fence=2)
    sync_to_the_end(cluster)
    hard = {
        item["metadata"]["name"]: item["spec"]["hard"][f"requests.{watched.GPU}"]
        for item in server.store.all("ResourceQuota", "speech")
    }
    assert (hard["evenshare-guaranteed-a100"], hard["evenshare-total"]) == ("4", "4")
    labels = {i["metadata"]["name"]: i["metadata"]["labels"] for i in server.store.all("Namespace")}
    assert all(labels[slug]["evenshare.io/team"] == slug for slug in (*TEAMS, "vision"))
    assert server.store.vain == []
    assert fault.times == 0, "the fault was met"
    assert SyncRun.objects.latest("id").state == SyncState.DONE


def test_a_write_whose_answer_was_lost_is_not_sent_again(
    server: ApiServer, cluster: Cluster
) -> None:
    watched.decide(cluster, guaranteed=2, burst=1)
    server.script.add(
        Fault(method="PATCH", path="speech/resourcequotas/evenshare-total", lost=True)
    )
    sync_to_the_end(cluster)
    sent = [
        one for one in server.script.writes() if "speech/resourcequotas/evenshare-total" in one.path
    ]
    assert len(sent) == 1


def test_a_version_that_moves_on_under_every_write_holds_none_back(
    server: ApiServer, cluster: Cluster
) -> None:
    watched.decide(cluster, guaranteed=2, burst=1)
    sync_to_the_end(cluster)
    watched.decide(cluster, guaranteed=3, burst=1, fence=2)
    moved: set[str] = set()

    def move(request: Request) -> None:
        """What is used changes just before we write."""
        if request.method == "PATCH" and request.path not in moved:
            moved.add(request.path)
            space, name = request.path.split("/")[4], request.path.split("/")[6]
            used = {"used": {f"requests.{watched.GPU}": str(len(moved))}}
            server.store.set_status(at("ResourceQuota", name, space), used)

    server.script.look = move
    run = sync(cluster)
    assert run is not None
    assert (run.state, run.message) == (SyncState.DONE, "")
    assert len(moved) == run.writes


def test_a_field_somebody_took_is_drift_with_their_name_and_the_rest_is_written(
    server: ApiServer, cluster: Cluster
) -> None:
    watched.decide(cluster, guaranteed=2, burst=1)
    sync_to_the_end(cluster)
    theirs = at("ResourceQuota", "evenshare-total", "speech")
    body = {"spec": {"hard": {f"requests.{watched.GPU}": "9"}}}
    server.store.merge(theirs, body, "kubectl-edit")
    watched.decide(cluster, guaranteed=3, burst=1, fence=2)
    sync(cluster)
    drift = Drift.objects.get(closed_at=None, namespace="speech", field__startswith="spec.hard")
    assert (drift.name, drift.manager) == ("evenshare-total", "kubectl-edit")
    hard = server.store.get(at("ResourceQuota", "evenshare-guaranteed-a100", "speech"))
    assert hard["spec"]["hard"] == {f"requests.{watched.GPU}": "3"}
    assert server.store.get(theirs)["spec"]["hard"] == {f"requests.{watched.GPU}": "9"}


def test_a_quota_deleted_and_made_anew_between_look_and_write_is_not_overwritten(
    server: ApiServer, cluster: Cluster
) -> None:
    watched.decide(cluster, guaranteed=2, burst=1)
    sync_to_the_end(cluster)
    watched.decide(cluster, guaranteed=3, burst=1, fence=2)
    where = at("ResourceQuota", "evenshare-guaranteed-a100", "speech")
    made: list[str] = []

    def replace(request: Request) -> None:
        """Somebody deletes it and makes another."""
        about = "speech/resourcequotas/evenshare-guaranteed" in request.path
        if request.method == "PATCH" and about and not made:
            server.store.delete(where)
            body = {"spec": {"hard": {f"requests.{watched.GPU}": "7"}}}
            server.store.create(where, body, "somebody")
            made.append("new")

    server.script.look = replace
    sync(cluster)
    assert server.store.get(where)["spec"]["hard"] == {f"requests.{watched.GPU}": "7"}


LOOKS = {
    "500": broken(times=2), "429": busy(0, times=2), "slow": Fault(after=0.2, times=8),
    "410 between pages": Fault(path="pods", status=410, times=1),
    "cut look back": Fault(watch=True, cut=1, times=2), "no answer": Fault(after=2.5, times=1),
    "doubled": Fault(watch=True, doubled=True, times=9),
}  # fmt: skip


@pytest.mark.parametrize("fault", LOOKS.values(), ids=LOOKS)
def test_a_look_ends_where_a_calm_one_does(
    server: ApiServer, cluster: Cluster, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A real server takes whole seconds only.
    monkeypatch.setattr(real, "LOOK_BACK_SECONDS", 0.1)

    def look() -> services.Collected:
        return services.collect(cluster_id=cluster.pk, now=datetime.now(UTC))

    assert look().error == ""
    for number in range(3):
        submit(server.store, f"job-{number}", tasks=2)
    controllers.settle(server.store)
    server.store.delete(at("Job", "job-1", "vision"))
    controllers.settle(server.store)
    server.script.add(fault)
    errors = 0
    while look().error:
        errors += 1
        assert errors < MOST_SYNCS
    assert states() == {"job-0": "running", "job-1": "cancelled", "job-2": "running"}
    [gone] = Workload.objects.filter(name="job-1")
    assert not gone.pods.filter(closed_at=None).exists()
