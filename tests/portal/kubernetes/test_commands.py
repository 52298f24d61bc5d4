"""One cycle from the command line, on the simulated cluster."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from portal.common import leases
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import services
from portal.kubernetes.models import Drift, SyncRun
from portal.kubernetes.port import MANAGER
from portal.scheduling.models import Tick
from portal.workloads.models import Workload
from tests import builders
from tests.portal.kubernetes import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    return world.a_registered(folder, world.a_plan())[0]


def run(name: str, *arguments: str) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(name, *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_cycle_reads_decides_and_writes_and_a_second_writes_nothing(cluster: Cluster) -> None:
    assert "lab: 0 new" in run("collect")
    assert "lab: 0 start, 0 make room, 0 run, 0 wait" in run("tick", "--cluster=lab")
    written = run("sync")
    assert (
        "ResourceQuota vision/evenshare-total spec.hard[requests.nvidia.com/gpu]: – → 0" in written
    )
    assert run("sync") == "lab: nothing to write\n"


def test_a_dry_run_of_each_writes_nothing(cluster: Cluster) -> None:
    assert "lab: pool a100: 16 devices" in run("collect", "--dry-run")
    assert not Workload.objects.exists()
    run("collect")
    assert "lab: 0 start" in run("tick", "--dry-run")
    assert not Tick.objects.exists()
    run("tick")
    said = run("sync", "--dry-run")
    assert "ResourceQuota vision/evenshare-total" in said
    assert not SyncRun.objects.exists()
    assert sorted(run("sync").splitlines()) == sorted(said.splitlines())


def test_drift_is_printed_with_who_holds_the_field(cluster: Cluster) -> None:
    run("collect"), run("tick"), run("sync")
    port = world.reopened(cluster)
    quota = next(q for q in port.quotas().items if q["metadata"]["name"] == "evenshare-total")
    spec = {"hard": {"requests.nvidia.com/gpu": "7"}}
    metadata = {"name": "evenshare-total", "namespace": quota["metadata"]["namespace"]}
    port.apply({**quota, "metadata": metadata, "spec": spec}, manager="kubectl", force=True)
    assert "7 of kubectl, not 0" in run("sync", "--dry-run")


def test_a_field_is_taken_over_and_its_drift_closed(cluster: Cluster) -> None:
    test_drift_is_printed_with_who_holds_the_field(cluster)
    run("sync")
    drift = Drift.objects.get(closed_at=None)
    tick = Tick.objects.get()
    services.take_over(drift_id=drift.pk, actor_id=builders.a_user().pk, now=tick.at)
    assert not Drift.objects.filter(closed_at=None).exists()
    assert run("sync") == "lab: nothing to write\n"
    owners = {
        entry["manager"]
        for quota in world.reopened(cluster).quotas().items
        for entry in quota["metadata"]["managedFields"]
    }
    assert owners == {MANAGER}


def test_a_cluster_somebody_else_serves_now_counts_as_not_served(cluster: Cluster) -> None:
    run("collect")
    with leases.holding(name=f"tick-{cluster.pk}", seconds=60), pytest.raises(CommandError):
        run("tick")


def test_one_cluster_out_of_reach_does_not_keep_the_others_waiting(cluster: Cluster) -> None:
    broken = Cluster.objects.create(
        name="far", kind="kubernetes", settings={"kubeconfig": "/nowhere"}, created_at=world.START
    )
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="could not be served: far"):
        call_command("collect", stdout=out, stderr=err)
    assert "lab: " in out.getvalue()
    assert "far: There is no kubeconfig at /nowhere." in err.getvalue()
    broken.refresh_from_db()
    assert broken.last_error == "There is no kubeconfig at /nowhere."


def test_observe_mode_says_that_it_writes_nothing(cluster: Cluster) -> None:
    run("collect"), run("tick")
    Cluster.objects.update(mode=ClusterMode.OBSERVE)
    assert run("sync") == "lab: observe mode writes nothing\n"


def test_a_simulated_clusters_name_is_not_taken_for_a_real_one(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match="name of a simulated cluster"):
        run("add_cluster", "lab", "--kubeconfig=/nowhere")


def test_adding_a_cluster_out_of_reach_says_why(db: None) -> None:
    with pytest.raises(CommandError, match="real was not added: There is no kubeconfig"):
        run("add_cluster", "real", "--kubeconfig=/nowhere")
    assert not Cluster.objects.exists()
