"""A month of ledger rows on the PostgreSQL that DATABASE_URL names: sums, close, and cost pages.

`BILL_ROWS=10000000 python tests/with_services.py python -m tests.benchmarks.bill`

A month of November in Seoul: 40 teams in 4 departments, 4 pools of 40 nodes, and as many pods at
all times as BILL_ROWS asks for (by default a million rows, 116 pods; ten million are 1,158), each
for about a day, in rows of five minutes, made by the database itself in the order of time, as a
collector would. Goals: a team's cost page under 300 ms, the close of the month under 60 s.
"""

import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper
    from django.test import Client

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
STARTS = datetime(2026, 10, 31, 15, tzinfo=UTC)
ENDS = datetime(2026, 11, 30, 15, tzinfo=UTC)
CELLS = 8640
TEAMS, POOLS, NODES = 40, 4, 40
PAGE_GOAL, CLOSE_GOAL = 0.3, 60.0

# Pods by cell, as a collector appends them; each is a job of its own, and lives for a day.
LEDGER = """
INSERT INTO usage_ledgerentry (cluster_id, pod_uid, from_at, to_at, revision, sign, workload_id,
  reservation_id, team_id, user_id, pool_id, node_id, gpu_model, gpu_milli, cpu_milli, memory_mib,
  charged_to, seconds, source, estimated)
SELECT %(cluster)s, 'pod-' || slot || '-' || (cell / 288), %(starts)s + cell * interval '5 min',
  %(starts)s + (cell + 1) * interval '5 min', 0, 1, slot * 30 + cell / 288 + 1, NULL,
  %(team)s + slot %% %(teams)s, NULL, %(pool)s + slot %% %(pools)s,
  %(node)s + slot %% %(pools)s * %(nodes)s + slot / %(pools)s %% %(nodes)s, 'H100',
  CASE WHEN slot %% 10 = 0 THEN 500 ELSE 1000 END, 0, 0,
  CASE slot %% 3 WHEN 0 THEN 'borrowed' ELSE 'guaranteed' END, 300, 'pod', false
FROM generate_series(0, %(cells)s - 1) AS cell,
  LATERAL (SELECT slot FROM generate_series(0, %(slots)s - 1) AS slot ORDER BY slot) AS slots
"""
JOBS = """
INSERT INTO workloads_workload
SELECT (jsonb_populate_record(one, jsonb_build_object('id', job, 'uid', 'job-' || job,
  'name', 'train-' || job, 'team_id', %(team)s + (job - 1) / 30 %% %(teams)s))).*
FROM workloads_workload AS one, generate_series(2, %(slots)s * 30) AS job WHERE one.id = 1
"""
MEASURED = """
INSERT INTO usage_measureduse (cluster_id, workload_id, hour, measured_milli_seconds,
  used_milli_seconds, source, noted_at)
SELECT cluster_id, workload_id, date_trunc('hour', from_at), sum(gpu_milli * seconds),
  sum(gpu_milli * seconds) * (workload_id %% 10) / 10, 'dcgm', min(from_at)
FROM usage_ledgerentry GROUP BY 1, 2, 3
"""


def main() -> None:
    """Fill an empty database, and print seconds."""
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    _timed("fill", lambda: _fill(int(os.environ.get("BILL_ROWS", "1000000"))))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM usage_ledgerentry")
        print(f"{connection.vendor}: {cursor.fetchone()[0]:,} rows", flush=True)
    measure()


def measure() -> None:
    """Print seconds of what a filled database is asked for."""
    from portal.finance import selectors, services
    from portal.inventory.models import Cluster
    from portal.usage import appending, rollups
    from portal.usage import services as usage

    _timed("hourly sums, all of the month", lambda: usage.rebuild_rollups())
    newest = [
        (pk, ENDS - timedelta(hours=1)) for pk in Cluster.objects.values_list("pk", flat=True)
    ]
    appending.mark_stale(newest)
    _timed("hourly sums, of the newest hour", lambda: usage.roll_up())
    _timed("check of the sums", lambda: list(rollups.differences(STARTS, ENDS)))
    late = ENDS + timedelta(hours=1)
    _timed("reckoning of the open month", lambda: services.compute_month(
        month_start=STARTS, now=ENDS - timedelta(minutes=5)))  # fmt: skip
    close = _timed("close of the month", lambda: services.close_month(
        month_start=STARTS, actor_id=None, now=late))  # fmt: skip
    found = selectors.get_reconciliation(instant=STARTS)
    print("adds up" if found and found.adds_up else "DOES NOT ADD UP")
    worst = _pages()
    verdict = "met" if worst < PAGE_GOAL and close < CLOSE_GOAL else "MISSED"
    print(f"goals (page {PAGE_GOAL * 1000:.0f} ms, close {CLOSE_GOAL:.0f} s): {verdict}")


