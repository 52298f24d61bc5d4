"""Documents are read back unchanged, and every bad one is refused with a path."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core import document
from scheduler_core.model import Snapshot
from scheduler_core.testing import NOW, node, running, snapshot, snapshots, waiting

GOOD = document.snapshot_to_json(
    snapshot(
        [node("n1"), node("n2")],
        {"a": 4000, "b": 2000},
        [running("r", "a", "n1", [0, 1]), waiting("w", "b", 2000)],
    )
)


def changed(path: list[Any], value: object) -> dict[str, Any]:
    result: dict[str, Any] = copy.deepcopy(GOOD)
    target: Any = result
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return result


RESERVATION = {"id": "r-1", "team": "a", "pool": "p", "gpu_milli": 1, "starts_at": 1, "ends_at": 9}

REFUSED = [
    (["nothing"], 1, "nothing: is not a known key"),
    (["schema"], 2, "schema: must be 1"),
    (["now"], "today", "now: must be a whole number"),
    (["now"], True, "now: must be a whole number"),
    (["workloads", 1, "tasks"], 0, "workloads[1].tasks: must be at least 1"),
    (["workloads", 1, "team"], "x", "workloads[1].team: unknown team x"),
    (["workloads", 1, "pool"], "x", "workloads[1].pool: unknown pool x"),
    (["workloads", 1, "kind"], "x", "workloads[1].kind: must be one of"),
    (["workloads", 1, "id"], "r", "workloads[1].id: r is there twice"),
    (["workloads", 1, "min_tasks"], 2, "workloads[1].min_tasks: must be at most tasks"),
    (["workloads", 1, "reservation"], "x", "workloads[1].reservation: unknown reservation x"),
    (["workloads", 1, "per_task", "gpu_milli"], 1500, "workloads[1].per_task.gpu_milli: above"),
    (["workloads", 1, "per_task", "cpu_milli"], -1, "workloads[1].per_task.cpu_milli: must be at"),
    (["workloads", 0, "running", "started_at"], NOW + 1, "workloads[0].running.started_at: must"),
    (
        ["workloads", 0, "running", "placements", 0, "node"],
        "x",
        "workloads[0].running.placements[0].node: unknown node x",
    ),
    (
        ["workloads", 0, "running", "placements", 0, "gpus"],
        [[0, 1000]],
        "workloads[0].running.placements[0].gpus: must sum",
    ),
    (
        ["workloads", 0, "running", "placements", 0, "gpus"],
        [[0, 1000], [0, 1000]],
        "workloads[0].running.placements[0].gpus[1]: fills the device above 1000",
    ),
    (
        ["workloads", 0, "running", "placements", 0, "gpus"],
        [[0, 1000], [8, 1000]],
        "workloads[0].running.placements[0].gpus[1][0]: n1 has 8 devices",
    ),
    (["teams", 1, "name"], "a", "teams[1].name: a is there twice"),
    (["teams", 1, "parent"], "x", "teams[1].parent: unknown team x"),
    (["teams", 1, "parent"], "b", "teams[1].parent: leads round in a circle"),
    (["quotas", 1, "team"], "a", "quotas[1]: a in p is there twice"),
    (["quotas", 0, "limit"], 3000, "quotas[0].guaranteed: must be at most the limit"),
    (["nodes", 1, "name"], "n1", "nodes[1].name: n1 is there twice"),
    (["nodes", 1, "pool"], "x", "nodes[1].pool: unknown pool x"),
    (["reservations"], [{**RESERVATION, "ends_at": 1}], "reservations[0].starts_at: must be"),
    (["reservations"], [RESERVATION, RESERVATION], "reservations[1].id: r-1 is there twice"),
    (["maintenance"], [{"node": "x", "starts_at": 1, "ends_at": 2}], "maintenance[0].node: unk"),
    (["policy", "order"], "x", "policy.order: must be one of"),
    (["policy", "preemption", "strategies"], ["x"], "policy.preemption.strategies[0]: must be"),
]


class TestRefusals:
    @pytest.mark.parametrize(("path", "value", "problem"), REFUSED, ids=lambda one: str(one)[:60])
    def test_name_the_path_and_the_problem(
        self, path: list[Any], value: object, problem: str
    ) -> None:
        with pytest.raises(document.Fault) as caught:
            document.parse_snapshot(changed(path, value))
        assert str(caught.value).startswith(problem)

    @pytest.mark.parametrize("key", ["now", "teams", "pools", "quotas", "nodes", "workloads"])
    def test_name_a_key_that_is_missing(self, key: str) -> None:
        bad = {name: value for name, value in GOOD.items() if name != key}
        with pytest.raises(document.Fault, match=f"^{key}: is required$"):
            document.parse_snapshot(bad)

    def test_catch_work_whose_team_is_not_its_reservations(self) -> None:
        bad = changed(["reservations"], [RESERVATION])
        bad["workloads"][1]["reservation"] = "r-1"
        with pytest.raises(document.Fault, match=r"^workloads\[1\]\.team: is not a"):
            document.parse_snapshot(bad)

    def test_catch_a_workload_on_two_pools(self) -> None:
        bad = copy.deepcopy(GOOD)
        bad["pools"].append({"name": "q"})
        bad["nodes"][1]["pool"] = "q"
        held = bad["workloads"][0]
        held["tasks"] = 2
        held["per_task"]["gpu_milli"] = 1000
        held["running"]["placements"] = [
            {"node": "n1", "tasks": 1, "gpus": [[0, 1000]]},
            {"node": "n2", "tasks": 1, "gpus": [[0, 1000]]},
        ]
        with pytest.raises(document.Fault, match=r"placements\[1\]\.node: is in q"):
            document.parse_snapshot(bad)


@given(snapshots())
def test_a_snapshot_is_read_back_unchanged(one: Snapshot) -> None:
    text = json.dumps(document.snapshot_to_json(one))
    assert document.parse_snapshot(json.loads(text)) == one


def fault_in(bad: object) -> document.Fault | None:
    try:
        document.parse_snapshot(bad)
    except document.Fault as fault:
        return fault
    return None


def paths(value: object, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    if isinstance(value, dict):
        for key, entry in value.items():
            found += paths(entry, (*here, key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            found += paths(entry, (*here, number))
    return found


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=3)
    | st.sampled_from(["a", "p", "n1", -1, 10**18]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@settings(max_examples=300)
@given(st.sampled_from(paths(GOOD)[1:]), JSON, st.booleans())
def test_a_damaged_document_is_read_or_refused_never_anything_else(
    path: tuple[Any, ...], value: object, drop: bool
) -> None:
    bad = copy.deepcopy(GOOD)
    target: Any = bad
    for step in path[:-1]:
        target = target[step]
    if drop:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    fault = fault_in(bad)
    assert fault is None or (fault.path and len(str(fault).splitlines()) == 1)
