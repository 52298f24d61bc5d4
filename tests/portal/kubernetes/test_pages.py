"""Clusters and drift: who sees it, and what stands there."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from portal.common import clock
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import standing, words
from portal.kubernetes.models import (
    Ask,
    Drift,
    RayGroup,
    Stop,
    StopState,
    SyncRun,
    SyncStanding,
    SyncState,
    SyncWrite,
    Verb,
)
from portal.kubernetes.policies import NAMES, POLICY
from portal.kubernetes.selectors import get_cluster, list_ray
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests import builders
from tests.portal.kubernetes import world
from tests.portal.kubernetes.pages import a_drift, drifted, get, person, text
from tests.portal.kubernetes.world import START


def test_the_list_shows_mode_ages_policies_and_differences(cluster: Cluster) -> None:
    said = text(get("/clusters/"))
    assert "lab Quota" in said
    assert f"{len(NAMES)} of {len(NAMES)}" in said
    # It was never read: the oldest of all, and stale.
    assert "never" in said


def test_those_who_oversee_find_it_in_the_navigation(cluster: Cluster) -> None:
    assert 'href="/clusters/"' in get("/clusters/", "auditor").content.decode()
    assert 'href="/clusters/"' not in get("/", "finance").content.decode()
    assert get("/clusters/", "finance").status_code == 404


def test_an_auditor_looks_and_is_offered_nothing_to_change(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    drifted(cluster, port)
    body = get(f"/clusters/{cluster.pk}/", "auditor").content.decode()
    assert "kubectl-edit" in body
    assert "take-over" not in body
    assert "/undo/" not in body
    assert get(f"/clusters/{cluster.pk}/undo/", "auditor").status_code == 404


def test_what_is_old_says_so_with_its_age(cluster: Cluster) -> None:
    old = clock.real_now() - timedelta(hours=2, seconds=5)
    Cluster.objects.update(seen_at=START, seen_real_at=old)
    SyncStanding.objects.update(checked_real_at=old)
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert said.count("2 h ago · stale") == 2


def test_a_paused_sync_is_not_overdue(cluster: Cluster) -> None:
    old = clock.real_now() - timedelta(hours=2)
    standing.pause(cluster_id=cluster.pk, reason="Moving racks", actor_id=None, now=START)
    SyncStanding.objects.update(checked_real_at=old)
    row = get_cluster(cluster_id=cluster.pk, real_now=clock.real_now())
    assert not row.sync.stale
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert "nothing is written to it" in said
    assert "Moving racks" in said


def test_missing_policies_are_named_with_what_follows(cluster: Cluster) -> None:
    Drift.objects.create(
        cluster=cluster, kind=POLICY, name=NAMES[0], field="spec.validationActions",
        wanted="Deny", opened_at=START,
    )  # fmt: skip
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert f"{len(NAMES) - 1} of {len(NAMES)}" in said
    assert f"Missing: {NAMES[0]}." in said
    assert "the pools of a resource are one sum" in said


def test_policies_of_an_observed_cluster_are_not_known(cluster: Cluster) -> None:
    Cluster.objects.update(mode=ClusterMode.OBSERVE)
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert "policies installed not known" in said
    assert "none: it is only observed" in said


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"late", "idle", "held"}),
        ("?sort_of=late", {"late"}),
        ("?sort_of=idle", {"idle"}),
        ("?sort_of=field", {"held"}),
        ("?manager=kubectl", {"held"}),
        ("?search=idl", {"idle"}),
        ("?state=closed", {"gone"}),
        ("?sort_of=nonsense", {"late", "idle", "held"}),
    ],
)
def test_drift_is_filtered(cluster: Cluster, query: str, shown: set[str]) -> None:
    a_drift(cluster, "status.hard[requests.nvidia.com/gpu]", name="late")
    a_drift(cluster, "spec.hard[nvidia.com/gpu]", name="idle", wanted=None)
    a_drift(cluster, "spec.hard[requests.nvidia.com/gpu]", name="held", manager="kubectl")
    a_drift(cluster, "spec.hard[pods]", name="gone", closed_at=START)
    said = text(get(f"/clusters/{cluster.pk}/{query}"))
    names = {"late", "idle", "held", "gone"}
    assert {name for name in names if f"vision/{name}" in said} == shown


def test_what_enforces_nothing_and_what_is_not_in_force_say_so(cluster: Cluster) -> None:
    a_drift(cluster, "status.hard[requests.nvidia.com/gpu]", name="late")
    a_drift(cluster, "spec.hard[limits.nvidia.com/gpu]", name="idle", wanted=None)
    said = text(get(f"/clusters/{cluster.pk}/"))
    assert "Enforces nothing: only requests.nvidia.com/gpu would." in said
    assert "The server has not taken this limit up yet: the old one binds." in said
    assert "quotas not in force 1" in said


def test_nothing_that_differs_is_said_in_words(cluster: Cluster) -> None:
    assert "Nothing differs" in text(get(f"/clusters/{cluster.pk}/"))


def test_the_log_leads_to_each_field_from_what_to_what(cluster: Cluster) -> None:
    run = SyncRun.objects.latest("id")
    body = get(f"/clusters/{cluster.pk}/log/").content.decode()
    assert f"/clusters/syncs/{run.pk}/" in body
    said = text(get(f"/clusters/syncs/{run.pk}/"))
    assert "vision/evenshare-guaranteed-a100 spec.hard[requests.nvidia.com/gpu] 6 7" in said


def test_a_sync_that_came_only_half_way_says_how_far(cluster: Cluster) -> None:
    SyncRun.objects.create(
        cluster=cluster, at=START, state=SyncState.PARTIAL, writes=2, intended=5,
        message="ResourceQuota a/b: no\nResourceQuota a/c: no",
    )  # fmt: skip
    said = text(get(f"/clusters/{cluster.pk}/log/?state=partial"))
    assert "Partly: some writes were refused 2 of 5" in said
    assert "ResourceQuota a/b: no …" in said


@pytest.mark.parametrize(
    "what", ["", "{}/", "{}/log/", "{}/jobs/", "{}/ray/", "{}/dry-run/", "syncs/{}/"]
)
def test_every_list_is_a_download_too(cluster: Cluster, what: str) -> None:
    pk = SyncRun.objects.latest("id").pk if "syncs" in what else cluster.pk
    response = get(f"/clusters/{what.format(pk)}?format=csv")
    assert response["Content-Type"].startswith("text/csv")
    assert response.getvalue()


def a_group(cluster: Cluster, name: str, pod_gpus: int, ray_gpus: int) -> RayGroup:
    """A worker group."""
    return RayGroup.objects.create(
        cluster=cluster, uid=name, namespace="vision", name=name, group="gpu", desired=2,
        available=1, pod_gpus=pod_gpus, ray_gpus=ray_gpus, since=START,
    )  # fmt: skip


def test_wrong_counts_of_ray_come_first_with_their_repair(cluster: Cluster) -> None:
    for name, pod, ray in (("ok", 4, 4), ("more", 4, 8), ("less", 8, 4), ("blind", 1, 0)):
        a_group(cluster, name, pod, ray)
    rows = list_ray(cluster_id=cluster.pk)
    assert [row.name for row in rows] == ["blind", "less", "more", "ok"]
    repairs = {row.name: words.repair(row) for row in rows}
    assert "Set num-gpus: 1" in repairs["blind"]
    assert "stand idle" in repairs["less"]
    assert "are not there" in repairs["more"]
    assert repairs["ok"] == ""
    assert "Ray 3" in text(get(f"/clusters/{cluster.pk}/ray/"))


def test_every_mode_and_sort_is_said_in_korean(cluster: Cluster) -> None:
    with translation.override("ko"):
        said = [mode.cannot for mode in words.MODES] + list(words.SORTS.values())
        assert all(re.search("[가-힣]", str(one)) for one in said)


@pytest.mark.parametrize("what", ["", "{}/", "{}/log/", "{}/jobs/", "{}/ray/"])
def test_more_rows_ask_no_more_queries(cluster: Cluster, what: str) -> None:
    path = f"/clusters/{what.format(cluster.pk)}"
    client = Client()
    client.force_login(person("admin"))

    def queries() -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    SyncStanding.objects.update(paused_at=START, paused_by_id=1)
    a_drift(cluster, "spec.hard[first]", manager="kubectl")
    an_ask(cluster, "first", Verb.START)
    a_group(cluster, "first", 1, 2)
    before = queries()
    for number in range(6):
        more = builders.a_cluster(f"more-{number}")
        SyncStanding.objects.create(cluster=more, paused_at=START, paused_by_id=1)
        a_drift(cluster, f"spec.hard[{number}]", manager="kubectl")
        a_drift(more, "spec.hard[pods]")
        run = SyncRun.objects.create(cluster=cluster, at=START, state=SyncState.DONE)
        SyncWrite.objects.create(run=run, kind="Node", name="n", field="f")
        a_group(cluster, f"g-{number}", number, 2)
        a_stop(cluster, f"s-{number}")
        an_ask(cluster, f"a-{number}", Verb.START)
    assert queries() == before


def a_stop(cluster: Cluster, name: str, **more: object) -> Stop:
    """A job that makes room for another."""
    pool = world.pool_of(cluster, "a100")
    job = builders.a_workload(None, pool, name)
    return Stop.objects.create(
        workload=job, made_for=builders.a_workload(None, pool, f"for-{name}"), tick_id=1,
        why="reclaim_guaranteed", opened_at=START, **more,
    )  # fmt: skip


def test_jobs_that_cannot_make_room_are_shown_with_the_clusters_words(cluster: Cluster) -> None:
    a_stop(cluster, "easy")
    a_stop(cluster, "hard", state=StopState.STUCK, message="held by example/finalizer")
    row = get_cluster(cluster_id=cluster.pk, real_now=clock.real_now())
    assert (row.stops, row.stuck) == (2, 1)
    said = text(get(f"/clusters/{cluster.pk}/jobs/"))
    assert "lost/hard lost/for-hard Stuck: its GPUs stay taken" in said
    assert "held by example/finalizer" in said
    assert "In this mode jobs start by themselves" in said


def an_ask(cluster: Cluster, name: str, verb: Verb, answer: str = "") -> Ask:
    """Something asked of a job."""
    job = builders.a_workload(None, world.pool_of(cluster, "a100"), name)
    return Ask.objects.create(
        workload=job, tick_id=1, verb=verb, kind="Job", namespace="vision", name=name,
        changes=[["spec.suspend", True, False]], at=START, last_at=START, answer=answer,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"begins", "ends"}),
        ("?verb=start", {"begins"}),
        ("?answer=refused", {"ends"}),
        ("?verb=nonsense", {"begins", "ends"}),
    ],
)
def test_what_was_asked_of_jobs_is_listed(cluster: Cluster, query: str, shown: set[str]) -> None:
    an_ask(cluster, "begins", Verb.START)
    an_ask(cluster, "ends", Verb.SUSPEND, answer="no such thing")
    said = text(get(f"/clusters/{cluster.pk}/jobs/{query}"))
    assert {name for name in ("begins", "ends") if f"vision/{name}" in said} == shown
    assert "spec.suspend: True → False" in said
