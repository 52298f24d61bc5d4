"""The way to an API server: what goes out, and every way it can go wrong."""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from portal.inventory.models import Cluster, ClusterKind
from portal.kubernetes import ports
from portal.kubernetes.client import connect
from portal.kubernetes.port import (
    ClusterError,
    Gone,
    NotFound,
    Refused,
    StaleVersion,
    TooMany,
    Unreachable,
)
from portal.kubernetes.real import KubernetesCluster
from tests.portal.kubernetes import recorded
from tests.portal.kubernetes.recorded import Answer, Recorded

EMPTY = Answer(200, {"metadata": {"resourceVersion": "9"}, "items": []})


@pytest.fixture
def server() -> Iterator[Recorded]:
    """A server that says what it is given."""
    with recorded.serving() as running:
        yield running


def port(server: Recorded, folder: Path, **settings: Any) -> KubernetesCluster:
    """The cluster behind it."""
    return KubernetesCluster(server.connection(folder, **settings))


def status(code: int, reason: str, **details: Any) -> dict[str, Any]:
    """A Status object as the API server writes one."""
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": f"{reason} it is", "details": details,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(400, status(400, "BadRequest")), Refused),
        (Answer(401, status(401, "Unauthorized")), Refused),
        (Answer(403, status(403, "Forbidden")), Refused),
        (Answer(404, b"404 page not found"), NotFound),
        (Answer(409, status(409, "Conflict")), StaleVersion),
        (Answer(409, status(409, "AlreadyExists")), StaleVersion),
        (Answer(410, status(410, "Expired")), Gone),
        (Answer(422, status(422, "Invalid")), Refused),
        (Answer(429, status(429, "TooManyRequests")), TooMany),
        (Answer(500, status(500, "InternalError")), Unreachable),
        (Answer(502, b"<html>Bad gateway</html>"), Unreachable),
        (Answer(503, status(503, "ServiceUnavailable")), Unreachable),
        (Answer(504, status(504, "Timeout")), Unreachable),
        (Answer(302, b"", {"Location": "http://127.0.0.1:1/login"}), Refused),
        (Answer(200, b"<html>Sign in</html>"), Unreachable),
        (Answer(200, {"items": []}, after=1.0), Unreachable),
        (Answer(200, {"items": []}, cut=True), Unreachable),
    ],
)
def test_each_failure_has_its_own_error(
    server: Recorded, tmp_path: Path, answer: Answer, kind: type[ClusterError]
) -> None:
    server.answers.append(answer)
    way = server.connection(tmp_path, read_seconds=0.3)
    with pytest.raises(ClusterError) as raised:
        way.ask("GET", "/api/v1/namespaces/x/pods/y")
    assert type(raised.value) is kind
    assert len(server.asked) == 1, "asked once: whoever calls decides when to come back"


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Answer(429, status(429, "TooManyRequests"), {"Retry-After": "17"}), 17),
        (Answer(429, status(429, "TooManyRequests", retryAfterSeconds=4)), 4),
        (Answer(503, status(503, "ServiceUnavailable"), {"Retry-After": "9"}), 9),
    ],
)
def test_a_busy_server_says_when_to_come_back(
    server: Recorded, tmp_path: Path, answer: Answer, seconds: int
) -> None:
    server.answers.append(answer)
    with pytest.raises(TooMany) as raised:
        server.connection(tmp_path).ask("GET", "/api/v1/nodes")
    assert raised.value.retry_after == seconds


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(Unreachable, match="cannot be reached"):
        port(Recorded(address), tmp_path).nodes()


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt")],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with recorded.serving(context) as server, pytest.raises(Unreachable, match="certificate"):
        port(server, tmp_path).nodes()


def test_the_token_goes_along(server: Recorded, tmp_path: Path) -> None:
    server.answers.append(EMPTY)
    port(server, tmp_path).nodes()
    headers = {name.lower(): value for name, value in server.asked[0].headers.items()}
    assert headers["authorization"] == "Bearer secret"
    assert headers["user-agent"] == "evenshare"


