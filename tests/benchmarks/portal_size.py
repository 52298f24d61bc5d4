"""Every page of a large organisation: queries, server time, bytes over the wire, largest paint.

`python tests/with_services.py python -m tests.benchmarks.portal_size [--small] [--only TEXT]`

200 teams, 2,000 nodes, 3,000 running and 10,000 waiting jobs, a million rows in the ledger, all
in one month. Each page is asked for as an admin and as a team's lead. Goals: at most 15 queries,
under 300 ms server time, under 1.5 MB compressed with all it loads, and the largest paint within
2.5 s in a Chromium whose CPU is slowed down four times.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
GOAL_QUERIES, GOAL_MS, GOAL_BYTES, GOAL_PAINT_MS = 15, 300, 1_500_000, 2500
CELLS = 8640
TIMES = 5
SLOWER = 4
PAINT = """() => new Promise(done => {
  let last = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) { last = entry.startTime; }
  }).observe({type: 'largest-contentful-paint', buffered: true});
  setTimeout(() => done(last), 1500);
})"""


@dataclass(frozen=True, slots=True)
class Page:
    """What one address cost, for one role."""

    role: str
    address: str
    queries: int
    milliseconds: float
    size: int = 0
    paint: float = 0

    def misses(self) -> str:
        """The goals it does not meet, in words."""
        found = {
            "queries": self.queries > GOAL_QUERIES,
            "server": self.milliseconds >= GOAL_MS,
            "bytes": self.size >= GOAL_BYTES,
            "paint": self.paint >= GOAL_PAINT_MS,
        }
        return " ".join(name for name, missed in found.items() if missed)


def main() -> None:
    """Fill an empty database, open every page, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a tenth, to see that it runs")
    parser.add_argument("--only", default="", metavar="TEXT", help="addresses that hold this")
    parser.add_argument("--no-browser", action="store_true", help="server time and queries only")
    options = parser.parse_args()
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    begun = time.perf_counter()
    ids = _fill(10 if options.small else 1)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"{connection.vendor}, filled in {time.perf_counter() - begun:.0f} s", flush=True)
    settings.ALLOWED_HOSTS = ["*"]
    pages = [page for role in ("admin", "lead") for page in _served(role, ids, options.only)]
    if not options.no_browser:
        pages = _painted(pages)
    for page in sorted(pages, key=lambda page: -page.milliseconds):
        print(
            f"{page.role:6} {page.address:44} {page.queries:3} queries {page.milliseconds:5.0f} ms "
            f"{page.size / 1000:6.0f} kB  paint {page.paint:5.0f} ms  {page.misses()}"
        )


