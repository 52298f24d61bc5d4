"""The formats beside openb and Philly: what each column becomes, from small files by hand."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.traces import (
    READERS,
    Job,
    Node,
    NoNodeList,
    NotThisFormat,
    TooManyBadRows,
    evenshare,
)

DATA = Path(__file__).parent / "data" / "traces"


def jobs(name: str, text: str) -> list[Job]:
    """Read all jobs of a small file."""
    return list(READERS[name].jobs(io.BytesIO(text.encode())))


def nodes(name: str, text: str) -> list[Node]:
    """Read all nodes of a small file."""
    return list(READERS[name].nodes(io.BytesIO(text.encode())))


def test_pai_instances_are_tasks_and_half_a_gpu_is_500_milli() -> None:
    text = (
        "job_id,user,submit_time,duration,num_inst,num_gpu,num_cpu,gpu_type,user_dur,group_dur\n"
        "j1,u7,100,3600.4,2,0.5,6.0,V100,900,1200\n"
        "j2,u8,200,60,1,1.5,,MISC,,\n"
    )
    assert jobs("pai", text) == [
        Job(
            id="j1",
            submitted_at=100,
            duration_seconds=3600,
            gpu_milli=500,
            tasks=2,
            cpu_milli=6_000,
            user="u7",
            gpu_models=("V100",),
            estimate_seconds=1_200,
        ),
        Job("j2", 200, 60, 2_000, user="u8", gpu_models=("MISC",)),
    ]


def test_helios_jobs_split_over_their_nodes() -> None:
    text = (
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
        "duration,queue\n"
        "5,u1,vc2,16,64,2,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:10,"
        "2020-04-01 01:01:10,3600,60\n"
        "6,u1,vc2,8,0,1,CANCELLED,2020-04-01 00:00:11,None,2020-04-01 00:00:20,0,9\n"
    )
    long, never = jobs("helios", text)
    assert long == Job(
        id="5",
        submitted_at=1_585_699_210,
        duration_seconds=3_600,
        gpu_milli=8_000,
        tasks=2,
        cpu_milli=32_000,
        team="vc2",
        user="u1",
        waited_seconds=60,
    )
    assert (never.duration_seconds, never.waited_seconds, never.tasks) == (None, None, 1)


def test_itp_reads_the_joined_file() -> None:
    read = jobs("itp", (DATA / "itp_jobs.csv").read_text())
    assert read[1] == Job("1", 1999, 13_423, 1_000, team="07")
    assert (len(read), sum(job.gpu_milli for job in read)) == (60, 104_000)


def test_itp_reads_the_published_files_too() -> None:
    text = "job_id,submission_time,duration,num_gpu\na-b,1999,60,4\nc,2021-03-04 00:00:01,60,4\n"
    assert [(job.submitted_at, job.gpu_milli) for job in jobs("itp", text)] == [
        (1_999, 4_000),
        (1_614_816_001, 4_000),
    ]


SWF = """\
; Version: 2.2
; MaxNodes: 4
; MaxProcs: 32
  1    0   5  100   8  -1  -1   8  200 1024  1  3  2  -1  1  1  -1  -1
  2   10  -1   -1  -1  -1  -1  16   -1   -1  0 -1 -1  -1  1  1  -1  -1
