"""A few hundred of the ten thousand spoilt inputs of `make drills`, and what they once found."""

import pytest

from tests.scheduler_core import fuzzing
from tests.scheduler_core.fuzzing import Run

FEW = 300


def test_a_spoilt_input_is_answered_or_refused_with_the_path_of_the_fault() -> None:
    found = {
        number: fuzzing.complaint(run, fuzzing.execute(run))
        for number, run in enumerate(fuzzing.runs(seed=7, count=FEW))
    }
    assert {number: told for number, told in found.items() if told} == {}


def test_the_same_seed_spoils_the_same() -> None:
    assert list(fuzzing.runs(seed=3, count=50)) == list(fuzzing.runs(seed=3, count=50))


@pytest.mark.parametrize(
    ("stdin", "err"),
    [
        (b"\xff", "is not UTF-8\n"),
        (b'{"": 0}', '"": is not a known key\n'),
        (b'{"teams": [{"name": "\\ud800"}]}', "teams[0].name: must be Unicode that can be written"
         " down\n"),
        (b'{"\\ud801": 0}', "\\ud801: is not a known key\n"),
        (b"[" * 100_000, "is not JSON\n"),
    ],
)  # fmt: skip
def test_what_no_document_can_be_is_refused(stdin: bytes, err: str) -> None:
    ended = fuzzing.execute(Run(("plan",), stdin))
    assert (ended.code, ended.out, ended.err) == (2, "", err)


def test_an_odd_line_costs_only_its_own_answer() -> None:
    ended = fuzzing.execute(Run(("divide", "--lines"), b'\xff\n{"total": 1, "teams": []}\n'))
    assert ended.out == '{"error":"is not UTF-8"}\n{"shares":{},"left":1}\n'


def test_amounts_that_nothing_has_cost_their_row() -> None:
    row = "1,0,60,1e20,a\n"
    content = f"job_id,submit_s,duration_s,num_gpus,vc\n{row}".encode()
    arguments = ("replay", "--trace", "philly", "--workloads", "jobs", "--cluster", "1x8")
    ended = fuzzing.execute(Run(arguments, files=(("jobs", content),)))
    assert ended.code == 2
    assert "num_gpus: '1e20' is more than anything has" in ended.err
