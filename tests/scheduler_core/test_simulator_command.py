"""`python -m scheduler_core replay`: what goes in, what comes out, what is refused."""

import csv
import io
import json
from pathlib import Path

import pytest

from scheduler_core.cli import main

DATA = Path(__file__).parent / "data"
SAMPLE = ["--trace", "philly", "--workloads", str(DATA / "replay" / "philly_sample_5000.csv.gz")]
STUDY = [
    *("--trace", "openb", "--workloads", str(DATA / "fgd" / "pods_default.csv.gz")),
    *("--nodes", str(DATA / "fgd" / "nodes.csv.gz"), "--arrivals-only"),
]
ORDERS = [
    *("--arrivals-order", str(DATA / "fgd" / "seed42_arrivals.txt.gz")),
    *("--nodes-order", str(DATA / "fgd" / "seed42_nodes.txt.gz")),
]


def replay(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the subcommand; return its exit code and what it wrote."""
    code = main(["replay", *arguments])
    return code, *capsys.readouterr()


def test_several_orders_are_compared_on_the_same_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    orders = ["--order", "fifo_strict", "--order", "sjf"]
    code, out, err = replay(capsys, *SAMPLE, "--cluster", "1x512", *orders, "--json")
    assert (code, err) == (0, "")
    found = {
        answer["order"]: round(answer["wait_seconds"]["mean"], 2) for answer in json.loads(out)
    }
    assert found == {"fifo_strict": 418.25, "sjf": 243.40}


def test_strict_means_that_the_head_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cluster", "64x8", "--order", "sjf", "--head-blocks", "--csv"]
    _, out, _ = replay(capsys, *SAMPLE, *arguments)
    (row,) = csv.DictReader(io.StringIO(out))
    assert round(float(row["wait_seconds.mean"]), 2) == 494.13


def test_without_json_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = replay(capsys, *SAMPLE, "--cluster", "64x8", "--order", "fifo")
    title, row = out.splitlines()
    assert title.split()[:3] == ["order", "placement", "jobs"]
    assert row.split()[:4] == ["fifo", "pack", "5000", "440.91"]


def test_a_published_study_is_matched_from_its_order_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = replay(capsys, *STUDY, *ORDERS, "--placement", "dot_product", "--json")
    (answer,) = json.loads(out)
    at_100 = next(point for point in answer["curve"] if point["arrived_pct"] == 100)
    assert at_100["allocated_pct"] == pytest.approx(90.34, abs=0.005)
    assert (answer["placed"], answer["dropped"]) == (7_992, 2_874)


def test_a_study_of_ones_own_order_repeats_with_its_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [*STUDY, "--placement", "best_fit", "--load", "0.3", "--seed", "7", "--json"]
    first, second = (json.loads(replay(capsys, *arguments)[1])[0] for _ in range(2))
    assert first["curve"] == second["curve"]


def test_a_policy_file_is_replayed_beside_the_named_orders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    jobs, policy = tmp_path / "jobs.csv", tmp_path / "policy.json"
    jobs.write_text("job_id,submit_s,duration_s,num_gpus,vc\n1,0,60,8,a\n2,0,30,4,b\n3,0,,1,c\n")
    policy.write_text(json.dumps({"order": "sjf", "backfill": "easy"}))
    arguments = ["--trace", "philly", "--workloads", str(jobs), "--cluster", "1x8"]
    _, out, _ = replay(capsys, *arguments, "--order", "fifo", "--policy", str(policy), "--json")
    found = [
        (answer["order"], answer["wait_seconds"]["mean"], answer["left_out"])
        for answer in json.loads(out)
    ]
    assert found == [("fifo", 30, 1), ("sjf", 15, 1)]


TWO_JOBS = "job_id,submit_s,duration_s,num_gpus,vc\n1,0,3600,8,a\n2,0,3600,4,b\n"


@pytest.fixture
def two_jobs(tmp_path: Path) -> list[str]:
    """Two jobs of an hour on one node of 8."""
    (tmp_path / "jobs.csv").write_text(TWO_JOBS)
    return ["--trace", "philly", "--workloads", str(tmp_path / "jobs.csv"), "--cluster", "1x8"]


def test_nodes_fail_and_come_back_as_the_file_says(
    capsys: pytest.CaptureFixture[str], two_jobs: list[str], tmp_path: Path
) -> None:
    failures = tmp_path / "failures.csv"
    failures.write_text("node,failed_at,repaired_at\nnode-00000,1800,5400\n")
    _, out, _ = replay(capsys, *two_jobs, "--order", "fifo", "--failures", str(failures), "--json")
    (answer,) = json.loads(out)
    # Half an hour of the first is lost; after an hour of repair both follow one another.
    assert (answer["makespan_seconds"], answer["preemptions"]) == (5400 + 2 * 3600, 1)
    assert answer["lost_gpu_seconds"] == 8 * 1800


def test_failures_at_random_repeat_with_the_seed(
    capsys: pytest.CaptureFixture[str], two_jobs: list[str]
) -> None:
    arguments = [*two_jobs, "--mtbf-hours", "0.5", "--repair-hours", "0.1", "--json"]
    first, second = (json.loads(replay(capsys, *arguments)[1])[0] for _ in range(2))
    assert first["preemptions"] > 0
    assert first | {"cpu_seconds": 0} == second | {"cpu_seconds": 0}


def test_a_report_stands_in_files_and_tells_what_a_job_costs(
    capsys: pytest.CaptureFixture[str], two_jobs: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    arguments = ["--order", "fifo", "--report", str(folder), "--gpu-hour-cost", "2", "--json"]
    _, out, _ = replay(capsys, *two_jobs, *arguments)
    (answer,) = json.loads(out)
    # Two hours of eight GPUs for two jobs.
    assert answer["cost_per_completed"] == 16
    assert [team["team"] for team in answer["teams"]] == ["a", "b"]
    run = folder / "1-fifo-pack"
    assert json.loads((run / "figures.json").read_text()) == answer
    jobs = list(csv.DictReader((run / "jobs.csv").read_text().splitlines()))
    assert [(job["job"], job["waited"]) for job in jobs] == [("1", "0"), ("2", "3600")]
    shares = list(csv.DictReader((run / "shares.csv").read_text().splitlines()))
    assert (shares[0]["team"], shares[0]["held_gpu_milli"]) == ("a", "8000")


def test_progress_is_told_on_standard_error(
    capsys: pytest.CaptureFixture[str], two_jobs: list[str]
) -> None:
    _, _, err = replay(capsys, *two_jobs, "--order", "fifo", "--order", "sjf", "--progress")
    assert err == "1 fifo pack: done, 2 jobs ended\n2 sjf pack: done, 2 jobs ended\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--cluster", "1x8", "--mtbf-hours", "nan"], "--mtbf-hours: must be from 0.1 to"),
        (["--cluster", "1x8", "--arrivals-only", "--load", "inf"], "--load: must be above 0 and"),
        (["--cluster", "1x8", "--failures", "DOWN"], "line 2: node: unknown node x"),
        (["--cluster", "1x8", "--placement", "matched"], "matched needs --arrivals-only"),
        (["--cluster", "64"], "--cluster: '64' is no cluster: write nodes x GPUs, such as 64x8"),
        (["--nodes", "nodes.csv"], "this format lists jobs only; give the size of the cluster"),
        (["--cluster", "1x8", "--policy", "POLICY"], "order: "),
        (["--cluster", "1x8", "--policy", "BROKEN"], "is not JSON"),
        (
            ["--cluster", "1x8", "--arrivals-only", "--arrivals-order", "ROWS"],
            "line 2: '9' is no row from 0 to 0",
        ),
        (["--cluster", "1x8", "--policy", "ABSENT"], "No such file"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = {
        "jobs.csv": "job_id,submit_s,duration_s,num_gpus\n1,0,60,8\n",
        "nodes.csv": "",
        "POLICY": '{"order": "lottery"}',
        "BROKEN": "{",
        "ROWS": "0\n9\n",
        "DOWN": "node,failed_at,repaired_at\nx,1,2\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    given = [str(tmp_path / word) if word.isupper() or "." in word else word for word in arguments]
    trace = ["--trace", "philly", "--workloads", str(tmp_path / "jobs.csv")]
    code, out, err = replay(capsys, *trace, *given)
    assert (code, out) == (2, "")
    assert why in err
    assert err.count("\n") == 1
