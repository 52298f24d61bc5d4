"""What breaks first: 50 clusters, 20,000 nodes and 5,000 teams on the database DATABASE_URL names.

`python tests/with_services.py python -m tests.benchmarks.scale [--clusters 50] [--nodes 20000]
[--teams 5000] [--jobs 20000]`

One cluster holds its share of nodes and jobs, and quotas of every team; the others their nodes.
Measured are a tick of the one, in its parts, what all of them then ask of the workers, the pages
everybody opens, and what Prometheus asks.
"""

import argparse
import os
import statistics
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
PAGES = (
    "/metrics", "/readyz", "/queue/", "/capacity/", "/requests/", "/api/v1/quotas", "/fairness/",
    "/slas/", "/reserve/", "/", "/quotas/",
)  # fmt: skip
TIMES = 1
PERIOD_SECONDS = 15


def main() -> None:
    """Fill, tick, open pages, and print what each took of this process."""
    parser = argparse.ArgumentParser()
    for name, default in (("clusters", 50), ("nodes", 20_000), ("teams", 5000), ("jobs", 20_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    django.setup()
    _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.db import connection, transaction

    from tests.benchmarks import portal_rows as rows

    call_command("migrate", verbosity=0)
    nodes, jobs = options.nodes // options.clusters, options.jobs // options.clusters
    with transaction.atomic():
        cluster = rows.fill(jobs * 3 // 4, options.teams, nodes, jobs // 4)
        _others(options.clusters - 1, nodes)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"{options.clusters} clusters, {options.nodes:,} nodes, {options.teams:,} teams; one "
          f"cluster with {nodes} nodes and {jobs} jobs")  # fmt: skip
    whole = []
    for number in range(4):
        begun = time.process_time()
        seconds = rows.run(cluster, number, "")
        spent = time.process_time() - begun
        whole += [sum(seconds.values())] if number else []
        told = ", ".join(f"{name} {took:.2f}" for name, took in seconds.items())
        print(f"tick {number + 1}: {told} s, of it {spent:.2f} s of this process", flush=True)
    tick = statistics.median(whole)
    print(f"a tick {tick:.2f} s, so {options.clusters} clusters every {PERIOD_SECONDS} s keep "
          f"{options.clusters * tick / PERIOD_SECONDS:.1f} workers busy")  # fmt: skip
    _pages()


def _others(count: int, nodes: int) -> None:
    from portal.inventory.models import Cluster, GPUModel, Node, Pool
    from tests.benchmarks.portal_rows import LONG_AGO, NOW

    model = GPUModel.objects.get()
    clusters = Cluster.objects.bulk_create(
        Cluster(name=f"cluster-{n}", kind="simulated", created_at=LONG_AGO, seen_real_at=NOW,
                seen_at=NOW)
        for n in range(count)
    )  # fmt: skip
    pools = Pool.objects.bulk_create(
        Pool(cluster=cluster, name="p", gpu_model=model, created_at=LONG_AGO)
        for cluster in clusters
    )
    Node.objects.bulk_create(
        (
            Node(cluster=pool.cluster, pool=pool, name=f"node-{n}", gpus=8, cpu_milli=128_000,
                 memory_mib=1_000_000, first_seen_at=LONG_AGO)
            for pool in pools
            for n in range(nodes)
        ),
        batch_size=2000,
    )  # fmt: skip


def _pages() -> None:
    from unittest import mock

    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from portal.common import clock
    from portal.teams.models import Role
    from tests import builders
    from tests.benchmarks.portal_rows import NOW

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(builders.a_user("admin", role=Role.ADMIN))
    with mock.patch.object(clock, "real_now", return_value=NOW):
        for page in PAGES:
            answer = client.get(page)
            took, cpu = [], []
            for _ in range(TIMES):
                begun, spent = time.perf_counter(), time.process_time()
                answer = client.get(page)
                took.append((time.perf_counter() - begun) * 1000)
                cpu.append((time.process_time() - spent) * 1000)
            with CaptureQueriesContext(connection) as asked:
                client.get(page)
            print(f"{page:16} {answer.status_code} {len(asked):4} queries "
                  f"{statistics.median(took):7.0f} ms, of it {statistics.median(cpu):6.0f} ms of "
                  f"this process, {len(answer.content) / 1024:6.0f} KiB", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
