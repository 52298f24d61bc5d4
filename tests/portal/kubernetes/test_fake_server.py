"""The fake API server answers as the real one did when it was recorded, so that it cannot drift."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api_server import controllers, serving
from tests.api_server.controllers import at
from tests.api_server.serving import ApiServer
from tests.portal.kubernetes import recorded

GPU = "nvidia.com/gpu"
API = recorded.all_exchanges()
POOLS = recorded.exchanges("pool-quota-exchanges")
ALIKE = 50


def ask(server: ApiServer, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """A request as it was recorded, again; no client of ours between."""
    body = json.dumps(request["body"]).encode() if request["body"] is not None else None
    sent = urllib.request.Request(
        server.url + request["path"], data=body, method=request["method"],
        headers={"Content-Type": request["contentType"]},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(sent, timeout=10) as answer:
            return answer.status, dict(answer.headers.items()), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers.items()), error.read()


def a_pod(gpus: int) -> dict[str, Any]:
    """A pod of so many devices."""
    resources = {"limits": {GPU: str(gpus)}}
    return {"spec": {"containers": [{"name": "c", "image": "x", "resources": resources}]}}


@pytest.fixture(scope="module")
def api() -> Iterator[ApiServer]:
    """What stood in the real server before the first recording: 53 devices in use."""
    with serving.serving() as server:
        controllers.add_namespace(server.store, "team-a")
        for name, gpus in (("ok-4", 4), ("low-prio", 1), ("others", 48)):
            server.store.create(at("Pod", name, "team-a"), a_pod(gpus))
        yield server


@pytest.fixture(scope="module")
def pools() -> Iterator[ApiServer]:
    """An empty server."""
    with serving.serving() as server:
        controllers.add_namespace(server.store, "default")
        yield server


def replay(server: ApiServer, exchange: dict[str, Any]) -> dict[str, Any]:
    """Ask again; status, reason and the words of a refusal are the real server's."""
    controllers.count_quotas(server.store)
    controllers.run_jobs(server.store)
    request, response = exchange["request"], exchange["response"]
    status, _, raw = ask(server, request)
    assert status == response["status"], raw
    if not isinstance(response["body"], dict):
        return {}
    found, theirs = json.loads(raw), response["body"]
    assert found.get("kind") == theirs.get("kind")
    for name in ("reason", "status"):
        if isinstance(theirs.get(name), str):
            assert found.get(name) == theirs[name]
    if status >= 300:
        assert found["message"][:ALIKE] == theirs["message"][:ALIKE]
    return dict(found)


@pytest.mark.parametrize("exchange", API, ids=lambda exchange: exchange["title"])
def test_an_exchange_about_the_api_is_answered_as_recorded(
    api: ApiServer, exchange: dict[str, Any]
) -> None:
    replay(api, exchange)


def stale(exchange: dict[str, Any], version: str) -> dict[str, Any]:
    """The exchange with the version the object has here in place of the recorded one."""
    request = json.loads(json.dumps(exchange["request"]))
    if request["body"] and "resourceVersion" in request["body"].get("metadata", {}):
        request["body"]["metadata"]["resourceVersion"] = version
    return {**exchange, "request": request}


def test_the_pool_design_is_answered_as_recorded(pools: ApiServer) -> None:
    version = ""
    for exchange in POOLS:
        found = replay(pools, stale(exchange, version))
        if exchange["title"] == "quota with its resourceVersion":
            version = found["metadata"]["resourceVersion"]


def test_an_apply_that_changes_nothing_keeps_the_version(api: ApiServer) -> None:
    exchange = {**API[0], "request": json.loads(json.dumps(API[0]["request"]))}
    exchange["request"]["path"] = exchange["request"]["path"].replace("gpu?", "twice?")
    exchange["request"]["body"]["metadata"]["name"] = "twice"
    versions = [
        json.loads(ask(api, exchange["request"])[2])["metadata"]["resourceVersion"]
        for _ in range(2)
    ]
    assert versions[0] == versions[1]
    assert api.store.vain[-1][2] == "twice"


def watch(server: ApiServer, version: str) -> list[dict[str, Any]]:
    """The lines of a short watch of all pods."""
    path = f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=1"
    request = {"method": "GET", "path": path, "body": None, "contentType": "application/json"}
    return [json.loads(line) for line in ask(server, request)[2].splitlines()]


def test_a_watch_from_before_the_log_begins_ends_with_an_error_line(pools: ApiServer) -> None:
    pools.store.compact()
    [line] = watch(pools, "5")
    assert (line["type"], line["object"]["code"], line["object"]["reason"]) == (
        "ERROR", 410, "Expired",
    )  # fmt: skip


def test_a_pod_that_has_a_node_goes_in_two_steps(pools: ApiServer) -> None:
    begun = str(pools.store.version)
    pools.store.create(at("Pod", "goes", "default"), {"spec": {"containers": []}})
    controllers.bind(pools.store, pools.store.get(at("Pod", "goes", "default")), "n")
    pools.store.delete(at("Pod", "goes", "default"), grace=30)
    controllers.end(pools.store, pools.store.get(at("Pod", "goes", "default")))
    lines = watch(pools, begun)
    assert [line["type"] for line in lines] == [
        "ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED",
    ]  # fmt: skip
    assert "deletionTimestamp" in lines[-1]["object"]["metadata"]
    versions = [int(line["object"]["metadata"]["resourceVersion"]) for line in lines]
    assert versions == sorted(set(versions))
