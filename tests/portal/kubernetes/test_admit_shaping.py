"""One object before → after, and the merge patch between: nothing else of it ever changes."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kubernetes.admitting import shaping
from portal.kubernetes.admitting.orders import Orders
from tests.portal.kubernetes import test_manifests_against_schemas as schemas

GPU = "nvidia.com/gpu"
ORDERS = Orders(
    pool="h100", resource=GPU, placements=(("n1", 1), ("n2", 1)), asked=2, charged_to="borrowed",
    priority_class="evenshare-burst-h100", runtime_class="kata",
)  # fmt: skip
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def on(*names: str) -> list[dict[str, Any]]:
    """Node selector terms that name these nodes."""
    return [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in names
    ]


def a_job(**spec: Any) -> dict[str, Any]:
    """A suspended Job with two tasks of two devices."""
    main = {"name": "main", "image": "x", "resources": {"limits": {GPU: "2"}}}
    pod = {"containers": [main], **spec.pop("pod", {})}
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "vision", "uid": "u1", "resourceVersion": "7",
                     "annotations": {"owner": "minji"}},
        "spec": {"suspend": True, "parallelism": 2, "completions": 2, **spec,
                 "template": {"spec": pod}},
    }  # fmt: skip


def applied(before: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch as RFC 7396 has it."""
    after = dict(before)
    for key, value in change.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, Mapping):
            inner = after.get(key)
            after[key] = applied(inner if isinstance(inner, Mapping) else {}, value)
        else:
            after[key] = value
    return after


def test_a_job_gets_everything_in_the_change_that_lets_it_start() -> None:
    after = shaping.started(a_job(), ORDERS)
    template = after["spec"]["template"]
    assert after["spec"]["suspend"] is False
    assert after["metadata"]["annotations"]["evenshare.io/charged-to"] == "borrowed"
    assert template["metadata"]["annotations"] == {
        "evenshare.io/admitted": "evenshare-burst-h100", "evenshare.io/runtime-class": "kata",
    }  # fmt: skip
    assert template["spec"]["nodeSelector"] == {"evenshare.io/pool": "h100"}
    affinity = template["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert affinity == on("n1", "n2")


def test_nodes_are_told_by_name_in_one_line() -> None:
    before = a_job()
    after = shaping.started(before, ORDERS)
    said = {change.field: (change.was, change.now) for change in shaping.changes(before, after)}
    where = f"spec.template.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[metadata.name]"
    assert said[where] == (None, ["n1", "n2"])
    assert [field for field in said if "affinity" in field] == [where]
    elsewhere = Orders(**{**_fields(ORDERS), "placements": (("n3", 2),)})
    again = {
        c.field: (c.was, c.now) for c in shaping.changes(after, shaping.started(after, elsewhere))
    }
    assert again == {where: (["n1", "n2"], ["n3"])}


def test_what_the_owner_asked_of_nodes_stays_and_an_earlier_starts_nodes_go() -> None:
    fast = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}
    terms = [{**fast, **one} for one in on("old-1", "old-2")]
    pod = {
        "nodeSelector": {"rack": "r1"},
        "affinity": {"podAffinity": {"x": []}, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
    }  # fmt: skip
    spec = shaping.started(a_job(pod=pod), ORDERS)["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"rack": "r1", "evenshare.io/pool": "h100"}
    assert spec["affinity"]["podAffinity"] == {"x": []}
    assert spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {**fast, **one} for one in on("n1", "n2")
    ]


def test_a_job_that_starts_with_less_gets_all_back_when_it_stops() -> None:
    less = Orders(**{**_fields(ORDERS), "placements": (("n1", 1),)})
    runs = shaping.started(a_job(), less)
    assert (runs["spec"]["parallelism"], runs["spec"]["completions"]) == (1, 2)
    stopped = shaping.stopped(runs)
    assert (stopped["spec"]["parallelism"], stopped["spec"]["suspend"]) == (2, True)
    assert stopped["metadata"]["annotations"] == {"owner": "minji"}


def test_a_job_that_shrinks_twice_still_knows_what_it_asked_for() -> None:
    twice = shaping.shrunk(shaping.shrunk(a_job(parallelism=8), 4), 2)
    assert twice["spec"]["parallelism"] == 2
    assert shaping.stopped(twice)["spec"]["parallelism"] == 8


def test_a_made_up_mark_of_how_much_was_asked_for_changes_nothing() -> None:
    lying = a_job()
    lying["metadata"]["annotations"]["evenshare.io/parallelism"] = "-1; many"
    assert shaping.stopped(lying)["spec"]["parallelism"] == 2


def test_ray_is_told_in_fields_and_only_where_it_asks_for_devices() -> None:
    worker = {"spec": {"containers": [{"name": "w", "resources": {"limits": {GPU: "2"}}}]}}
    head = {"spec": {"containers": [{"name": "h"}]}}
    inner = {
        "headGroupSpec": {"template": head},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "template": worker}],
    }
    ray = {**a_job(), "kind": "RayJob", "spec": {"suspend": True, "rayClusterSpec": inner}}
    after = shaping.started(ray, ORDERS)["spec"]["rayClusterSpec"]
    assert after["headGroupSpec"]["template"] == head
    spec = after["workerGroupSpecs"][0]["template"]["spec"]
    assert (spec["priorityClassName"], spec["runtimeClassName"]) == ("evenshare-burst-h100", "kata")


