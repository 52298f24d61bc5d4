"""One tick on rows: freeze, plan, record, on the database that DATABASE_URL names.

`python tests/with_services.py python -m tests.benchmarks.portal_cycle [--profile PART] [--small]`

1,300 nodes of 8 GPUs, 200 teams in 10 branches, 3,000 running jobs and 10,000 waiting ones, as the
engine's own benchmark has them. The first tick says everything of everybody; the later ones, a
period apart, are what an installation pays every time. Goal: under 3 s for all three together.
"""

import argparse
import os
import resource
import statistics

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
GOAL_SECONDS = 3.0
"""Freeze, plan and record together, once the first tick has been."""


def main() -> None:
    """Fill an empty database, tick, and print seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", choices=["freeze", "plan", "record"], default="")
    parser.add_argument("--small", action="store_true", help="a tenth, to see that it runs")
    parser.add_argument("--ticks", type=int, default=5)
    parser.add_argument("--backfill", choices=["off", "easy", "conservative"])
    options = parser.parse_args()
    django.setup()
    _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.db import connection, transaction

    from portal.inventory.models import Node, Pool
    from portal.scheduling import services
    from portal.scheduling.models import Decision, Tick
    from portal.teams.models import Team
    from portal.workloads.models import Workload
    from tests.benchmarks import portal_rows as rows

    part = 10 if options.small else 1
    call_command("migrate", verbosity=0)
    with transaction.atomic():
        cluster = rows.fill(10_000 // part, 200 // part, 1300 // part, 3000 // part)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"{connection.vendor}: {Node.objects.count():,} nodes, {Team.objects.count()} teams, "
          f"{Workload.objects.count():,} jobs")  # fmt: skip
    pool, team_ids = Pool.objects.get(), list(Team.objects.values_list("id", flat=True))
    if options.backfill:
        services.set_policy(
            cluster_id=cluster.pk, rules={"backfill": options.backfill}, actor_id=None,
            now=rows.NOW,
        )  # fmt: skip
    later: list[float] = []
    for number in range(options.ticks):
        seconds = rows.run(cluster, number, options.profile if number == options.ticks - 1 else "")
        whole = sum(seconds.values())
        later += [whole] if number else []
        told = ", ".join(f"{name} {took:.2f}" for name, took in seconds.items())
        print(f"tick {number + 1}: {told}, together {whole:.2f} s; {Decision.objects.count():,} "
              f"decisions by now", flush=True)  # fmt: skip
        rows.arrivals(pool, team_ids, number, rows.NOW + (number + 1) * rows.PERIOD)
    size = Tick.objects.order_by("-id").values_list("snapshot", flat=True)[0]
    median = statistics.median(later)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"median of later ticks {median:.2f} s, goal {GOAL_SECONDS} s; peak {peak:,.0f} MiB; "
          f"{Workload.objects.count() / median:,.0f} decisions/s; "
          f"a snapshot takes {len(bytes(size or b'')) / 1024:.0f} KiB")  # fmt: skip


if __name__ == "__main__":
    main()
