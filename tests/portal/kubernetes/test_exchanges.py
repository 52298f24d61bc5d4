"""Every recorded exchange about quotas, classes and policies, again, through the real client."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.kubernetes import answers, manifests, reading
from portal.kubernetes.manifests import PoolShape, Target
from portal.kubernetes.owning import gangs
from portal.kubernetes.port import FENCE, FieldConflict, Listing, NotFound, Refused, StaleVersion
from portal.kubernetes.proposing import idle_keys
from portal.kubernetes.real import KubernetesCluster
from tests.portal.kubernetes import recorded
from tests.portal.kubernetes.recorded import Answer, Recorded

GPU = "nvidia.com/gpu"
API = recorded.exchanges("api-exchanges")
POOLS = recorded.exchanges("pool-quota-exchanges")
BY_TITLE = {exchange["title"]: exchange for exchange in [*API, *POOLS]}

REFUSALS: dict[str, tuple[type[Exception], str]] = {
    "another manager changes the field without force: conflict": (FieldConflict, "evenshare"),
    "we apply again: conflict with kubectl": (FieldConflict, "kubectl"),
    "negative quantity is refused": (Refused, "must be greater than or equal to 0"),
    "value of a priority class may not change": (Refused, "may not be changed in an update"),
    "preemptionPolicy may not change": (Refused, "field is immutable"),
    "value above one billion is refused": (Refused, "maximum allowed value"),
    "system- prefix is refused": (Refused, "reserved for system use only"),
    "pod over quota is forbidden": (Refused, "exceeded quota: "),
    "pod over the scoped quota is forbidden": (Refused, "exceeded quota: "),
    "gpu request without equal limit is refused": (Refused, "must be equal to nvidia.com/gpu limit of 2"),
    "fractional gpu is refused": (Refused, "must be an integer"),
    "unknown namespace": (NotFound, 'namespaces "nope" not found'),
    "update with a stale resourceVersion: conflict": (StaleVersion, "has been modified"),
    "no class, no pool: refused": (Refused, "evenshare-gpu-pods"),
    "H100 class without the pool's node selector: refused": (Refused, "names its pool"),
    "A100 class on the H100 pool: refused": (Refused, "one of that pool's priority classes"),
    "H100 guaranteed, third of two: refused by its quota": (
        Refused, "exceeded quota: evenshare-guaranteed-h100",
    ),
    "A100 burst, quota 0: refused": (Refused, "exceeded quota: evenshare-burst-a100"),
    "GPU pod in a namespace of no team: refused": (Refused, "only in namespaces of a team"),
    "another cluster's priority class: refused by the policy": (Refused, "names its pool"),
    "a stale writer applies with the old resourceVersion: conflict, so a paused writer cannot win":
        (StaleVersion, "has been modified"),
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[Recorded]:
    """A server that says what it is given."""
    with recorded.serving() as running:
        yield running


def drive(server: Recorded, folder: Path, exchange: dict[str, Any]) -> Any:
    """Do what was recorded: an apply through the port, anything else as a plain request."""
    request, response = exchange["request"], exchange["response"]
    server.answers.append(Answer(response["status"], response["body"]))
    connection = server.connection(folder)
    path, _, query = request["path"].partition("?")
    pairs = [tuple(part.split("=", 1)) for part in query.split("&") if part]
    if request["contentType"] != "application/apply-patch+yaml":
        return connection.ask(
            request["method"], path, pairs, request["body"], request["contentType"]
        )
    given = dict(pairs)
    body = {**request["body"], "metadata": dict(request["body"]["metadata"])}
    version = body["metadata"].pop("resourceVersion", "")
    fence = body["metadata"].pop("annotations", {}).get(FENCE)
    port = KubernetesCluster(connection)
    if version:
        listed = {"metadata": {**body["metadata"], "uid": "u-1"}}
        server.answers.insert(0, Answer(200, {"metadata": {}, "items": [listed]}))
        port.quotas()
    return port.apply(
        body, manager=given["fieldManager"], force=given.get("force") == "true",
        resource_version=version, fence=int(fence) if fence else None,
    )  # fmt: skip


@pytest.mark.parametrize("exchange", [*API, *POOLS], ids=lambda exchange: exchange["title"])
def test_an_exchange_is_asked_as_recorded_and_understood(
    server: Recorded, tmp_path: Path, exchange: dict[str, Any]
) -> None:
    request, response = exchange["request"], exchange["response"]
    expected = REFUSALS.get(exchange["title"])
    if expected is None:
        assert response["status"] < 300
        assert drive(server, tmp_path, exchange) == response["body"]
    else:
        kind, words = expected
        with pytest.raises(kind) as raised:
            drive(server, tmp_path, exchange)
        assert type(raised.value) is kind
        assert words in str(raised.value)
    asked = server.asked[-1]
    path, _, query = request["path"].partition("?")
    assert (asked.method, asked.path) == (request["method"], path)
    assert asked.query == dict(part.split("=", 1) for part in query.split("&") if part)
    assert asked.content_type == request["contentType"]
    if asked.body and "resourceVersion" in asked.body["metadata"] and asked.method == "PATCH":
        assert asked.body["metadata"].pop("uid") == "u-1"
    assert asked.body == request["body"]


def test_every_recorded_refusal_is_expected_by_name() -> None:
    refused = {e["title"] for e in [*API, *POOLS] if e["response"]["status"] >= 300}
    assert refused == set(REFUSALS)


def test_a_conflict_names_the_field_and_its_manager() -> None:
    for title, manager in (
        ("another manager changes the field without force: conflict", "evenshare"),
        ("we apply again: conflict with kubectl", "kubectl"),
    ):
        response = BY_TITLE[title]["response"]
        error = answers.error(response["status"], {}, json.dumps(response["body"]).encode())
        assert isinstance(error, FieldConflict)
        assert error.owners == {f"spec.hard.requests.{GPU}": manager}


def test_our_manifests_are_those_the_server_took() -> None:
    pools = (PoolShape("h100", GPU), PoolShape("a100", GPU))
    targets = {"h100": Target(2, 1, 3), "a100": Target(1, 0, 1)}
    ours = [
        manifests.namespace("team-c", "vision"),
        *manifests.priority_classes(pools),
        *manifests.quotas("team-c", targets, pools, [GPU]),
    ]
    theirs = [e["request"]["body"] for e in POOLS[:10]]

    def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(found, key=lambda item: (item["kind"], item["metadata"]["name"]))

    assert in_order(ours) == in_order(theirs)


@pytest.mark.parametrize(
    ("title", "idle"),
    [
        ("apply quota on requests.nvidia.com/gpu", []),
        ("limits.* of an extended resource is ACCEPTED, and never enforced", [f"limits.{GPU}"]),
        ("bare extended resource name is ACCEPTED, and never enforced (absent from status.used)", [GPU]),
        ("MIG resource quota", []),
        ("DRA device class quota", []),
    ],
)  # fmt: skip
def test_keys_that_enforce_nothing_are_told_from_those_that_do(title: str, idle: list[str]) -> None:
    assert idle_keys(BY_TITLE[title]["response"]["body"]["spec"]["hard"]) == idle


def test_a_job_whose_pods_were_refused_says_what_it_wants_and_why_it_waits() -> None:
    job = BY_TITLE["job after quota refused its pods"]["response"]["body"]
    assert [gang.replicas for gang in gangs(job)] == [2]
    events = BY_TITLE["events of the job"]["response"]["body"]["items"]
    refused = [event for event in events if event["reason"] == "FailedCreate"]
    found = reading.Read(
        nodes=Listing((), "1"), owners=Listing((job,), "1"), pods=Listing((), "1"),
        events=Listing(tuple(refused), "1"), version="1",
    )  # fmt: skip
    [seen] = reading.workloads(found, {GPU})
    assert (seen.tasks, seen.gpu_milli) == (2, 1000)
    assert seen.cluster_reason == "cluster_quota"
    assert "exceeded quota" in seen.cluster_message