def test_a_pod_goes_to_its_node_and_keeps_the_gates_of_others() -> None:
    gates = [{"name": "evenshare.io/admission"}, {"name": "storage.example/ready"}]
    pod = {"metadata": {"name": "p", "namespace": "vision", "uid": "u", "resourceVersion": "1"},
           "kind": "Pod", "spec": {"schedulingGates": gates}}  # fmt: skip
    assert shaping.is_gated(pod)
    after = shaping.ungated(pod, ORDERS, "n2")
    assert after["spec"]["schedulingGates"] == gates[1:]
    assert not shaping.is_gated(after)
    terms = after["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert terms == on("n2")


def test_what_is_let_start_stopped_and_shrunk_is_as_the_servers_schemas_say() -> None:
    worker = {"spec": {"containers": [{"name": "w", "resources": {"limits": {GPU: "2"}}}]}}
    head = {"spec": {"containers": [{"name": "h"}]}}
    group = {"groupName": "w", "replicas": 2, "minReplicas": 0, "maxReplicas": 2}
    inner = {
        "headGroupSpec": {"template": head, "rayStartParams": {}},
        "workerGroupSpecs": [{**group, "rayStartParams": {}, "template": worker}],
    }
    ray = {**a_job(), "apiVersion": "ray.io/v1", "kind": "RayJob",
           "spec": {"suspend": True, "rayClusterSpec": inner}}  # fmt: skip
    pod = {"schedulingGates": [{"name": "evenshare.io/admission"}]}
    for before in (a_job(), a_job(pod=pod), ray):
        runs = shaping.started(before, ORDERS)
        schemas.check(runs)
        schemas.check(shaping.stopped(runs))
    schemas.check(shaping.shrunk(a_job(), 1))


plain = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(("", "x")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from("abc"), plain).map(
    lambda body: {"metadata": {"uid": "u", "resourceVersion": "7"}, **_without_none(body)}
)


def _without_none(value: Any) -> Any:
    """As an API server shows it: fields that are not there are not null."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_none(inner) for inner in value if inner is not None]
    return value


@given(objects, objects)
def test_the_patch_of_two_objects_makes_the_second_of_the_first(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    change = shaping.patch(before, after, fence=3)
    assert change["metadata"]["uid"] == "u"
    assert change["metadata"]["resourceVersion"] == "7"
    made = applied(before, change)
    assert made["metadata"].pop("annotations") == {"evenshare.io/fence": "3"}
    # An empty object in the place of another is no change a merge patch can make.
    assert _trimmed(made) == _trimmed(after)


def _trimmed(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _trimmed(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if inner != {}}
    return value


@given(objects, objects)
def test_what_is_said_to_change_is_all_that_changes(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    told = {change.field: (change.was, change.now) for change in shaping.changes(before, after)}
    assert bool(told) == (before != after)
    assert all(was != now for was, now in told.values())


@pytest.mark.parametrize(
    ("parallelism", "completions", "count"), [(2, 2, 4), (4, 2, 4), (2, None, 4), (2, 9, 4)]
)
def test_devices_of_a_job_are_those_of_what_may_run_at_once(
    parallelism: int, completions: int | None, count: int
) -> None:
    asked = a_job(parallelism=parallelism, completions=completions)
    assert shaping.devices(asked, GPU) == count


def _fields(orders: Orders) -> dict[str, Any]:
    return {name: getattr(orders, name) for name in Orders.__dataclass_fields__}