def _fill(part: int) -> dict[str, list[Any]]:
    """The organisation, three ticks and its bill; gives what the arguments of routes may be."""
    from django.db import transaction

    from portal.common import clock
    from portal.finance import services as finance
    from portal.finance.services import NewRate
    from portal.inventory.models import GPUModel, Node, Pool
    from portal.teams.models import Organisation, Role, Team
    from portal.usage import services as usage
    from tests import builders
    from tests.benchmarks import portal_rows as rows

    Organisation.objects.create(name="Hangang Labs")
    with transaction.atomic():
        cluster = rows.fill(10_000 // part, 200 // part, 2000 // part, 3000 // part)
    for number in range(3):
        rows.run(cluster, number, "")
    pool, team = Pool.objects.get(), Team.objects.get(slug="team-0")
    builders.a_user("admin", role=Role.ADMIN)
    builders.a_user("lead", Role.LEAD, team)
    finance.set_rate_card(
        name="Card", currency="KRW", valid_from=rows.NOW - timedelta(days=60), actor_id=None,
        tax_basis_points=1000, now=rows.NOW,
        rates=[NewRate(pool.pk, 2_000_000_000, borrowed_milli=700)],
    )  # fmt: skip
    _ledger(cluster.pk, pool.pk, GPUModel.objects.get().name, Node, 1_000_000 // part, rows.NOW)
    usage.rebuild_rollups()
    month = rows.NOW - timedelta(days=5)
    finance.compute_month(month_start=month, now=rows.NOW)
    clock.set_anchor(real_at=clock.real_now(), organisation_at=rows.NOW + 3 * rows.PERIOD, speed=1)
    return _ids(cluster.pk, pool.pk, team.pk, month)


def _ledger(cluster: int, pool: int, model: str, nodes: Any, count: int, now: datetime) -> None:
    """So many rows of the month before, by the benchmark of the bill's own statement."""
    from django.db import connection

    from portal.teams.models import Team
    from tests.benchmarks import bill

    given = {
        "cluster": cluster, "pool": pool, "pools": 1, "node": nodes.objects.order_by("id")[0].pk,
        "nodes": nodes.objects.count(), "team": Team.objects.get(slug="team-0").pk,
        "teams": Team.objects.filter(slug__startswith="team-").count(),
        "starts": now - timedelta(days=30), "cells": CELLS, "slots": count // CELLS + 1,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(bill.LEDGER.replace("'H100'", f"'{model}'"), given)


def _ids(cluster: int, pool: int, team: int, month: datetime) -> dict[str, list[Any]]:
    from portal.finance.models import Statement
    from portal.scheduling.models import Tick
    from portal.workloads.models import Workload

    jobs = Workload.objects.filter(team_id=team)
    return {
        "cluster_id": [cluster], "pool_id": [pool], "team_id": [team],
        "month": [f"{month:%Y-%m}"], "tick_id": [Tick.objects.latest("id").pk],
        "statement_id": list(Statement.objects.filter(team_id=team).values_list("pk", flat=True)),
        "workload_id": [
            jobs.filter(state=state).values_list("pk", flat=True)[0]
            for state in ("running", "waiting")
        ],
    }  # fmt: skip


def _served(role: str, ids: dict[str, list[Any]], only: str) -> Iterator[Page]:
    """Every page this role may open, asked for inside this process."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from portal.teams.models import User
    from tests.browser.test_pages import addresses, routes

    client = Client()
    client.force_login(User.objects.get(username=role))
    for name, arguments in routes():
        if not all(argument in ids for argument in arguments):
            continue
        for address in addresses(name, arguments, ids):
            if only not in address or client.get(address).status_code != 200:
                continue
            taken = []
            for _ in range(TIMES):
                begun = time.perf_counter()
                client.get(address)
                taken.append((time.perf_counter() - begun) * 1000)
            with CaptureQueriesContext(connection) as asked:
                client.get(address)
            yield Page(role, address, len(asked), statistics.median(taken))


def _painted(pages: list[Page]) -> list[Page]:
    """The same pages from a web server, drawn by a slow browser."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import FLAGS, NAMES

    chrome = next(found for name in NAMES if (found := shutil.which(name)))
    with _serving() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chrome, args=list(FLAGS))
        painted = [_paint(browser, address, page) for page in pages]
        browser.close()
    return painted


def _paint(browser: Any, address: str, page: Page) -> Page:
    """Open one page with nothing in the cache."""
    from dataclasses import replace

    context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": _session(page.role), "url": address}])
    opened = context.new_page()
    tools = context.new_cdp_session(opened)
    tools.send("Network.enable")
    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    sizes: list[float] = []
    tools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    opened.goto(f"{address}{page.address}")
    paint = float(opened.evaluate(PAINT))
    context.close()
    return replace(page, size=int(sum(sizes)), paint=paint)


def _session(role: str) -> str:
    """A session of this person, made as signing in would."""
    from django.test import Client

    from portal.teams.models import User

    client = Client()
    client.force_login(User.objects.get(username=role))
    return client.cookies["sessionid"].value


@contextmanager
def _serving() -> Iterator[str]:
    """The web server of production on a free port, with the same database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "portal.wsgi", "--bind", f"127.0.0.1:{port}"]
    web = subprocess.Popen([*command, "--workers", "2", "--log-level", "warning"])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        web.terminate()
        web.wait(30)


if __name__ == "__main__":
    main()
