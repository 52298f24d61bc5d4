"""Documents and traces spoilt at random, and what the command line must do with each.

Whatever it is given it answers, or ends with exit code 2 and one line that names the fault's path;
never a traceback, and never half an answer. The same seed gives the same runs.
"""

import contextlib
import copy
import gzip
import io
import json
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from scheduler_core import cli, model
from scheduler_core.traces import READERS

HERE = Path(__file__).parent
PATH = re.compile(r"\S.*: .+|is not JSON|is not UTF-8|must be an object")
"""A path inside the document, or that there is no document at all."""
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 999, 1000, 1001, 10**6, 10**15, 10**15 + 1, -(10**15)),
    *(10**30, 2**63, 2**64, 0.5, -0.5, 1e308, 1e-308, float("nan"), float("inf")),
    *("", " ", "a", "node", "0", "ü", "\u0000", "\ud800", "a" * 300, "w\nx", "__proto__"),
    *([], {}, [[]], [None], {"": 0}, [[0, 1000]], {"schema": 1}),
)
TRACES = {
    "openb": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p0,4000,1024,1,460,,LS,Running,0,500,0\np1,8000,1024,2,1000,A|B,BE,Running,10,90,30\n"
    "p2,100,1,0,0,,BE,Running,20,900,20\n",
    "pai": "job_id,user,submit_time,duration,num_inst,num_gpu,num_cpu,gpu_type\n"
    "j1,u7,100,360,2,0.5,6.0,V100\nj2,u8,200,60,1,1.5,4,MISC\n",
    "philly": "job_id,submit_s,duration_s,num_gpus,vc\n1,0,600,8,a\n2,5,60,1,b\n3,9,60,16,a\n",
    "helios": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
    "duration,queue\n1,u,vc1,16,64,2,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,"
    "2020-04-01 00:11:00,600,60\n",
    "itp": "job_id,submission_time,duration,num_gpu\na,2021-01-01 00:00:00,60,4\nb,70,10,1\n",
    "swf": "; Version: 2.2\n1 0 5 100 8 -1 -1 8 120 -1 1 3 1 1 0 -1 -1 -1\n"
    "2 10 -1 60 4 -1 -1 4 60 -1 1 4 1 1 0 -1 -1 -1\n",
    "sacct": "JobID|User|Account|Submit|Start|End|Elapsed|Timelimit|NNodes|ReqTRES|State\n"
    "17|minji|vision|2026-01-01T00:00:00|2026-01-01T00:05:00|2026-01-01T01:05:00|01:00:00|"
    "02:00:00|2|cpu=16,gres/gpu=8,mem=64G|COMPLETED\n",
    "evenshare": "id,team,user,kind,priority,preemptible,submitted_at,started_at,ran_seconds,"
    "estimate_seconds,tasks,gpu_milli,cpu_milli,memory_mib,gpu_models,pool,min_tasks,save_seconds,"
    "restore_seconds\nw1,t1,u1,training,5,true,100,160,720,360,2,4000,6400,1024,,,1,30,60\n"
    "w2,t2,,,-3,,130,,80,,,250,,,A|B,,,,\n",
}
NODES = {
    "openb": "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,A\nn1,96000,262144,8,B\n",
    "evenshare": "name,gpus,cpu_milli,memory_mib,gpu_model\nn1,8,64000,262144,A\nn2,4,9,9,B\n",
}
CELLS = (
    *("", "-1", "0", "1", "1e3", "1e99", "1e999", "nan", "1/3", "0x10", "9" * 40, "1.5", "8", "-0"),
    *("2026-01-01", "0001-01-01T00:00:00", "9999-12-31T23:59:59+14:00", "None", "²", "١٢", "true"),
    *("1-02:03:04", "99:99:99", "UNLIMITED", "gres/gpu=8,mem=4G", "mem=xG", '"', "a|b", "\x00"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """A subcommand, what stands on standard input, and files by the word that stands for them."""

    arguments: tuple[str, ...]
    stdin: bytes = b""
    files: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code (None: it raised), and what it wrote."""

    code: int | None
    out: str
    err: str


def runs(seed: int, count: int) -> Iterator[Run]:
    """Yield so many spoilt inputs; each is drawn by its own number, so any can be run alone."""
    for number in range(count):
        yield run_of(seed, number)


def run_of(seed: int, number: int) -> Run:
    """Return one spoilt input: half of them snapshots, the rest divisions and traces."""
    draw = Random(f"{seed}-{number}")
    kind = draw.choice(("plan", "plan", "plan", "divide", "replay", "replay"))
    return _traced(draw) if kind == "replay" else _documented(draw, kind)


def execute(run: Run) -> Ended:
    """Run it in this process, as `python -m scheduler_core` would."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(run.stdin), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        names = {word: str(Path(folder) / word) for word, _ in run.files}
        for word, content in run.files:
            Path(names[word]).write_bytes(content)
        arguments = [names.get(word, word) for word in run.arguments]
        with (
            mock.patch("sys.stdin", stdin),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                code: int | None = cli.main(arguments)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else None
            except Exception:  # noqa: BLE001 -- what a fuzz is for
                code = None
                err.write(traceback.format_exc())
    return Ended(code, out.getvalue(), err.getvalue())


def complaint(run: Run, ended: Ended) -> str:
    """Say how the end breaks the contract; empty when it keeps it."""
    if ended.code == 0:
        return _complaint_of_answer(run, ended)
    if ended.code != 2:
        return f"exit code {ended.code}: {ended.err}"
    if ended.out:
        return f"refused, yet answered {ended.out[:200]!r}"
    if ended.err.count("\n") != 1 or not ended.err.endswith("\n"):
        return f"not one line: {ended.err!r}"
    if run.arguments[0] != "replay" and not PATH.fullmatch(ended.err.strip("\n")):
        return f"names no path: {ended.err!r}"
    return ""


def _complaint_of_answer(run: Run, ended: Ended) -> str:
    try:
        ended.out.encode()
        for line in ended.out.splitlines() if "--lines" in run.arguments else [ended.out]:
            json.loads(line, parse_constant=_no_constant)
    except ValueError as why:
        return f"no JSON answer: {why}: {ended.out[:200]!r}"
    return ""


def _no_constant(word: str) -> object:
    raise ValueError(f"{word} is no JSON")


@cache
def _corpus(verb: str) -> tuple[str, ...]:
    cases = (json.loads(path.read_text()) for path in sorted(HERE.glob("conformance/*.json")))
    found = [json.dumps(case["input"]) for case in cases if case["verb"] == verb]
    if verb == "plan":
        found.append(json.dumps(WHOLE))
    return tuple(found)


def _documented(draw: Random, verb: str) -> Run:
    document = json.loads(draw.choice(_corpus(verb)))
    if verb == "plan" and draw.random() < 0.5:
        _vary_policy(document, draw)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        _spoil(document, draw)
    text = json.dumps(document, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    if draw.random() < 0.15:
        text = _bytes_spoilt(text, draw)
    lines = ("--lines",) if draw.random() < 0.2 else ()
    return Run((verb, *lines), text)


def _vary_policy(document: dict[str, Any], draw: Random) -> None:
    """Let other orders, placements and backfills meet the same faults."""
    policy = document.setdefault("policy", {})
    if isinstance(policy, dict):
        policy["order"] = draw.choice(model.ORDERS)
        policy["placement"] = draw.choice(model.PLACEMENT_NAMES)
        policy["backfill"] = draw.choice(model.BACKFILLS)
        policy["hybrid"] = draw.choice((None, {"high": 0.7, "low": 0.6, "mode": "spread"}))


def _spoil(document: Any, draw: Random) -> None:
    """Change one thing somewhere inside."""
    places = list(_places(document))
    if not places:
        return
    holder, key = draw.choice(places)
    change = draw.choice(CHANGES)
    change(holder, key, draw)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _odd(draw: Random) -> Any:
    """Return a value of its own, since what is put in may be spoilt in turn."""
    return copy.deepcopy(draw.choice(ODD))


def _replace(holder: Any, key: Any, draw: Random) -> None:
    holder[key] = _odd(draw)


def _nudge(holder: Any, key: Any, draw: Random) -> None:
    """Make a number another that may still be good."""
    value = holder[key]
    if type(value) is int:
        holder[key] = draw.choice(
            (value - 1, value + 1, -value, value * 1000, value // 2, 0, 10**9)
        )
    else:
        holder[key] = _odd(draw)


def _remove(holder: Any, key: Any, draw: Random) -> None:
    del holder[key]


def _repeat(holder: Any, key: Any, draw: Random) -> None:
    """Put the same thing there twice, or an unknown key beside it."""
    if isinstance(holder, list):
        holder.append(json.loads(json.dumps(holder[key])))
    else:
        holder[draw.choice(("nam\u00e9", "x y", "a\nb", "", "\ud801"))] = holder[key]


def _swap(holder: Any, key: Any, draw: Random) -> None:
    other = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


Change = Callable[[Any, Any, Random], None]
CHANGES: tuple[Change, ...] = (_replace, _nudge, _nudge, _remove, _repeat, _swap)


def _bytes_spoilt(text: bytes, draw: Random) -> bytes:
    """Cut, overwrite or wrap the bytes themselves."""
    place = draw.randrange(len(text) + 1)
    return draw.choice(
        (
            text[:place],
            text[:place] + draw.randbytes(3) + text[place:],
            text[:place] + bytes([draw.randrange(256)]) + text[place + 1 :],
            text + text,
            b"[" * 100_000,
            b"\xef\xbb\xbf" + text,
            text.decode("utf-8", "replace").encode("utf-16"),
            text.replace(b"1", b"1" * 5000, 1),
            b"",
        )
    )


def _traced(draw: Random) -> Run:
    name = draw.choice(sorted(READERS))
    files = [("jobs.csv", _table_spoilt(TRACES[name], draw))]
    arguments = ["replay", "--trace", name, "--workloads", "jobs.csv"]
    if name in NODES and draw.random() < 0.6:
        files.append(("nodes.csv", _table_spoilt(NODES[name], draw)))
        arguments += ["--nodes", "nodes.csv"]
    else:
        arguments += ["--cluster", draw.choice(("1x8", "2x4", "64x8", "0x8", "8", "1x8x1", "²x2"))]
    if draw.random() < 0.2:
        arguments += ["--arrivals-only", "--load", draw.choice(("0.5", "1.3", "0", "-1", "nan"))]
        for option in draw.sample(("--arrivals-order", "--nodes-order"), draw.randrange(3)):
            files.append((option[2:], draw.choice((b"0\n1\n", b"", b"9\n", b"x\n", b"\xff\n"))))
            arguments += [option, option[2:]]
    elif draw.random() < 0.5:
        policy = json.loads(draw.choice(_corpus("plan"))).get("policy", {})
        _spoil(policy, draw)
        files.append(("policy.json", json.dumps(policy).encode("utf-8", "surrogatepass")))
        arguments += ["--policy", "policy.json"]
    else:
        arguments += ["--order", draw.choice(model.ORDERS)]
        arguments += ["--placement", draw.choice(model.PLACEMENT_NAMES)]
        arguments += ["--backfill", draw.choice(model.BACKFILLS)]
    if draw.random() < 0.2:
        failures = "node,failed_at,repaired_at\nnode-00000,50,90\nnode-00001,10,20\n"
        files.append(("failures.csv", _table_spoilt(failures, draw)))
        arguments += ["--failures", "failures.csv"]
    return Run((*arguments, "--json"), files=tuple(files))


def _table_spoilt(text: str, draw: Random) -> bytes:
    """Change cells, rows or bytes of a file; now and then not at all."""
    lines = text.splitlines()
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        number = draw.randrange(len(lines))
        separator = next((s for s in ",| " if s in lines[number]), ",")
        cells = lines[number].split(separator)
        cells[draw.randrange(len(cells))] = draw.choice(CELLS)
        lines[number] = draw.choice((separator.join(cells), separator.join(cells), ""))
    # Below a hundred rows one that is bad refuses the file, so good ones are put beside it.
    filled = [*lines, *text.splitlines()[1:] * draw.choice((0, 0, 70))]
    content = "\n".join(filled).encode("utf-8", "surrogatepass")
    change = draw.random()
    if change < 0.1:
        return _bytes_spoilt(content, draw)
    if change < 0.2:
        return gzip.compress(content, mtime=0)[: draw.choice((None, 40))]
    return content


WHOLE: dict[str, Any] = {
    "schema": 1,
    "now": 1767225600,
    "policy": {
        "order": "fair_share", "placement": "pack", "backfill": "conservative",
        "head_blocks": False, "hybrid": None, "usage_weight_k": 0.5, "half_life_seconds": 604800,
        "aging_seconds_per_point": 3600, "tick_seconds": 15, "seed": 0,
        "preemption": {
            "enabled": True, "strategies": ["final", "initial"], "min_runtime_seconds": 600,
            "max_lost_gpu_seconds_per_cycle": 10000, "cost_gate": True,
        },
    },
    "teams": [
        {"name": "research", "parent": None, "weight": 1, "priority": 0, "used_gpu_seconds": 0},
        {"name": "vision", "parent": "research", "weight": 2, "used_gpu_seconds": 360000},
        {"name": "speech", "parent": "research", "weight": 1.5, "used_gpu_seconds": 10},
    ],
    "pools": [
        {"name": "h100", "topology_levels": ["block", "rack"]},
        {"name": "t4", "sharing": "shared", "gpu_equivalent_milli": 200},
    ],
    "quotas": [
        {"team": "vision", "pool": "h100", "guaranteed": 8000, "limit": 16000,
         "borrowing_limit": 4000, "per_user_limit": 12000},
        {"team": "speech", "pool": "h100", "guaranteed": 4000, "lending_limit": 2000, "weight": 3},
        {"team": "speech", "pool": "t4", "guaranteed": 1000, "valid_to": 1767230000},
    ],
    "reservations": [
        {"id": "r-7", "team": "vision", "pool": "h100", "gpu_milli": 8000, "source": "pool",
         "gpus_per_node": 4, "starts_at": 1767229200, "ends_at": 1767240000},
        {"id": "r-8", "team": "speech", "pool": "h100", "gpu_milli": 2000, "source": "guarantee",
         "starts_at": 1767220000, "ends_at": 1767240000},
    ],
    "maintenance": [{"node": "n1", "starts_at": 1767250000, "ends_at": 1767260000}],
    "nodes": [
        {"name": "n1", "pool": "h100", "gpu_model": "H100-80GB", "gpu_memory_mib": 81559,
         "gpus": 8, "cpu_milli": 192000, "memory_mib": 2097152, "topology": ["b1", "r1"],
         "taints": ["team=vision"], "zone": "z1"},
        {"name": "n2", "pool": "h100", "gpu_model": "H100-80GB", "gpus": 8, "cpu_milli": 192000,
         "memory_mib": 2097152, "topology": ["b1", "r2"]},
        {"name": "n3", "pool": "t4", "gpu_model": "T4", "gpus": 2, "cpu_milli": 32000,
         "memory_mib": 131072},
    ],
    "workloads": [
        {"id": "w1", "team": "vision", "user": "u1", "kind": "training", "submitted_at": 1767220000,
         "tasks": 2, "per_task": {"gpu_milli": 2000, "cpu_milli": 16000, "memory_mib": 131072},
         "min_tasks": 1, "tolerations": ["team=vision"], "duration_seconds": 7200,
         "topology": {"level": "node", "required": True},
         "checkpoint": {"save_seconds": 30, "restore_seconds": 60, "last_saved_at": 1767224000},
         "running": {"started_at": 1767221000, "stopping_for": None, "placements": [
             {"node": "n1", "tasks": 2, "gpus": [[0, 1000], [1, 1000], [2, 1000], [3, 1000]]}]}},
        {"id": "w2", "team": "speech", "user": "u2", "submitted_at": 1767221000, "tasks": 4,
         "per_task": {"gpu_milli": 4000, "cpu_milli": 1, "memory_mib": 1}, "priority": 2,
         "topology": {"level": "rack"}, "duration_seconds": 600, "target_wait_seconds": 1800},
        {"id": "w3", "team": "speech", "submitted_at": 1767221500, "tasks": 1, "pool": "t4",
         "per_task": {"gpu_milli": 250, "cpu_milli": 1, "memory_mib": 1}, "kind": "inference"},
        {"id": "w4", "team": "vision", "submitted_at": 1767222000, "tasks": 3, "reservation": "r-7",
         "per_task": {"gpu_milli": 1000, "cpu_milli": 1, "memory_mib": 1, "gpu_memory_mib": 9000},
         "preemptible": False, "duration_seconds": 300, "gpu_models": ["H100-80GB"], "zone": "z1"},
        {"id": "w5", "team": "speech", "submitted_at": 1767223000, "tasks": 1, "priority": -1,
         "per_task": {"gpu_milli": 8000, "cpu_milli": 1, "memory_mib": 1},
         "running": {"started_at": 1767223100, "placements": [
             {"node": "n2", "tasks": 1, "gpus": [[0, 1000], [1, 1000], [2, 1000], [3, 1000],
                                                 [4, 1000], [5, 1000], [6, 1000], [7, 1000]]}]}},
    ],
}  # fmt: skip
"""One snapshot with every key there is."""
