"""List pages over ten thousand rows: how many queries each asks and how long the server takes.

`python tests/with_services.py python -m tests.benchmarks.portal_pages [--small]`

Requests, jobs, breaches, reservations and quotas (a hundred teams in ten pools, each figure changed
nine times before), so many of each.
Goals: at most 12 queries and under 200 ms a page, the frame around it included; the matrix and the
pages of several lists say what they ask beside it.
"""

import argparse
import os
import statistics
import time
from datetime import UTC, datetime, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
NOW = datetime(2026, 11, 2, 3, tzinfo=UTC)
GOAL_QUERIES, GOAL_MS = 12, 200
TIMES = 7
PAGES = (
    "/requests/?tab=all", "/requests/?tab=all&sort=team", "/requests/?tab=all&page=100",
    "/requests/?tab=waiting", "/api/v1/requests", "/api/v1/reservations", "/api/v1/quotas",
    "/api/v1/breaches", "/quotas/", "/slas/",
)  # fmt: skip


def main() -> None:
    """Fill an empty database, open every page, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a tenth, to see that it runs")
    options = parser.parse_args()
    django.setup()
    _measure(1000 if options.small else 10_000)


def _measure(count: int) -> None:
    from unittest import mock

    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from portal.common import clock
    from portal.teams.models import User

    call_command("migrate", verbosity=0)
    with transaction.atomic():
        _fill(count)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    print(f"{connection.vendor}, {count:,} rows a list")
    with mock.patch.object(clock, "real_now", return_value=NOW):
        for page in PAGES:
            client.get(page)
            took, cpu = [], []
            for _ in range(TIMES):
                begun, spent = time.perf_counter(), time.process_time()
                answer = client.get(page)
                took.append((time.perf_counter() - begun) * 1000)
                cpu.append((time.process_time() - spent) * 1000)
                assert answer.status_code == 200, page
            with CaptureQueriesContext(connection) as asked:
                client.get(page)
            middle = statistics.median(took)
            kept = len(asked) <= GOAL_QUERIES and middle < GOAL_MS
            print(
                f"{page:34} {len(asked):3} queries {middle:6.0f} ms, of it "
                f"{statistics.median(cpu):4.0f} ms of this process  {'' if kept else 'over'}"
            )


def _fill(count: int) -> None:
    """The rows, each list as long as asked for."""
    from portal.inventory.models import Pool
    from portal.quotas.models import Quota
    from portal.requests.models import Request, RequestKind, RequestState
    from portal.reservations.models import Reservation, ReservationState
    from portal.slas.models import Breach, BreachKind, Sla, Tier
    from portal.teams.models import Role, Team, TeamTerm
    from portal.workloads.models import Workload
    from tests import builders

    hour, day = timedelta(hours=1), timedelta(days=1)
    builders.a_user("admin", role=Role.ADMIN)
    lead = builders.a_user("lead", role=Role.LEAD)
    pools = [builders.a_pool(f"pool-{number}", nodes=20) for number in range(10)]
    parents = [builders.a_team(f"branch-{number}") for number in range(10)]
    teams = Team.objects.bulk_create(
        Team(slug=f"team-{n}", name=f"Team {n}", created_at=builders.LONG_AGO)
        for n in range(count // 100)
    )
    TeamTerm.objects.bulk_create(
        TeamTerm(team=team, parent=parents[n % 10], valid_from=builders.LONG_AGO)
        for n, team in enumerate(teams)
    )
    Quota.objects.bulk_create(
        Quota(
            team=team, pool=pool, guaranteed=n % 2, limit=8, created_at=NOW,
            valid_from=builders.LONG_AGO + n * day,
            valid_to=None if n == 9 else builders.LONG_AGO + (n + 1) * day,
        )
        for team in teams
        for pool in pools
        for n in range(10)
    )  # fmt: skip
    hour = timedelta(hours=1)
    states = [RequestState.SUBMITTED, RequestState.APPROVED, RequestState.EXPIRED]
    Request.objects.bulk_create(
        Request(
            kind=RequestKind.RESERVATION,
            team=teams[n % len(teams)],
            pool=pools[n % 10],
            state=states[n % 3],
            requested_by=lead,
            reason="Runs",
            gpus=1 + n % 8,
            zone="UTC",
            starts_at=NOW + (n % 500) * hour,
            ends_at=NOW + (n % 500 + 4) * hour,
            created_at=NOW,
            submitted_at=NOW,
            submitted_by=lead,
            expires_at=NOW + 300 * hour,
        )
        for n in range(count)
    )
    Reservation.objects.bulk_create(
        Reservation(
            team=teams[n % len(teams)],
            pool=pools[n % 10],
            gpus=1,
            zone="UTC",
            starts_at=NOW - (n + 8) * hour,
            ends_at=NOW - (n + 4) * hour,
            created_at=NOW,
            planned_ends_at=NOW - (n + 4) * hour,
            state=ReservationState.COMPLETED,
        )
        for n in range(count)
    )
    tier = Tier.objects.create(name="Gold", target_wait_seconds=1800, created_at=NOW)
    slas = Sla.objects.bulk_create(
        Sla(team=parent, tier=tier, valid_from=builders.LONG_AGO, created_at=NOW)
        for parent in parents
    )
    jobs = Workload.objects.bulk_create(
        Workload(
            cluster=pools[0].cluster,
            uid=f"job-{n}",
            name=f"job-{n}",
            namespace="lab",
            team=teams[n % len(teams)],
            pool=Pool(pk=pools[n % 10].pk),
            tasks=1,
            gpu_milli=1000,
            submitted_at=NOW - (n % 600 + 1) * hour,
            scheduled_at=NOW - (n % 600) * hour,
            state="succeeded",
            ended_at=NOW,
            seen_at=NOW,
        )
        for n in range(count)
    )
    Breach.objects.bulk_create(
        Breach(
            kind=BreachKind.WAIT,
            sla=slas[n % 10],
            team=job.team,
            workload=job,
            due_at=job.submitted_at + hour / 2,
            ended_at=job.scheduled_at,
        )
        for n, job in enumerate(jobs)
    )


if __name__ == "__main__":
    main()
