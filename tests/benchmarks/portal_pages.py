"""List pages over ten thousand rows: how many queries each asks and how long the server takes.

`python tests/with_services.py python -m tests.benchmarks.portal_pages [--small] [--profile PAGE]`

So many requests, reservations, jobs that wait and jobs that ended, breaches, people, news, lines of
the audit, budgets, statements, drifts, syncs and Ray groups, and quotas of a hundred teams in ten
pools, each figure changed nine times before. Goals: at most 12 queries and under 200 ms a page, the
frame around it included; pages that are no list but several have goals of their own.
"""

import argparse
import cProfile
import os
import pstats
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
GOAL_QUERIES, GOAL_MS = 12, 200
TIMES = 7
MORE = {
    r"/clusters/\d+/": 13, r"/quotas/pools/\d+/": 13, r"/queue/(\d+/)?": 15, r"/capacity/": 15,
    r"/maintenance/": 15, r"/rules/": 15, r"/requests/(quota|extension|give-back|sla)/": 15,
    r"/costs/statements/\d+/": 15, r"/costs/": 18, r"/": 19, r"/costs/use/": 22,
    r"/reserve/(\?span=month)?": 21,
}  # fmt: skip
"""Goals of their own: the queue says whose jobs wait and how good forecasts were, a cluster how it
stands; the figures of a pool are a form beside its sums and effects. Pages that are no list but
several, or a form that answers while it is filled in, ask as much as they show."""


def main() -> None:
    """Fill an empty database, open every page, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a tenth, to see that it runs")
    parser.add_argument("--profile", default="", metavar="PAGE", help="where this page's time goes")
    options = parser.parse_args()
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection, transaction

    from tests.benchmarks import portal_pages_rows as rows

    count = 1000 if options.small else 10_000
    call_command("migrate", verbosity=0)
    with transaction.atomic():
        pages = rows.fill(count)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    settings.ALLOWED_HOSTS = ["*"]
    print(f"{connection.vendor}, {count:,} rows a list", flush=True)
    with _at(rows.NOW):
        missed = sum([_measured(page, options.profile) for page in pages])
    print(f"{missed} of {len(pages)} pages over")


def goal_of(page: str) -> int:
    """How many queries a page may ask."""
    own = next((most for form, most in MORE.items() if re.fullmatch(form, page)), GOAL_QUERIES)
    return own


@contextmanager
def _at(now: object) -> Iterator[None]:
    from unittest import mock

    from portal.common import clock

    with mock.patch.object(clock, "real_now", return_value=now):
        yield


def _measured(page: str, profiled: str) -> bool:
    """Open one page several times and print its line; true where it misses a goal."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from portal.teams.models import User

    client = Client()
    client.force_login(User.objects.get(username="admin"))
    assert client.get(page).status_code == 200, page
    took, cpu = [], []
    for _ in range(TIMES):
        begun, spent = time.perf_counter(), time.process_time()
        client.get(page)
        took.append((time.perf_counter() - begun) * 1000)
        cpu.append((time.process_time() - spent) * 1000)
    with CaptureQueriesContext(connection) as asked:
        client.get(page)
    middle = statistics.median(took)
    kept = middle < GOAL_MS and len(asked) <= goal_of(page)
    print(
        f"{page:32} {len(asked):3} queries {middle:6.0f} ms, of it "
        f"{statistics.median(cpu):4.0f} ms of this process  {'' if kept else 'over'}",
        flush=True,
    )
    if page == profiled:
        watch = cProfile.Profile()
        watch.runcall(client.get, page)
        pstats.Stats(watch, stream=sys.stdout).sort_stats("cumulative").print_stats(60)
        slow = sorted(asked.captured_queries, key=lambda one: -float(one["time"]))
        print(*(f"{one['time']} {one['sql'][:300]}" for one in slow[:6]), sep="\n")
    return not kept


if __name__ == "__main__":
    main()