"""


def test_swf_processors_are_gpus_and_minus_one_is_unknown() -> None:
    assert jobs("swf", SWF) == [
        Job(
            id="1",
            submitted_at=0,
            duration_seconds=100,
            gpu_milli=8_000,
            memory_mib=8,
            team="2",
            user="3",
            estimate_seconds=200,
            waited_seconds=5,
        ),
        Job("2", 10, None, 16_000),
    ]


def test_swf_names_the_line_of_a_short_row_counting_the_header() -> None:
    with pytest.raises(TooManyBadRows, match="line 6: has 3 cells where the format has 18"):
        jobs("swf", SWF + "3 20 1\n")


def test_swf_nodes_come_from_the_header() -> None:
    assert nodes("swf", SWF) == [Node(f"node-{index}", 8, 0, 0) for index in range(4)]
    with pytest.raises(NotThisFormat, match="MaxProcs"):
        nodes("swf", "; Version: 2.2\n")


SACCT = (
    "JobID|User|Account|State|Submit|Start|Elapsed|TimelimitRaw|NNodes|ReqTRES|AllocTRES\n"
    "12|ann|vision|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:02:00|1-02:03:04|60|2|"
    "billing=16,cpu=32,gres/gpu:h100=16,gres/gpu=16,mem=1.5T,node=2|"
    "cpu=32,gres/gpu=16,mem=1.5T,node=2\n"
    "12.batch||vision|COMPLETED|2026-01-01T00:02:00|2026-01-01T00:02:00|00:01:00||1||cpu=1\n"
    '13|"bo|vision|PENDING|2026-01-01T00:00:05|Unknown|00:00:00|UNLIMITED|1|'
    "cpu=4,mem=8000M,node=1|\n"
)


def test_sacct_jobs_carry_their_gres_and_steps_are_left_out() -> None:
    ran, waits = jobs("sacct", SACCT)
    assert ran == Job(
        id="12",
        submitted_at=1_767_225_600,
        duration_seconds=93_784,
        gpu_milli=8_000,
        tasks=2,
        cpu_milli=16_000,
        memory_mib=786_432,
        team="vision",
        user="ann",
        gpu_models=("h100",),
        estimate_seconds=3_600,
        waited_seconds=120,
    )
    assert waits == Job(
        "13", 1_767_225_605, None, 0, cpu_milli=4_000, memory_mib=8_000, team="vision", user='"bo'
    )


def test_sacct_without_its_submit_column_says_so() -> None:
    with pytest.raises(NotThisFormat, match="Submit"):
        jobs("sacct", "JobID|JobName|Partition\n1|a|b\n")


def test_our_own_history_keeps_what_the_engine_needs() -> None:
    text = (
        "id,team,user,kind,priority,preemptible,submitted_at,started_at,ran_seconds,"
        "estimate_seconds,tasks,gpu_milli,cpu_milli,memory_mib,gpu_models\n"
        "w1,vision,17,training,5,false,1767225600,1767225660,7200,3600,2,8000,64000,1024,A|B\n"
        "w2,vision,17,,-3,,1767225600,,,,,250,,,\n"
    )
    assert jobs("evenshare", text) == [
        Job(
            id="w1",
            submitted_at=1_767_225_600,
            duration_seconds=7_200,
            gpu_milli=8_000,
            tasks=2,
            cpu_milli=64_000,
            memory_mib=1_024,
            team="vision",
            user="17",
            gpu_models=("A", "B"),
            estimate_seconds=3_600,
            waited_seconds=60,
            kind="training",
            priority=5,
            preemptible=False,
        ),
        Job("w2", 1_767_225_600, None, 250, team="vision", user="17", priority=-3),
    ]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("w,0,1,1500,1", "gpu_milli: 1500 is above one device and no multiple of 1000"),
        ("w,0,1,1000,0", "tasks: must be at least 1"),
        ("w,0,1,1000,2,3", "min_tasks: 3 is not between 1 and the number of tasks"),
    ],
)
def test_our_own_history_refuses_what_the_engine_would(cells: str, why: str) -> None:
    titles = ["id", "submitted_at", "ran_seconds", "gpu_milli", "tasks", "min_tasks"]
    header = ",".join(titles[: cells.count(",") + 1])
    with pytest.raises(TooManyBadRows, match=why):
        jobs("evenshare", f"{header}\n{cells}\n")


@given(
    st.builds(
        Job,
        id=st.text('ab|,"1', min_size=1),
        submitted_at=st.integers(0, 10**9),
        duration_seconds=st.none() | st.integers(0, 10**6),
        gpu_milli=st.sampled_from([0, 250, 1000, 8000]),
        tasks=st.integers(2, 64),
        cpu_milli=st.integers(0, 10**6),
        memory_mib=st.integers(0, 10**6),
        team=st.sampled_from(["", "t1"]),
        gpu_models=st.sampled_from([(), ("A",), ("A", "B")]),
        estimate_seconds=st.none() | st.integers(0, 10**6),
        waited_seconds=st.none() | st.integers(0, 10**6),
        kind=st.sampled_from(["batch", "inference"]),
        priority=st.integers(-9, 9),
        preemptible=st.booleans(),
        pool=st.sampled_from(["", "p3"]),
        min_tasks=st.none() | st.integers(1, 2),
        save_seconds=st.none() | st.integers(0, 99),
        restore_seconds=st.none() | st.integers(0, 99),
    )
)
def test_our_own_history_is_read_as_it_was_written(job: Job) -> None:
    text = io.StringIO()
    evenshare.write_jobs([job], text)
    assert jobs("evenshare", text.getvalue()) == [job]


def test_our_own_nodes_are_read_as_they_were_written() -> None:
    text = io.StringIO()
    some = [Node("n1", 8, 192_000, 2_097_152, "H100-80GB"), Node("n2", 0, 1, 1)]
    evenshare.write_nodes(some, text)
    assert nodes("evenshare", text.getvalue()) == some


def test_our_own_nodes_name_their_model() -> None:
    text = "name,gpus,cpu_milli,memory_mib,gpu_model\nn1,8,192000,2097152,H100-80GB\n"
    assert nodes("evenshare", text) == [Node("n1", 8, 192_000, 2_097_152, "H100-80GB")]


@pytest.mark.parametrize("name", ["pai", "helios", "itp", "sacct"])
def test_formats_without_machines_say_so(name: str) -> None:
    with pytest.raises(NoNodeList, match="give the size of the cluster"):
        nodes(name, "")
