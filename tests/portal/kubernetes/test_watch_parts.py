"""The parts of a watcher by themselves: what is kept of an object, what counts as known, patience."""

import gzip
import json
import random
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kubernetes import reach, reading
from portal.kubernetes.port import Listing
from portal.kubernetes.reading import Read
from portal.kubernetes.watching import trimming
from portal.kubernetes.watching.source import Subject
from portal.kubernetes.watching.store import Store
from portal.kubernetes.watching.streams import LONGEST_WAIT, Patience
from tests.api_server import controllers
from tests.api_server import store as fake
from tests.portal.kubernetes import recorded, watched

GPU = watched.GPU
PODS, JOBS = Subject("Pod"), Subject("Job")
EMPTY = Listing((), "")


def a_history() -> list[tuple[Subject, str, dict[str, Any]]]:
    """Everything that happened in a small cluster, line by line."""
    server = fake.Store()
    controllers.add_namespace(server, "vision", "vision")
    controllers.add_node(server, "node-0", {GPU: 8}, "a100")
    for number in range(3):
        watched.submit(server, f"job-{number}", tasks=2)
    watched.bare(server, "alone")
    controllers.settle(server)
    pods = server.all("Pod")
    controllers.finish(server, pods[0])
    server.delete(controllers.at("Job", "job-1", "vision"))
    controllers.settle(server)
    watched.submit(server, "job-1", tasks=1)
    controllers.settle(server)
    return [
        (Subject(one.kind), one.type, one.item)
        for one in server.log
        if one.kind in ("Pod", "Job", "Node")
    ]


HISTORY = a_history()


def tell(store: Store, subject: Subject, kind: str, item: dict[str, Any]) -> None:
    """One line."""
    if kind == "DELETED":
        store.remove(subject, item, None)
    else:
        store.put(subject, item)


def known(store: Store) -> list[str]:
    """What is there."""
    shelves = (store.nodes, store.owners, store.pods)
    return sorted(json.dumps(item, sort_keys=True) for shelf in shelves for item in shelf.values())


def read(store: Store) -> list[Any]:
    """Every job as rows would have it."""
    found = store.families(store.roots())
    return sorted(reading.workloads(found.read, {GPU}), key=lambda one: one.uid)


@given(st.randoms(use_true_random=False))
def test_lines_of_several_streams_in_any_order_and_told_twice_end_in_one_state(
    chance: random.Random,
) -> None:
    straight, crooked = Store(), Store()
    for line in HISTORY:
        tell(straight, *line)
    # Each stream keeps its own order; between streams there is none, and any line may come again.
    streams = {s: [line for line in HISTORY if line[0] == s] for s, _, _ in HISTORY}
    places = dict.fromkeys(streams, 0)
    while any(places[s] < len(lines) for s, lines in streams.items()):
        subject = chance.choice([s for s, lines in streams.items() if places[s] < len(lines)])
        tell(crooked, *streams[subject][places[subject]])
        places[subject] += 1
        if chance.random() < 0.3:
            tell(crooked, *streams[subject][chance.randrange(places[subject])])
    assert known(crooked) == known(straight)
    assert read(crooked) == read(straight)
    assert {crooked.root(uid) for uid in crooked.pods} == {
        straight.root(uid) for uid in straight.pods
    }


@given(st.integers(0, len(HISTORY)), st.integers(0, 3))
def test_a_list_brings_a_store_that_missed_lines_where_one_is_that_heard_them(
    heard: int, page: int
) -> None:
    whole, deaf = Store(), Store()
    for line in HISTORY:
        tell(whole, *line)
    for line in HISTORY[:heard]:
        tell(deaf, *line)
    last = HISTORY[-1][2]["metadata"]["resourceVersion"]
    for subject in {line[0] for line in HISTORY}:
        now = [
            item
            for kind, shelf in (("Pod", whole.pods), ("Job", whole.owners), ("Node", whole.nodes))
            for item in shelf.values()
            if kind == subject.kind
        ]
        deaf.begin(subject)
        for first in range(0, len(now), page + 1):
            deaf.listed(subject, now[first : first + page + 1], last)
        deaf.end(subject)
    assert {known(deaf)[i] for i in range(len(known(deaf)))} == set(known(whole))


def test_what_was_told_is_forgotten_once_its_rows_are_in_step() -> None:
    store = Store()
    for line in HISTORY:
        tell(store, *line)
    roots = store.take()
    assert set(roots) >= store.roots()
    store.settled(roots)
    assert list(store.families(store.roots()).read.pods.deleted) == []
    # A late line about one that is long gone brings nothing back.
    before = known(store)
    for subject, kind, item in HISTORY:
        if kind != "DELETED":
            tell(store, subject, kind, item)
    assert known(store) == before


def test_what_came_and_went_leaves_nothing_behind() -> None:
    server, store = fake.Store(), Store()
    controllers.add_namespace(server, "vision", "vision")
    controllers.add_node(server, "node-0", {GPU: 8}, "a100")
    told, sizes = server.version, []
    for number in range(40):
        watched.submit(server, f"job-{number}", tasks=2)
        watched.submit(server, f"wide-{number}", gpus=16)
        controllers.settle(server)
        if number % 2:
            for pod in server.all("Pod")[:2]:
                controllers.finish(server, pod)
        for job in server.all("Job"):
            server.delete(controllers.of(job))
        controllers.settle(server)
        for one in server.since(told):
            tell(store, Subject(one.kind), one.type, one.item)
        told = server.version
        store.settled(store.take())
        sizes.append(sum(len(getattr(store, name)) for name in SHELVES))
    assert sizes[-1] == sizes[0]


