"""Whatever happens in the simulated cluster, these hold."""

import sqlite3
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kubernetes import manifests, quantities
from portal.kubernetes.manifests import Target
from portal.kubernetes.port import MANAGER
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.kubernetes.simulated.records import Entry
from scheduler_core.traces import Job
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes

HOURS = 12


@st.composite
def traces(draw: st.DrawFn) -> tuple[Job, ...]:
    """Up to 40 jobs of two teams within half a day, of all sizes up to a gang of two nodes."""
    jobs = []
    for number in range(draw(st.integers(1, 40))):
        model = draw(st.sampled_from([(), ("A100",), ("T4",)]))
        jobs.append(
            Job(
                id=str(number),
                submitted_at=draw(st.integers(0, HOURS * 3600)),
                duration_seconds=draw(st.integers(60, 4 * 3600)),
                gpu_milli=1000 * draw(st.sampled_from([1, 1, 2, 4, 8, 16])),
                team=draw(st.sampled_from(world.TEAMS)),
                gpu_models=model,
            )
        )
    return tuple(jobs)


def a_busy_port(folder: str, jobs: tuple[Job, ...], seed: int) -> SimulatedCluster:
    """A cluster that loses a node every few hours, its teams allowed more than there is."""
    port = world.a_port(Path(folder), world.a_plan(jobs, seed=seed, node_life=8 * 3600))
    for team in world.TEAMS:
        allow_both(port, team, a100=(8, 10), t4=(4, 4))
    return port


def allow_both(
    port: SimulatedCluster, team: str, a100: tuple[int, int], t4: tuple[int, int]
) -> None:
    """Write a namespace's quotas of both pools: guaranteed and burst."""
    targets = {"a100": Target(*a100, sum(a100)), "t4": Target(*t4, sum(t4))}
    for quota in manifests.quotas(team, targets, world.POOLS, [world.GPU]):
        port.apply(quota, manager=MANAGER)


def used_and_hard(port: SimulatedCluster) -> dict[tuple[str, str], tuple[int, int]]:
    """Used and hard devices of every quota."""
    found = {}
    for item in port.quotas().items:
        (hard,), (used,) = item["status"]["hard"].values(), item["status"]["used"].values()
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        found[key] = (quantities.devices(used), quantities.devices(hard))
    return found


def overlaps(entries: list[Entry]) -> list[tuple[str, int]]:
    """Devices that two pods held at once."""
    held: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for entry in entries:
        for device in entry.devices:
            held[entry.node, device].append((entry.from_s, entry.to_s))
    found: list[tuple[str, int]] = []
    for place, spans in held.items():
        spans.sort()
        if any(end > start for (_, end), (start, _) in pairwise(spans)):
            found.append(place)
    return found


@given(traces(), st.integers(0, 1000), st.integers(1, 90))
def test_no_quota_is_exceeded_and_no_device_held_twice(
    jobs: tuple[Job, ...], seed: int, step: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        port = a_busy_port(folder, jobs, seed)
        for number in range(1, 24 * 60 // step):
            port.advance(START + minutes(number * step))
            assert all(used <= hard for used, hard in used_and_hard(port).values())
        books = port.books()
        assert overlaps(books) == []
        gpus = {"big-0": 8, "big-1": 8, "small-0": 4, "small-1": 4}
        assert all(max(entry.devices) < gpus[entry.node] for entry in books)
        port.close()


@given(traces(), st.integers(0, 1000), st.lists(st.integers(0, 12), min_size=4, max_size=12))
def test_a_shrunk_quota_evicts_nobody_and_lets_nobody_in_until_it_has_room(
    jobs: tuple[Job, ...], seed: int, figures: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        port = a_busy_port(folder, jobs, seed)
        before: dict[tuple[str, str], tuple[int, int]] = {}
        for number, figure in enumerate(figures):
            port.advance(START + minutes(60 * (number + 1)))
            for key, (used, hard) in used_and_hard(port).items():
                assert used <= max(hard, before.get(key, (0, 0))[0])
            allow_both(port, "vision", a100=(figure, figure), t4=(figure // 2, figure // 3))
            before = used_and_hard(port)
        port.close()


@given(traces(), st.integers(0, 1000), st.lists(st.integers(1, 7200), max_size=30), st.booleans())
def test_steps_and_restarts_do_not_change_what_happens(
    jobs: tuple[Job, ...], seed: int, steps: list[int], restart: bool
) -> None:
    end = START + minutes(HOURS * 60 + 240)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        at_once, bit_by_bit = a_busy_port(one, jobs, seed), a_busy_port(other, jobs, seed)
        at_once.advance(end)
        now = START
        for seconds in steps:
            now = min(end, now + minutes(seconds / 60))
            bit_by_bit.advance(now)
            if restart:
                bit_by_bit.close()
                bit_by_bit = SimulatedCluster(Path(other) / "lab.cluster")
        bit_by_bit.advance(end)
        assert bit_by_bit.books() == at_once.books()
        at_once.close()
        bit_by_bit.close()


def test_the_books_refuse_to_be_changed(folder: Path) -> None:
    port = world.a_port(folder)
    world.allow(port, "vision", guaranteed=8, burst=0)
    port.submit(world.a_spec("short", work=60))
    port.advance(START + minutes(5))
    connection = sqlite3.connect(folder / "lab.cluster")
    for attempt in ("UPDATE books SET to_s = to_s + 1", "DELETE FROM books"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(attempt)
    connection.close()
    assert len(port.books()) == 1


def test_a_step_that_fails_half_way_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = world.a_port(folder)
    world.allow(port, "vision", guaranteed=8, burst=0)
    port.submit(world.a_spec("train"))
    before = port.pods()

    def fail(*_: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("portal.kubernetes.simulated.lifecycle.finish", fail)
        with pytest.raises(RuntimeError):
            port.advance(START + minutes(120))
    assert port.clock == START
    assert port.pods() == before
    port.advance(START + minutes(120))
    assert len(port.books()) == 1
