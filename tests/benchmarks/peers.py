"""Simulators by others on the same work, beside ours: `python -m tests.benchmarks.peers`.

The work is the Philly sample, 5,000 jobs on 512 pooled GPUs. The peers are fetched by whoever runs
this, each into a folder that an option or an environment variable names:

- AccaSim (MIT): `pip install --target FOLDER accasim`; `--accasim FOLDER` or `BENCH_ACCASIM`. It
  reads the sample as SWF.
- Alibaba's simulator for the PAI trace (`alibaba/clusterdata`, `cluster-trace-gpu-v2020/simulator`):
  `--pai FOLDER` or `BENCH_PAI`. It needs numpy and matplotlib, which AccaSim's folder has too.

One whose folder is not named is skipped by name. CPU seconds are those of simulating alone.
"""

import argparse
import collections
import collections.abc
import csv
import importlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scheduler_core.traces import Job
from tests.benchmarks import replay, rows
from tests.benchmarks.rows import Done, watching

GPUS = 512
FOLDERS = {"accasim": "BENCH_ACCASIM", "pai": "BENCH_PAI"}
"""The option of each peer, and the variable that may stand in for it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the peers' folders."""
    for name, variable in FOLDERS.items():
        parser.add_argument(
            f"--{name}", metavar="FOLDER", default=os.environ.get(variable), help="where it stands"
        )


def table(arguments: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield ours and the peers' rows on the same work, and by name what is skipped."""
    for name in BENCHES:
        needed = next((peer for peer in FOLDERS if peer in name.lower()), None)
        folder = getattr(arguments, needed) if needed else ""
        if arguments.only not in name:
            continue
        if needed and not folder:
            told = f"skipped: --{needed} or {FOLDERS[needed]} names no folder"
            yield (name, "", "", "", told, "")
            continue
        if needed:
            os.environ[FOLDERS[needed]] = folder
        yield rows.run("tests.benchmarks.peers", name)


def _ours(order: str, head_blocks: bool) -> Done:
    done = replay.pooled("fifo_strict" if head_blocks and order == "fifo" else order)
    return Done(done.seconds, done.decisions, done.found)


def _found(jobs: int, seconds: float, wait: float) -> str:
    return f"{jobs / seconds:,.0f} jobs/s, wait {wait:.2f} s"


def _accasim(dispatcher: str) -> Done:
    """AccaSim with one of its dispatchers: the head of the queue blocks."""
    jobs = replay.jobs_of(replay.SAMPLE)
    sys.path.append(os.environ[FOLDERS["accasim"]])
    # It was written for Pythons in which this name still stood here.
    vars(collections)["Mapping"] = collections.abc.Mapping
    logging.disable(logging.CRITICAL)
    simulating: Any = importlib.import_module("accasim.base.simulator_class")
    schedulers: Any = importlib.import_module("accasim.base.scheduler_class")
    allocators: Any = importlib.import_module("accasim.base.allocator_class")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "system.json").write_text(json.dumps(SYSTEM))
        _write_swf(jobs, folder / "sample.swf")
        simulator = simulating.Simulator(
            str(folder / "sample.swf"),
            str(folder / "system.json"),
            getattr(schedulers, dispatcher)(allocators.FirstFit()),
            scheduling_output=False,
            statistics_output=False,
            show_statistics=False,
            RESULTS_FOLDER_PATH=name,
        )
        with watching() as watch:
            simulator.start_simulation()
    waits = simulator.mapper.wtimes
    wait = sum(waits) / len(waits)
    return Done(watch.seconds, 2 * len(jobs), _found(len(jobs), watch.seconds, wait))


SYSTEM = {
    "groups": {"node": {"core": 8, "mem": 1_000_000}},
    "resources": {"node": GPUS // 8},
    "equivalence": {"processor": {"core": 1}},
    "start_time": 0,
}
"""64 nodes of 8; a job of n takes n processors wherever they are, so they are pooled."""


def _write_swf(jobs: Sequence[Job], path: Path) -> None:
    lines = ["; UnixStartTime: 0"]
    for number, job in enumerate(jobs, start=1):
        gpus = job.total_gpu_milli // 1000
        lines.append(
            f"{number} {job.submitted_at} -1 {job.duration_seconds} {gpus} -1 -1 {gpus} "
            f"{job.duration_seconds} -1 1 1 1 1 1 -1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")


def _pai(policy: int) -> Done:
    """Alibaba's simulator on one big node; what does not fit is skipped."""
    jobs = replay.jobs_of(replay.SAMPLE)
    sys.path += [os.environ[FOLDERS["pai"]], os.environ.get(FOLDERS["accasim"], "")]
    logging.disable(logging.CRITICAL)
    simulating: Any = importlib.import_module("simulator")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "jobs.csv"
        _write_pai(jobs, path)
        simulator = simulating.Simulator(
            csv_file=path,
            alloc_policy=policy,
            preempt_policy=2,
            sort_node_policy=3,
            num_nodes=1,
            max_time=10**9,
            num_spare_node=0,
            pattern=0,
            num_gpus=GPUS,
            num_cpus=24 * GPUS,
            arrival_rate=-1,
            num_jobs_limit=len(jobs),
        )
        with watching() as watch:
            ((_, _, wait, _),) = simulator.simulator_go(repeat=1)
    return Done(watch.seconds, 2 * len(jobs), _found(len(jobs), watch.seconds, wait))


def _write_pai(jobs: Sequence[Job], path: Path) -> None:
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        columns = "job_id user submit_time duration num_inst num_gpu num_cpu gpu_type"
        table.writerow(columns.split())
        for number, job in enumerate(jobs):
            gpus = job.total_gpu_milli // 1000
            cells = (number, "u", job.submitted_at, job.duration_seconds, 1, gpus, 0, "MISC")
            table.writerow(cells)


BENCHES: dict[str, Callable[[], Done]] = {
    "ours: sample, FIFO, head blocks": partial(_ours, "fifo", True),
    "AccaSim: sample, FIFO, head blocks": partial(_accasim, "FirstInFirstOut"),
    "ours: sample, FIFO, skipping": partial(_ours, "fifo", False),
    "PAI simulator: sample, FIFO, skipping": partial(_pai, 8),
    "ours: sample, SJF, skipping": partial(_ours, "sjf", False),
    "PAI simulator: sample, SJF, skipping": partial(_pai, 0),
}


def main() -> None:
    """Run one row, or print the table of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", choices=BENCHES, help="run this one here and print it as JSON")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names hold this")
    add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.row:
        rows.tell(BENCHES[arguments.row]())
    else:
        rows.show(table(arguments))


if __name__ == "__main__":
    main()
