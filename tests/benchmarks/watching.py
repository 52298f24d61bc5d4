"""A watcher on a large cluster: how soon a change stands in the rows, and what an idle cycle costs.

`python tests/with_services.py python -m tests.benchmarks.watching [--small]`

1,000 nodes of 8 GPUs and 20,000 pods in 2,500 jobs, 300 namespaces of 60 teams, behind the fake API
server in a process of its own. The watcher runs as `manage.py watch` does, on the database that
DATABASE_URL names. Goals: a change is in the rows within 2 s, an idle cycle takes under 1 s and
writes nothing.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
GOAL_SECONDS, IDLE_SECONDS = 2.0, 1.0
GPU = "nvidia.com/gpu"
TASKS, NAMESPACES, TEAMS, GPUS = 8, 300, 60, 8
PATIENCE_SECONDS = 300.0


def main() -> None:
    """Fill, watch, change, and print seconds and memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true", help="be the API server")
    parser.add_argument("--small", action="store_true", help="a tenth, to see that it runs")
    parser.add_argument("--changes", type=int, default=100)
    options = parser.parse_args()
    django.setup()
    part = 10 if options.small else 1
    if options.serve:
        _serve(1000 // part, 2500 // part)
    else:
        _measure(options)


# -- the cluster ---------------------------------------------------------------------------------


def _serve(nodes: int, jobs: int) -> None:
    """Be the cluster until nobody listens."""
    from tests.api_server import controllers
    from tests.api_server.serving import ApiServer

    server = ApiServer(bookmark_seconds=5)
    store = server.store
    for number in range(nodes):
        controllers.add_node(store, f"node-{number}", {GPU: GPUS}, "a100")
    for number in range(NAMESPACES):
        controllers.add_namespace(store, f"space-{number}")
    for number in range(jobs):
        _add_job(store, number, nodes)
    store.compact()
    server.start()
    print(server.url, flush=True)
    sys.stdin.read()


def _add_job(store: Any, number: int, nodes: int) -> None:
    """A running job whose pods are as large as a real server tells them."""
    from tests.api_server import controllers
    from tests.api_server.controllers import at

    space = f"space-{number % NAMESPACES}"
    environment = [{"name": f"SETTING_{n}", "value": "x" * 80} for n in range(40)]
    container = {
        "name": "main", "image": "registry.example.org/training:latest", "env": environment,
        "resources": {"limits": {GPU: "1", "cpu": "8", "memory": "64Gi"}},
    }  # fmt: skip
    spec = {"nodeSelector": {"evenshare.io/pool": "a100"}, "containers": [container]}
    body = {"spec": {"parallelism": TASKS, "template": {"spec": spec}}}
    job = store.create(at("Job", f"job-{number}", space), body)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"job-{number}", "controller": True,
             "uid": job["metadata"]["uid"]}  # fmt: skip
    for task in range(TASKS):
        name = f"job-{number}-{task}"
        metadata = {"ownerReferences": [owner]}
        placed = {**spec, "nodeName": f"node-{(number * TASKS + task) // GPUS % nodes}"}
        store.create(at("Pod", name, space), {"metadata": metadata, "spec": placed})
        told = {"type": "PodScheduled", "status": "True", "lastTransitionTime": store.stamp()}
        store.set_status(at("Pod", name, space), {"conditions": [told]})
        controllers.begin(store, store.get(at("Pod", name, space)))


