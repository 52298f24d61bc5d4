"""A real Prometheus, filled by its own tool, is asked how busy pods were."""

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal

import pytest
from pytest_django import Settings

from portal.usage import appending, monitoring, prometheus
from portal.usage.models import MeasuredUse
from portal.usage.prometheus import Source
from tests import builders
from tests.portal.usage.test_rollups import NOON, a_row

PATIENCE_SECONDS = 30
NEEDED = ("prometheus", "promtool")
pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in NEEDED), reason="no prometheus and promtool here"
)
ENGINE, GPU = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"


def lines(metric: str, labels: str, busy: Sequence[str | None]) -> Iterator[str]:
    """Two samples a minute from noon on, the same for a whole minute; None is a gap."""
    for minute, text in enumerate(busy):
        for second in (10, 40):
            at = int(NOON.timestamp()) + 60 * minute + second
            if text is not None:
                yield f"{metric}{{{labels}}} {text} {at}"


def written() -> str:
    """Two devices of one pod, one by the older metric alone, and one with a gap of a cell."""
    pod = 'exported_namespace="vision",exported_pod="train-0",namespace="gpu",pod="dcgm-1"'
    engine = [
        *lines(ENGINE, f'gpu="0",cluster="a",{pod}', ["0.5"] * 10),
        *lines(ENGINE, f'gpu="1",cluster="a",{pod}', ["1"] * 5 + ["0"] * 5),
        *lines(ENGINE, 'gpu="2",cluster="a",namespace="speech",pod="gap"',
               ["0.25"] * 5 + [None] * 5 + ["0.75"] * 5),
        *lines(ENGINE, 'gpu="0",cluster="b",namespace="vision",pod="train-0"', ["0.1"] * 5),
    ]  # fmt: skip
    util = [
        *lines(GPU, 'gpu="3",cluster="a",namespace="search",pod="old"', ["30"] * 5),
        *lines(GPU, f'gpu="0",cluster="a",{pod}', ["99"] * 10),
    ]
    parts = [f"# TYPE {ENGINE} gauge", *engine, f"# TYPE {GPU} gauge", *util, "# EOF", ""]
    return "\n".join(parts)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one on a port of its own, with what `written` says in its store."""
    home = tmp_path_factory.mktemp("prometheus")
    (home / "metrics").write_text(written())
    (home / "config.yml").write_text("scrape_configs: []\n")
    promtool = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
    subprocess.run([*promtool, home / "metrics", home / "data"], check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["prometheus", f"--config.file={home / 'config.yml'}", "--log.level=error",
         f"--storage.tsdb.path={home / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
         "--storage.tsdb.retention.time=3650d"],
    )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


def _wait_for(address: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nothing answers at {address}")


def test_it_tells_each_pod_and_cell_apart(address: str, settings: Settings) -> None:
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    source = Source(address, 'cluster="a"')
    found = prometheus.read(source, NOON, NOON + timedelta(hours=1))
    said = {
        (one.namespace, one.pod): {
            (cell - NOON) // timedelta(minutes=1): busy.quantize(Decimal("0.001"))
            for cell, busy in one.busy.items()
        }
        for one in found
    }
    assert said == {
        ("vision", "train-0"): {0: Decimal("0.750"), 5: Decimal("0.250")},
        ("speech", "gap"): {0: Decimal("0.250"), 10: Decimal("0.750")},
        ("search", "old"): {0: Decimal("0.300")},
    }


def test_what_it_refuses_is_told(address: str, settings: Settings) -> None:
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    with pytest.raises(prometheus.Unanswered, match="400"):
        prometheus.read(Source(address, 'a=~"("'), NOON, NOON + timedelta(hours=1))


@pytest.mark.django_db
def test_it_is_read_into_what_the_jobs_held(address: str, settings: Settings) -> None:
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    pool = builders.a_pool(nodes=1)
    job = builders.a_workload(builders.a_team("vision"), pool, gpu_milli=2000)
    pod = builders.a_pod(job, pool.nodes.first(), name="train-0", scheduled_at=NOON)
    appending.append(
        a_row(pool, 5 * cell, pod_uid=pod.uid, workload_id=job.pk, gpu_milli=2000)
        for cell in range(12)
    )
    monitoring.set_monitoring(
        cluster_id=pool.cluster_id, address=address, selector='cluster="a"', actor_id=None, now=NOON
    )
    noted = monitoring.read_due(cluster_id=pool.cluster_id, now=NOON + timedelta(minutes=70))
    assert noted == 1
    row = MeasuredUse.objects.get()
    # Two of twelve cells; 0.75 of the first, 0.25 of the second.
    assert row.measured_milli_seconds == 2 * 2000 * 300
    assert row.used_milli_seconds == 2000 * 300
