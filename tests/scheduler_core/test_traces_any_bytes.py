"""Whatever a file holds, a reader gives records the engine accepts or refuses by name."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.traces import READERS, TraceError

HEADERS = {
    "openb": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time",
    "pai": "job_id,user,submit_time,duration,num_inst,num_gpu,num_cpu,gpu_type",
    "philly": "job_id,submit_s,duration_s,num_gpus,vc",
    "helios": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,duration",
    "itp": "job_id,submission_time,duration,num_gpu",
    "swf": "; Version: 2.2",
    "sacct": "JobID|Submit|Start|Elapsed|Timelimit|NNodes|ReqTRES",
    "evenshare": "id,submitted_at,ran_seconds,gpu_milli,tasks,kind,preemptible,priority",
}
CELLS = st.one_of(
    st.sampled_from(
        [
            "-1",
            "0",
            "1",
            "8",
            "12",
            "500",
            "1500",
            "1e3",
            "1e999",
            "nan",
            "inf",
            "1/0",
            "1/3",
            "0x10",
            "_1",
            "2026-01-01T00:00:00",
            "0001-01-01",
            "9999-12-31T23:59:59",
            "None",
            "Unknown",
            "UNLIMITED",
            "1-02:03:04",
            "١٢",
            "²",
            "gres/gpu=8,mem=4G",
            "mem=xG,cpu=1",
            "gpu",
            '"',
            "true",
            "batch",
        ]
    ),
    st.just(""),
    st.text(max_size=6),
)


@given(st.data())
@pytest.mark.parametrize("name", READERS)
def test_odd_cells_give_records_or_a_refusal(name: str, data: st.DataObject) -> None:
    header = HEADERS[name]
    separator = {"swf": " ", "sacct": "|"}.get(name, ",")
    width = 18 if name == "swf" else header.count(separator) + 1
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=3))
    text = "\n".join([header, *(separator.join(row) for row in rows)])
    try:
        read = list(READERS[name].jobs(io.BytesIO(text.encode())))
    except TraceError:
        return
    for job in read:
        assert job.id
        assert job.tasks >= 1
        assert job.gpu_milli >= 0
        assert job.gpu_milli <= 1000 or job.gpu_milli % 1000 == 0
        assert job.duration_seconds is None or job.duration_seconds >= 0
        assert min(job.cpu_milli, job.memory_mib) >= 0


@given(st.binary(max_size=200), st.booleans())
@pytest.mark.parametrize("name", READERS)
def test_any_bytes_give_records_or_a_refusal(name: str, content: bytes, packed: bool) -> None:
    stream = io.BytesIO(gzip.compress(content)[: len(content) + 15] if packed else content)
    try:
        list(READERS[name].jobs(stream))
    except TraceError:
        return