def test_a_long_list_is_read_page_by_page(server: Recorded, tmp_path: Path) -> None:
    server.answers += [
        Answer(200, {"metadata": {"resourceVersion": "9", "continue": "more"},
                     "items": [{"metadata": {"name": "a"}}]}),
        Answer(200, {"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "b"}}]}),
    ]  # fmt: skip
    found = port(server, tmp_path).pods()
    assert [(item["kind"], item["metadata"]["name"]) for item in found.items] == [
        ("Pod", "a"), ("Pod", "b"),
    ]  # fmt: skip
    assert found.version == "9"
    assert [asked.query.get("continue") for asked in server.asked] == [None, "more"]


def test_a_list_whose_rest_ran_out_is_read_once_more_in_one_piece(
    server: Recorded, tmp_path: Path
) -> None:
    server.answers += [
        Answer(200, {"metadata": {"resourceVersion": "9", "continue": "more"},
                     "items": [{"metadata": {"name": "a"}}]}),
        Answer(410, status(410, "Expired")),
        Answer(200, {"metadata": {"resourceVersion": "12"}, "items": [{"metadata": {"name": "a"}}]}),
    ]  # fmt: skip
    found = port(server, tmp_path).pods()
    assert (len(found.items), found.version) == (1, "12")
    assert server.asked[-1].query == {"limit": "0"}


def test_what_was_deleted_since_the_last_look_is_told(server: Recorded, tmp_path: Path) -> None:
    events = (
        b'{"type":"MODIFIED","object":{"metadata":{"name":"a","uid":"1"}}}\n'
        b'{"type":"DELETED","object":{"metadata":{"name":"a","uid":"1"}}}\n'
    )
    server.answers += [EMPTY, Answer(200, events)]
    found = port(server, tmp_path).pods(since="7")
    assert [item["metadata"]["uid"] for item in found.deleted] == ["1"]
    assert server.asked[1].query["resourceVersion"] == "7"


def test_a_look_back_from_too_old_a_version_says_so(server: Recorded, tmp_path: Path) -> None:
    told = json.dumps({"type": "ERROR", "object": status(410, "Expired")}).replace(": ", ":")
    server.answers += [EMPTY, Answer(200, told.encode() + b"\n")]
    with pytest.raises(Gone):
        port(server, tmp_path).pods(since="7")


def test_kinds_nobody_installed_are_not_asked_for(server: Recorded, tmp_path: Path) -> None:
    groups = {"groups": [{"name": "ray.io", "versions": [{"groupVersion": "ray.io/v1"}]}]}
    server.answers += [Answer(200, groups), *[EMPTY] * 6]
    port(server, tmp_path).owners()
    asked = [asked.path for asked in server.asked[1:]]
    assert asked == [
        "/apis/batch/v1/jobs", "/apis/apps/v1/replicasets", "/apis/apps/v1/deployments",
        "/apis/apps/v1/statefulsets", "/apis/ray.io/v1/rayclusters", "/apis/ray.io/v1/rayjobs",
    ]  # fmt: skip


def test_an_eviction_held_up_by_a_budget_comes_back_later(server: Recorded, tmp_path: Path) -> None:
    told = status(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget"}])
    server.answers.append(Answer(429, told))
    with pytest.raises(TooMany):
        port(server, tmp_path).evict("vision", "pod-1", grace_seconds=60)
    asked = server.asked[0]
    assert asked.path == "/api/v1/namespaces/vision/pods/pod-1/eviction"
    assert asked.body["deleteOptions"] == {"gracePeriodSeconds": 60}


def test_a_deletion_can_be_of_that_very_object_only(server: Recorded, tmp_path: Path) -> None:
    server.answers.append(Answer(409, status(409, "Conflict")))
    with pytest.raises(StaleVersion):
        port(server, tmp_path).delete("ResourceQuota", "vision", "q", uid="u-1")
    assert server.asked[0].body["preconditions"] == {"uid": "u-1"}


def test_an_apply_to_an_object_made_anew_loses(server: Recorded, tmp_path: Path) -> None:
    listed = {"metadata": {"name": "q", "namespace": "n", "uid": "old"}}
    cause = {"field": "metadata.uid", "message": "field is immutable"}
    server.answers += [
        Answer(200, {"metadata": {}, "items": [listed]}),
        Answer(422, status(422, "Invalid", causes=[cause])),
    ]
    cluster = port(server, tmp_path)
    cluster.quotas()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "n"},
    }
    with pytest.raises(StaleVersion):
        cluster.apply(quota, manager="evenshare", resource_version="5")


def test_a_field_the_kind_does_not_have_is_our_fault_and_not_the_servers(
    server: Recorded, tmp_path: Path
) -> None:
    told = status(500, "") | {"message": "failed to create typed patch object (n/q; /v1, Kind="
                              "ResourceQuota): .spec.hards: field not declared in schema"}  # fmt: skip
    server.answers.append(Answer(500, told))
    with pytest.raises(Refused):
        server.connection(tmp_path).ask("PATCH", "/x", (), {"a": 1}, "application/apply-patch+yaml")


def test_a_dry_run_and_a_forced_apply_say_so(server: Recorded, tmp_path: Path) -> None:
    server.answers.append(Answer(200, {}))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    port(server, tmp_path).apply(namespace, manager="evenshare", force=True, dry_run=True)
    assert server.asked[0].query == {"fieldManager": "evenshare", "force": "true", "dryRun": "All"}


class TestTheWayInARow:
    """What a cluster's row says of how it is reached."""

    def test_a_variable_may_name_the_file(
        self, server: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.connection(tmp_path)
        monkeypatch.setenv("LAB_KUBECONFIG", str(tmp_path / "kubeconfig"))
        server.answers.append(EMPTY)
        KubernetesCluster(connect({"kubeconfig_env": "LAB_KUBECONFIG"})).nodes()

    @pytest.mark.parametrize(
        ("settings", "says"),
        [
            ({}, "names no kubeconfig"),
            ({"kubeconfig_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
            ({"kubeconfig": "/nowhere/at/all"}, "no kubeconfig at /nowhere/at/all"),
            ({"in_cluster": True}, "cannot be read"),
        ],
    )
    def test_a_way_that_leads_nowhere_says_what_is_missing(
        self, settings: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(Unreachable, match=says):
            connect(settings)

    @pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "kind: Config"])
    def test_a_file_that_is_no_kubeconfig_says_so(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "kubeconfig"
        path.write_text(text)
        with pytest.raises(Unreachable, match=r"cannot be read|no kubeconfig"):
            connect({"kubeconfig": str(path)})

    def test_a_context_that_is_not_there_says_so(self, server: Recorded, tmp_path: Path) -> None:
        with pytest.raises(Unreachable, match="cannot be read"):
            server.connection(tmp_path, context="moon")

    def test_a_cluster_of_the_real_kind_opens_this_port(
        self, server: Recorded, tmp_path: Path
    ) -> None:
        server.connection(tmp_path)
        settings = {"kubeconfig": str(tmp_path / "kubeconfig")}
        row = Cluster(name="lab", kind=ClusterKind.KUBERNETES, settings=settings)
        server.answers.append(EMPTY)
        assert ports.port_for(row, now=datetime(2026, 11, 2, tzinfo=UTC)).nodes().items == ()