def _pages() -> float:
    """Read the pages of one team's lead; gives the slowest."""
    from django.db import connection
    from django.test import Client

    from portal.finance.models import Statement
    from portal.teams.models import Role, Team
    from tests import builders

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    team = Team.objects.order_by("-id")[0]
    client = Client()
    client.force_login(builders.a_user("lead", Role.LEAD, team))
    statement = Statement.objects.get(team=team)
    pages = {
        "a team's costs": "/costs/?month=2026-11",
        "a team's statement": f"/costs/statements/{statement.pk}/",
        "a team's use by workload": "/costs/use/?month=2026-11&by=workload",
    }
    return max(_page(client, what, address) for what, address in pages.items())


def _page(client: "Client", what: str, address: str) -> float:
    taken = []
    for _ in range(6):
        begun = time.perf_counter()
        answer = client.get(address)
        taken.append(time.perf_counter() - begun)
        assert answer.status_code == 200, answer.status_code
    print(f"{what}: {statistics.median(taken[1:]) * 1000:,.0f} ms")
    return statistics.median(taken[1:])


def _timed(what: str, act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    taken = time.perf_counter() - begun
    print(f"{what}: {taken:,.1f} s", flush=True)
    return taken


def _fill(rows: int) -> None:
    from django.db import connection, transaction

    from portal.finance import services
    from portal.finance.services import NewRate
    from portal.inventory.models import Node, Pool
    from portal.teams.models import Organisation, Team
    from tests import builders

    Organisation.objects.create(name="Hangang Labs")
    above = [builders.a_team(f"department-{number}") for number in range(4)]
    for number in range(TEAMS):
        builders.a_team(f"team-{number}", parent=above[number % 4])
    for number in range(POOLS):
        builders.a_pool(f"pool-{number}", nodes=NODES)
    services.set_rate_card(
        name="Card", currency="KRW", valid_from=STARTS - timedelta(days=9), actor_id=None,
        tax_basis_points=1000, now=STARTS,
        rates=[NewRate(pool.pk, 2_000_000_000, borrowed_milli=700) for pool in Pool.objects.all()],
    )  # fmt: skip
    slots = rows // CELLS + 1
    builders.a_workload(Team.objects.get(slug="team-0"), Pool.objects.order_by("id")[0])
    given: dict[str, str | int | datetime] = {
        "cluster": Pool.objects.all()[0].cluster_id, "starts": STARTS, "cells": CELLS,
        "slots": slots, "team": Team.objects.get(slug="team-0").pk, "teams": TEAMS,
        "pool": Pool.objects.order_by("id")[0].pk, "pools": POOLS,
        "node": Node.objects.order_by("id")[0].pk, "nodes": NODES,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        # Keys and indexes are made behind the rows: filling is not what is measured.
        cursor.execute("SET LOCAL session_replication_role = replica")
        remade = _without_indexes(cursor)
        for statement in (LEDGER, JOBS, MEASURED):
            cursor.execute(statement, given)
        for statement in remade:
            cursor.execute(statement)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _without_indexes(cursor: "CursorWrapper") -> list[str]:
    """Take the ledger's indexes and unique key away; gives what makes them anew."""
    cursor.execute(
        "SELECT format('ALTER TABLE usage_ledgerentry DROP CONSTRAINT %I', conname), "
        "format('ALTER TABLE usage_ledgerentry ADD CONSTRAINT %I %s', conname, "
        "pg_get_constraintdef(oid)) FROM pg_constraint "
        "WHERE conrelid = 'usage_ledgerentry'::regclass AND contype = 'u' UNION ALL "
        "SELECT format('DROP INDEX %I', indexname), indexdef FROM pg_indexes "
        "WHERE tablename = 'usage_ledgerentry' "
        "AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    )
    found = cursor.fetchall()
    for away, _anew in found:
        cursor.execute(away)
    return [anew for _away, anew in found]


if __name__ == "__main__":
    main()
