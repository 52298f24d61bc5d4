"""What an admin does on the pages of a cluster: rehearse, take over, undo, pause, change mode."""

from unittest import mock

from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import carrying, ports, standing, words
from portal.kubernetes.admitting import asking
from portal.kubernetes.models import SyncRun
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes.pages import a_drift, drifted, get, post, text
from tests.portal.kubernetes.test_syncing import a_tick, hard
from tests.portal.kubernetes.test_undoing import edit


def test_drift_shows_wanted_found_and_who_holds_it(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    row = drifted(cluster, port)
    response = get(f"/clusters/{cluster.pk}/")
    assert "7 99 kubectl-edit" in text(response)
    assert f"/clusters/drift/{row.pk}/take-over/" in response.content.decode()


def test_a_field_is_taken_over(cluster: Cluster, port: SimulatedCluster) -> None:
    row = drifted(cluster, port)
    path = f"/clusters/drift/{row.pk}/take-over/"
    assert "Take over evenshare-guaranteed-a100" in text(get(path))
    assert post(path).status_code == 302
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "7"
    assert get(path).status_code == 404


def test_what_is_nobodys_field_is_not_offered_to_be_taken(cluster: Cluster) -> None:
    row = a_drift(cluster, "status.hard[requests.nvidia.com/gpu]")
    said = text(get(f"/clusters/drift/{row.pk}/take-over/"))
    assert "There is nothing to take over." in said


def test_a_dry_run_shows_what_would_be_written_and_writes_nothing(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 3, a100=(5, 5))
    said = text(get(f"/clusters/{cluster.pk}/dry-run/", "auditor"))
    assert "vision/evenshare-guaranteed-a100 spec.hard[requests.nvidia.com/gpu] 7 5" in said
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "7"


def test_a_dry_run_of_an_unreachable_cluster_says_why(cluster: Cluster) -> None:
    ports.forget(ports.simulated_file(cluster))
    Cluster.objects.update(settings={"file": "gone.cluster"})
    response = get(f"/clusters/{cluster.pk}/dry-run/")
    assert response.status_code == 200
    assert "The cluster did not answer." in text(response)


def test_the_last_sync_is_undone_after_it_was_shown(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    path = f"/clusters/{cluster.pk}/undo/"
    run = SyncRun.objects.latest("id")
    said = text(get(path))
    assert f"Sync {run.pk} would be taken back" in said
    assert "paused until an admin resumes it" in said
    assert post(path, run=run.pk).status_code == 302
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "6"
    assert "undone already" in text(get(path))
    log = text(get(f"/clusters/{cluster.pk}/log/"))
    assert f"Done: undid sync {run.pk}" in log
    assert "Done, undone since" in log


def test_an_undo_is_refused_when_the_cluster_has_moved(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    edit(port, "99")
    path = f"/clusters/{cluster.pk}/undo/"
    said = text(get(path))
    assert "The cluster has moved since" in said
    assert "Undo it and pause" not in said
    response = post(path, run=SyncRun.objects.latest("id").pk)
    assert response.status_code == 409
    assert "Nothing was written." in text(response)


def test_an_undo_of_another_sync_than_shown_is_refused(cluster: Cluster) -> None:
    for run in ("1", "x", "9" * 30, ""):
        assert post(f"/clusters/{cluster.pk}/undo/", run=run).status_code == 409


def test_a_sync_is_paused_with_a_reason_and_resumed(cluster: Cluster) -> None:
    pause, resume = (f"/clusters/{cluster.pk}/{what}/" for what in ("pause", "resume"))
    assert post(pause, reason="").status_code == 422
    assert post(pause, reason="Moving racks").status_code == 302
    assert standing.is_paused(cluster_id=cluster.pk)
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert "By admin" in said
    assert "also what an undo took back" in text(get(resume))
    assert post(resume).status_code == 302
    assert not standing.is_paused(cluster_id=cluster.pk)


def test_the_mode_goes_one_step_up_and_says_what_each_cannot_do(cluster: Cluster) -> None:
    path = f"/clusters/{cluster.pk}/mode/"
    said = text(get(path))
    for mode in words.MODES:
        assert str(mode.cannot) in said
    assert post(path, was="quota", mode="admission").status_code == 422
    assert post(path, was="observe", mode="reclaim").status_code == 422
    assert post(path, was="quota", mode="reclaim").status_code == 302
    cluster.refresh_from_db()
    assert cluster.mode == ClusterMode.RECLAIM


def test_a_dry_run_shows_what_would_be_asked_of_jobs_too(cluster: Cluster) -> None:
    line = asking.Line("Job", "vision", "train", "spec.suspend", True, False)
    with mock.patch.object(carrying, "rehearse", return_value=[line]):
        said = text(get(f"/clusters/{cluster.pk}/dry-run/"))
    assert "Job vision/train spec.suspend True False" in said
    assert "1 object" in said