SHELVES = ("nodes", "owners", "pods", "fillers", "_gone", "_versions", "_above", "_below", "dirty",
           "moved")  # fmt: skip


def test_a_list_that_is_behind_what_was_heard_takes_nothing_away() -> None:
    store = Store()
    for line in HISTORY:
        tell(store, *line)
    before = known(store)
    for subject in (PODS, JOBS):
        store.begin(subject)
        store.listed(subject, [], "1")
        store.end(subject)
    assert known(store) == before


# -- trimming ------------------------------------------------------------------------------------


def samples() -> Iterator[dict[str, Any]]:
    """Objects of a real server, whole."""
    told = [e["response"]["body"] for e in recorded.all_exchanges()]
    told += [e["response"]["body"] for e in recorded.exchanges("pool-quota-exchanges")]
    for body in told:
        for item in body.get("items") or [body] if isinstance(body, dict) else []:
            if item.get("kind") in ("Pod", "Job") and "uid" in item.get("metadata", {}):
                yield item


def unschedulable() -> Iterator[dict[str, Any]]:
    """Pods a real scheduler had a reason for each to leave waiting."""
    path = recorded.DATA / "unschedulable-pods.json.gz"
    for number, entry in enumerate(json.loads(gzip.decompress(path.read_bytes()))["pods"]):
        pod = entry["pod"]
        about = {
            "uid": str(number),
            "resourceVersion": "1",
            "creationTimestamp": "2026-11-30T18:00:00Z",
        }
        status = {"phase": "Pending", "conditions": [entry["condition"]]}
        yield {"kind": "Pod", **pod, "metadata": {**pod["metadata"], **about}, "status": status}


def looks(item: dict[str, Any], kept: Any) -> tuple[Any, Any]:
    """How an object reads whole and trimmed."""
    nodes = Listing(tuple(n for s, _, n in HISTORY if s.kind == "Node"), "")
    answers = []
    for one in (item, kept):
        pods, owners = ((one,), ()) if one["kind"] == "Pod" else ((), (one,))
        found = Read(nodes, Listing(owners, ""), Listing(pods, ""), EMPTY, "")
        answers.append(reading.workloads(found, {GPU}, reach.room(nodes, Listing(pods, ""))))
    return answers[0], answers[1]


def test_whatever_is_read_of_an_object_is_kept() -> None:
    count = 0
    for item in [
        *samples(),
        *unschedulable(),
        *(dict(item) for s, _, item in HISTORY if s.kind != "Node"),
    ]:
        whole = deepcopy(item)
        whole.setdefault("apiVersion", "v1")
        count += 1
        seen, again = looks(whole, trimming.trimmed(whole))
        assert again == seen
    assert count > 20


def test_a_kept_pod_is_a_fraction_of_what_the_server_sends() -> None:
    sizes = [
        (len(json.dumps(item)), len(json.dumps(trimming.trimmed(item))))
        for item in samples()
        if item["kind"] == "Pod"
    ]
    assert sizes
    assert sum(kept for _, kept in sizes) < 0.6 * sum(whole for whole, _ in sizes)


def test_a_pod_without_devices_is_only_what_it_takes_of_its_node() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
    metadata = {"uid": "u", "name": "p", "namespace": "n", "resourceVersion": "1"}
    pod = {
        "kind": "Pod", "metadata": metadata, "status": {"phase": "Running"},
        "spec": {"nodeName": "node-0", "containers": [container, container]},
    }  # fmt: skip
    store = Store()
    store.put(PODS, pod)
    assert (store.pods, store.dirty) == ({}, set())
    [filler] = store.fillers.values()
    assert reach.need(filler["spec"]).cpu_milli == 4000
    ended = {**pod, "metadata": {**metadata, "resourceVersion": "2"}, "status": {"phase": "Failed"}}
    store.put(PODS, ended)
    assert store.fillers == {}


# -- patience ------------------------------------------------------------------------------------


def test_waiting_grows_up_to_a_limit_and_is_never_the_same_for_two() -> None:
    one, other = Patience(random.Random(1)), Patience(random.Random(2))
    waits = [(one.next(), other.next()) for _ in range(20)]
    assert all(a != b for a, b in waits)
    assert waits[0][0] < 0.5
    assert LONGEST_WAIT / 2 <= waits[-1][0] <= LONGEST_WAIT
    one.calm()
    assert one.next() < 0.5


@pytest.mark.parametrize("seconds", [1, 17])
def test_a_server_that_asks_for_patience_is_left_alone_for_as_long(seconds: int) -> None:
    patience = Patience(random.Random(1))
    assert all(patience.next(seconds) >= seconds for _ in range(9))


def test_a_deleted_job_that_tells_no_time_ends_when_we_heard_of_it() -> None:
    store, at = Store(), datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
    [job] = [item for s, kind, item in HISTORY if s == JOBS and kind == "ADDED"][:1]
    store.put(JOBS, job)
    store.remove(JOBS, job, at)
    [seen] = read(store)
    assert (seen.ended, seen.ended_at) == ("cancelled", at)
