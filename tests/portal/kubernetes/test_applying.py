"""Writes go out a few at a time, what shrinks before what grows, and every answer is told in order."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.common.leases import Fenced
from portal.kubernetes import applying
from portal.kubernetes.applying import Outcome
from portal.kubernetes.diff import Change, Write
from portal.kubernetes.port import (
    ClusterError,
    FieldConflict,
    Manifest,
    NotFound,
    Refused,
    StaleVersion,
    Unreachable,
)

KEY = "spec.hard[requests.nvidia.com/gpu]"
CAPACITY = 16


class Cluster:
    """Takes writes, keeps hard figures, and answers as it is told."""

    def __init__(self, hard: dict[str, int] | None = None, seconds: float = 0.0) -> None:
        self.hard = dict(hard or {})
        self.most = sum(self.hard.values())
        self.asked: list[str] = []
        self.under_way, self.most_under_way = 0, 0
        self.answers: dict[str, Exception] = {}
        self._seconds = seconds
        self._lock = threading.Lock()

    def apply(self, manifest: Manifest, **_how: Any) -> Manifest:
        """Take a write."""
        name = manifest["metadata"]["name"]
        with self._lock:
            self.asked.append(name)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        time.sleep(self._seconds)
        with self._lock:
            self.under_way -= 1
            if name in self.answers:
                raise self.answers[name]
            self.hard[name] = int(manifest["spec"]["hard"])
            self.most = max(self.most, sum(self.hard.values()))
        return manifest

    def get(self, _kind: str, _namespace: str, name: str) -> Manifest:
        """Nothing is there to look at again."""
        raise NotFound(name)


def a_write(name: str, was: int, now: int, kind: str = "ResourceQuota") -> Write:
    """A quota from so many devices to so many."""
    manifest = {"kind": kind, "metadata": {"name": name}, "spec": {"hard": str(now)}}
    return Write(manifest, "1", (Change(KEY, str(was), str(now)),))


def send(
    cluster: Cluster,
    writes: list[Write],
    writers: int = 4,
    check: Callable[[], None] = lambda: None,
) -> Outcome:
    """Apply the writes."""
    outcome = Outcome()
    applying.apply(
        cluster,  # type: ignore[arg-type]  # it needs two verbs only
        writes, outcome, fence=1, writers=writers, check=check,
    )  # fmt: skip
    return outcome


def names(writes: list[Write]) -> list[str]:
    """Their names."""
    return [write.name for write in writes]


def test_several_are_on_their_way_at_once_and_never_more_than_told() -> None:
    cluster = Cluster(seconds=0.01)
    writes = [a_write(f"q{number}", 0, 1) for number in range(12)]
    outcome = send(cluster, writes, writers=3)
    assert cluster.most_under_way == 3
    assert names(outcome.done) == names(writes)


def test_one_writer_writes_in_the_callers_own_thread() -> None:
    cluster, seen = Cluster(), []
    real = cluster.apply

    def apply(manifest: Manifest, **how: Any) -> Manifest:
        seen.append(threading.current_thread())
        return real(manifest, **how)

    cluster.apply = apply  # type: ignore[method-assign]
    send(cluster, [a_write("a", 0, 1), a_write("b", 0, 1)], writers=1)
    assert set(seen) == {threading.current_thread()}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=12),
    st.integers(1, 5),
)
def test_the_sum_is_never_above_what_it_was_and_what_it_shall_be(
    figures: list[tuple[int, int]], writers: int
) -> None:
    before = {f"q{number}": was for number, (was, _now) in enumerate(figures)}
    cluster = Cluster(before)
    send(cluster, [a_write(f"q{n}", was, now) for n, (was, now) in enumerate(figures)], writers)
    assert cluster.hard == {f"q{number}": now for number, (_was, now) in enumerate(figures)}
    assert cluster.most <= max(sum(before.values()), sum(cluster.hard.values()))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([None, Refused("no"), StaleVersion("moved")]), max_size=12))
def test_one_that_is_refused_stops_no_other_and_answers_stand_in_the_planned_order(
    answers: list[ClusterError | None],
) -> None:
    cluster = Cluster()
    writes = [a_write(f"q{number:02}", 0, 1) for number in range(len(answers))]
    told = zip(writes, answers, strict=True)
    cluster.answers = {write.name: error for write, error in told if error is not None}
    outcome = send(cluster, writes)
    assert sorted(cluster.asked) == names(writes)
    assert names(outcome.done) == [n for n in names(writes) if n not in cluster.answers]
    assert [line.split(": ")[0] for line in outcome.refused] == [
        f"ResourceQuota /{name}" for name in sorted(cluster.answers)
    ]
    assert outcome.failure == ""


def test_classes_come_before_quotas_and_labels_that_let_pods_in_after_them() -> None:
    writes = [
        a_write("label", 0, 0, "Namespace"), a_write("grows", 0, 1), a_write("shrinks", 1, 0),
        a_write("class", 0, 0, "PriorityClass"), a_write("node", 0, 0, "Node"),
    ]  # fmt: skip
    assert [names(part) for part in applying.stages(writes)] == [
        ["class"], ["node"], ["shrinks"], ["grows"], ["label"]
    ]  # fmt: skip


@pytest.mark.parametrize("writers", [1, 4])
def test_a_cluster_that_answers_no_more_is_asked_no_more(writers: int) -> None:
    cluster = Cluster(seconds=0.005)
    cluster.answers = {"q2": Unreachable("no answer")}
    writes = [a_write(f"q{number}", 0, 1) for number in range(30)]
    outcome = send(cluster, writes, writers)
    assert outcome.failure == "no answer"
    assert len(cluster.asked) <= 3 + 2 * writers
    assert names(outcome.done) == [name for name in names(writes) if name in cluster.hard]


@pytest.mark.parametrize("writers", [1, 4])
def test_the_lease_is_looked_at_before_every_write_and_none_is_begun_without_it(
    writers: int,
) -> None:
    cluster, checks = Cluster(), []

    def check() -> None:
        checks.append(len(cluster.asked))
        if len(checks) == 6:
            raise Fenced("somebody else took it")

    outcome = Outcome()
    writes = [a_write(f"q{number}", 0, 1) for number in range(9)]
    with pytest.raises(Fenced):
        applying.apply(
            cluster,  # type: ignore[arg-type]  # it needs two verbs only
            writes, outcome, fence=1, writers=writers, check=check,
        )  # fmt: skip
    assert names(outcome.done) == names(writes[:5])
    assert len(cluster.asked) == 5


def test_a_conflict_says_whose_the_field_is() -> None:
    cluster = Cluster()
    cluster.answers = {"a": FieldConflict("conflict", {"spec.hard": "argocd"})}
    outcome = send(cluster, [a_write("a", 0, 1)])
    assert [(drift.name, drift.field, drift.manager) for drift in outcome.drifts] == [
        ("a", "spec.hard", "argocd")
    ]


def test_a_fault_of_our_own_is_raised_after_the_others_were_told() -> None:
    cluster = Cluster()
    cluster.answers = {"q1": ZeroDivisionError()}
    writes = [a_write(f"q{number}", 0, 1) for number in range(3)]
    with pytest.raises(ZeroDivisionError):
        send(cluster, writes)
    assert sorted(cluster.asked) == names(writes)
