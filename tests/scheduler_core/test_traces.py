"""Trace readers: what all formats share, then one group of sentences a format."""

import gzip
import io
from pathlib import Path

import pytest

from scheduler_core.traces import READERS, Job, NoNodeList, NotThisFormat, TooManyBadRows

DATA = Path(__file__).parent / "data" / "traces"
HEADER = "job_id,submit_s,duration_s,num_gpus,vc\n"


def jobs(name: str, text: str | bytes) -> list[Job]:
    """Read all jobs of a small hand-written file."""
    content = text.encode() if isinstance(text, str) else text
    return list(READERS[name].jobs(io.BytesIO(content)))


def test_a_gzip_stream_reads_like_the_plain_one() -> None:
    plain = (DATA / "philly_jobs.csv").read_bytes()
    assert jobs("philly", gzip.compress(plain)) == jobs("philly", plain)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    text = HEADER + "1,0,60,8,a\n2,5,30,1,b\n"
    assert jobs("philly", "\ufeff" + text.replace("\n", "\r\n")) == jobs("philly", text)


def test_blank_lines_and_a_missing_last_line_end_are_passed_over() -> None:
    assert len(jobs("philly", HEADER + "\n1,0,60,8,a\n\n2,5,30,1,b")) == 2


def test_the_stream_stays_open_for_its_owner() -> None:
    stream = io.BytesIO((HEADER + "1,0,60,8,a\n").encode())
    assert len(list(READERS["philly"].jobs(stream))) == 1
    assert not stream.closed


def test_jobs_are_read_as_they_are_asked_for() -> None:
    reading = READERS["philly"].jobs(io.BytesIO((HEADER + "1,0,60,8,a\n" * 500).encode()))
    next(iter(reading))
    assert reading.rows == 1


def test_one_bad_row_in_a_hundred_is_counted_and_named_by_line() -> None:
    rows = ["1,0,60,8,a"] * 99
    rows.insert(3, "1,0,soon,8,a")
    reading = READERS["philly"].jobs(io.BytesIO((HEADER + "\n".join(rows)).encode()))
    assert len(list(reading)) == 99
    assert (reading.rows, reading.bad) == (100, 1)
    assert [str(bad) for bad in reading.first_bad] == ["line 5: duration_s: 'soon' is no number"]


def test_more_than_one_bad_row_in_a_hundred_stops_the_read_showing_the_first_three() -> None:
    bad = ["1,0,x,8,a", "1,0,60,-1,a", "1,0,60,8", "1,0,60,1.5,a"]
    with pytest.raises(TooManyBadRows) as caught:
        jobs("philly", HEADER + "\n".join(bad + ["1,0,60,8,a"] * 300))
    assert (caught.value.bad, caught.value.rows) == (4, 304)
    assert str(caught.value) == (
        "4 of 304 rows are bad, more than 1 %: line 2: duration_s: 'x' is no number; "
        "line 3: num_gpus: '-1' is below 0; line 4: has 4 cells where the header has 5"
    )


def test_a_long_file_full_of_bad_rows_is_not_read_to_its_end() -> None:
    reading = READERS["philly"].jobs(io.BytesIO((HEADER + "1,0,x,8,a\n" * 50_000).encode()))
    with pytest.raises(TooManyBadRows):
        list(reading)
    assert reading.rows == 10_000


def test_a_stray_quote_costs_one_row_and_not_the_rest_of_the_file() -> None:
    rows = ["1,0,60,8,a"] * 150
    rows[1] = '1,0,60,8,"a'
    assert len(jobs("philly", HEADER + "\n".join(rows))) == 149


def test_a_header_that_lacks_a_column_is_refused_before_any_row() -> None:
    with pytest.raises(NotThisFormat, match="lacks the columns duration_s, num_gpus"):
        READERS["philly"].jobs(io.BytesIO(b"job_id,when\n1,2\n"))


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(NotThisFormat, match="is empty"):
        READERS["philly"].jobs(io.BytesIO(b""))


def test_a_gzip_stream_cut_short_is_refused() -> None:
    packed = gzip.compress((DATA / "philly_jobs.csv").read_bytes())
    with pytest.raises(NotThisFormat, match="damaged"):
        jobs("philly", packed[:-20])


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert jobs("philly", HEADER.encode() + b"1,0,60,8,caf\xe9\n")[0].team == "caf\ufffd"


def test_philly_jobs_ask_for_whole_gpus_on_behalf_of_a_virtual_cluster() -> None:
    read = jobs("philly", (DATA / "philly_jobs.csv").read_bytes())
    assert read[1] == Job("30066", 590, 66, 1000, team="11cb48")
    assert (len(read), sum(job.duration_seconds or 0 for job in read)) == (60, 3_164_515)


def test_philly_without_seconds_takes_the_date_as_utc() -> None:
    text = "job_id,submit_time,duration_s,num_gpus\n7,2017-10-16T00:02:04,62,1\n"
    assert jobs("philly", text)[0].submitted_at == 1_508_112_124


def test_a_job_without_a_duration_has_none() -> None:
    assert jobs("philly", HEADER + "1,0,,8,a\n")[0].duration_seconds is None


def test_philly_has_no_list_of_machines() -> None:
    with pytest.raises(NoNodeList):
        READERS["philly"].nodes(io.BytesIO(b""))


def test_openb_pods_are_jobs_of_one_task_with_shares_and_allowed_models() -> None:
    read = {job.id: job for job in jobs("openb", (DATA / "openb_pods.csv").read_bytes())}
    assert read["openb-pod-0001"] == Job(
        id="openb-pod-0001",
        submitted_at=427_061,
        duration_seconds=12_902_960 - 427_061,
        gpu_milli=460,
        cpu_milli=6_000,
        memory_mib=12_288,
        team="LS",
        waited_seconds=0,
    )
    assert sum(job.total_gpu_milli for job in read.values()) == 36_080
    assert sum(bool(job.gpu_models) for job in read.values()) == 11


def test_openb_pod_lists_may_stop_after_the_gpu_columns() -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,12000,16384,2,1000\n"
    assert jobs("openb", text) == [Job("p", 0, None, 2000, cpu_milli=12_000, memory_mib=16_384)]


def test_openb_models_are_separated_by_bars() -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,1000,V100M16|V100M32\n"
    assert jobs("openb", text)[0].gpu_models == ("V100M16", "V100M32")


def test_openb_nodes_may_have_no_gpu() -> None:
    nodes = list(READERS["openb"].nodes(io.BytesIO((DATA / "openb_nodes.csv").read_bytes())))
    assert [node.gpus for node in nodes].count(0) == 2
    assert (len(nodes), nodes[0].name) == (31, "openb-node-0298")