@contextmanager
def _cluster(small: bool) -> Iterator[str]:
    """The address of that server."""
    words = [sys.executable, "-m", "tests.benchmarks.watching", "--serve"]
    process = subprocess.Popen(
        [*words, "--small"] if small else words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.wait()


def _patch(url: str, number: int, task: int, body: dict[str, Any]) -> None:
    """What a kubelet says of a pod."""
    space = f"space-{number % NAMESPACES}"
    path = f"/api/v1/namespaces/{space}/pods/job-{number}-{task}/status"
    headers = {"Content-Type": "application/merge-patch+json"}
    request = urllib.request.Request(
        url + path, data=json.dumps(body).encode(), method="PATCH", headers=headers
    )
    urllib.request.urlopen(request, timeout=30).close()


# -- the portal ----------------------------------------------------------------------------------


def _register(url: str, folder: Path) -> Any:
    """The cluster, its pool, 60 teams, their namespaces, and a tick to sync."""
    from portal.inventory import services as inventory
    from portal.inventory.models import ClusterKind
    from tests import builders
    from tests.api_server.serving import ApiServer

    now = datetime.now(UTC)
    way: dict[str, object] = {"kubeconfig": str(ApiServer(url=url).kubeconfig(folder))}
    cluster = inventory.register_cluster(
        name="large", kind=ClusterKind.KUBERNETES, now=now, actor_id=None, settings=way
    )
    inventory.register_pool(
        cluster_id=cluster.pk, name="a100", gpu_model="A100", position=0, now=now, actor_id=None
    )
    teams = [builders.a_team(f"team-{number}").pk for number in range(TEAMS)]
    for number in range(NAMESPACES):
        inventory.register_namespace(
            cluster_id=cluster.pk, name=f"space-{number}", team_id=teams[number % TEAMS], now=now,
            actor_id=None,
        )  # fmt: skip
    return cluster


def _measure(options: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder, _cluster(options.small) as url:
        cluster = _register(url, Path(folder))
        stop = threading.Event()
        before = _memory()
        begun = time.monotonic()
        thread = threading.Thread(target=_watch, args=(cluster.pk, stop))
        thread.start()
        try:
            _wait(lambda: _is_current(cluster.pk))
            _say_size(connection.vendor)
            print(f"first in step after {time.monotonic() - begun:.1f} s; memory {before} MiB "
                  f"before, {_memory()} MiB after", flush=True)  # fmt: skip
            _changes(url, cluster.pk, options.changes)
            _idle(cluster)
            print(f"memory at the end {_memory()} MiB", flush=True)
        finally:
            stop.set()
            thread.join(60)


def _say_size(vendor: str) -> None:
    from portal.inventory.models import Node
    from portal.workloads.models import Pod, Workload

    print(f"{vendor}: {Node.objects.count():,} nodes, {Workload.objects.count():,} jobs, "
          f"{Pod.objects.count():,} pods")  # fmt: skip


def _watch(cluster_id: int, stop: threading.Event) -> None:
    from django.db import connection

    from portal.kubernetes import services

    try:
        services.watch(cluster_id=cluster_id, stop=stop)
    finally:
        connection.close()


def _is_current(cluster_id: int) -> bool:
    from portal.inventory.models import Cluster

    return Cluster.objects.get(pk=cluster_id).seen_at is not None


def _wait(true: Any) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not true():
        if time.monotonic() > until:
            raise SystemExit("waited in vain")
        time.sleep(0.02)


def _memory() -> int:
    """MiB this process holds."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def _changes(url: str, cluster_id: int, count: int) -> None:
    """Pods end one by one, at any moment; how long until their rows say so."""
    from portal.workloads.models import Pod

    chance = random.Random(1)
    pods = list(Pod.objects.values_list("name", flat=True))
    took: list[float] = []
    for name in chance.sample(pods, min(count, len(pods))):
        number, task = (int(part) for part in name.split("-")[1:])
        ended = {"terminated": {"exitCode": 0, "finishedAt": f"{datetime.now(UTC):%FT%TZ}"}}
        status = {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": ended}]}
        begun = time.monotonic()
        _patch(url, number, task, {"status": status})
        row = Pod.objects.filter(name=name, closed_at__isnull=False)
        _wait(row.exists)
        took.append(time.monotonic() - begun)
        time.sleep(chance.uniform(0, 0.3))
    worst = max(took)
    print(f"{len(took)} changes stood in the rows after {statistics.median(took):.2f} s in the "
          f"median, {worst:.2f} s at worst; goal {GOAL_SECONDS} s", flush=True)  # fmt: skip


def _idle(cluster: Any) -> None:
    """A cycle in which nothing is to be done: the look that need not be, and the sync."""
    from portal.kubernetes import services, tasks
    from portal.kubernetes.models import SyncRun
    from tests.portal.kubernetes import watched

    now = datetime.now(UTC)
    watched.decide(cluster, guaranteed=100, burst=10)
    begun = time.monotonic()
    run = services.sync_cluster(cluster_id=cluster.pk, now=now)
    writes = run.writes if run else 0
    print(f"first sync: {writes:,} writes in {time.monotonic() - begun:.1f} s", flush=True)
    took = []
    runs = SyncRun.objects.count()
    for _ in range(5):
        begun = time.monotonic()
        tasks.collect_cluster(cluster_id=cluster.pk)
        services.sync_cluster(cluster_id=cluster.pk, now=now)
        took.append(time.monotonic() - begun)
    print(f"idle cycle {statistics.median(took):.2f} s, {SyncRun.objects.count() - runs} writes; "
          f"goal {IDLE_SECONDS} s, 0 writes", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
