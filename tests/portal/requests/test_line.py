"""The page of a request shows its whole line, step by step, from who agreed to the bill."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal.finance.models import LineKind, Month, Statement, StatementLine
from portal.inventory.models import Namespace, NamespaceOwner
from portal.kubernetes.models import SyncRun, SyncState, SyncWrite
from portal.requests import line, selectors, services
from portal.requests.models import Request
from portal.reservations.models import Reservation
from portal.teams.models import User
from tests import builders
from tests.portal.requests.world import DAY, HOUR, World, a_submitted, a_submitted_quota

pytestmark = pytest.mark.usefixtures("at_now")


def _approved(row: Request, world: World, now: datetime) -> Request:
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    return selectors.get_request(request_id=row.pk)


def _written(world: World, at: datetime, was: str, now: str, pool: str = "h100") -> SyncRun:
    """A sync changes Vision's guarantee in its namespace."""
    cluster = world.pool.cluster
    place, _made = Namespace.objects.get_or_create(
        cluster=cluster, name="vision-jobs", defaults={"created_at": at}
    )
    NamespaceOwner.objects.get_or_create(
        namespace=place, team=world.vision, defaults={"valid_from": builders.LONG_AGO}
    )
    run = SyncRun.objects.create(cluster=cluster, at=at, state=SyncState.DONE)
    for name in (f"evenshare-guaranteed-{pool}", "evenshare-total"):
        SyncWrite.objects.create(
            run=run, kind="ResourceQuota", namespace="vision-jobs", name=name, was=was, now=now,
            field="spec.hard[requests.nvidia.com/gpu]",
        )  # fmt: skip
    return run


def _used_and_billed(world: World, reservation: Reservation, now: datetime) -> Statement:
    """Four GPUs for two of the hours, by one job of two pods, on this month's statement."""
    job = builders.a_workload(world.vision, world.pool, "train", reservation_id=reservation.pk)
    for _pod in range(2):
        builders.a_pod(job, world.pool.nodes.all()[0])
    begins = reservation.starts_at
    builders.use(world.vision, world.pool, begins, begins + 2 * HOUR, 4, charged_to="reserved",
                 reservation=reservation)  # fmt: skip
    month = Month.objects.create(
        name="2026-11", starts_at=now.replace(day=1), ends_at=now.replace(day=28), zone="UTC"
    )
    statement = Statement.objects.create(
        month=month, team=world.vision, team_name="Vision", period_starts_at=month.starts_at,
        period_ends_at=month.ends_at, zone="UTC", currency="KRW", computed_at=now,
    )  # fmt: skip
    StatementLine.objects.create(
        statement=statement, kind=LineKind.USE, charged_to="reserved", pool=world.pool,
        reservation_id=reservation.pk, from_at=begins, to_at=begins + 2 * HOUR,
        gpu_milli_seconds=8 * 3_600_000, amount_micro=12_000 * 10**6,
    )  # fmt: skip
    return statement


def _page(user: User, row: Request) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("requests:detail", args=[row.pk])).content.decode()


def test_every_step_is_there_and_links_to_where_it_is_from(world: World, now: datetime) -> None:
    row = _approved(a_submitted(world, now), world, now)
    reservation = Reservation.objects.get(request_id=row.pk)
    opened = _written(world, reservation.starts_at + timedelta(minutes=1), "4", "8")
    closed = _written(world, reservation.ends_at + timedelta(minutes=1), "8", "4")
    _written(world, reservation.starts_at + timedelta(minutes=2), "0", "1", pool="t4")
    _written(world, reservation.ends_at + DAY, "4", "5")
    statement = _used_and_billed(world, reservation, now)
    found = line.get_line(request=row)
    assert [(w.run_id, w.was, w.now) for w in found.written] == [
        (opened.pk, "4", "8"), (closed.pk, "8", "4"),
    ]  # fmt: skip
    assert found.promise is not None
    assert (found.promise.gpus, found.promise.adds) == (4, True)
    assert (len(found.jobs), found.pods) == (1, 2)
    assert found.gpu_milli_seconds == 4 * 1000 * 2 * 3600
    text = _page(world.admin, row)
    for shown in (
        reverse("kubernetes:run", args=[opened.pk]), "guarantee in vision-jobs: 4 → 8",
        reverse("dashboards:workload", args=[found.jobs[0].id]), "2 pods", "8.0 GPU-hours",
        reverse("finance:statement", args=[statement.pk]), f"R-{reservation.pk}",
    ):  # fmt: skip
        assert shown in text, shown


def test_who_does_not_oversee_sees_what_was_written_without_a_link(
    world: World, now: datetime
) -> None:
    row = _approved(a_submitted(world, now), world, now)
    run = _written(world, now + DAY + timedelta(minutes=1), "4", "8")
    text = _page(world.member, row)
    assert "guarantee in vision-jobs: 4 → 8" in text
    assert reverse("kubernetes:run", args=[run.pk]) not in text


def test_steps_that_have_not_come_say_so(world: World, now: datetime) -> None:
    asked = a_submitted(world, now)
    assert "Nothing yet. Once approved" in _page(world.lead, asked)
    text = _page(world.lead, _approved(asked, world, now))
    for said in ("nothing yet", "none yet", "0.0 GPU-hours", "on no statement yet"):
        assert said in text, said


def test_a_quota_s_line_goes_to_its_history_and_to_the_cluster(world: World, now: datetime) -> None:
    row = _approved(a_submitted_quota(world, now), world, now)
    run = _written(world, now + HOUR, "4", "6")
    text = _page(world.admin, row)
    assert reverse("requests:quota-history", args=[world.vision.pk, world.pool.pk]) in text
    assert reverse("kubernetes:run", args=[run.pk]) in text
    assert "6 GPUs guaranteed" in text


def test_a_long_line_takes_no_more_queries_than_a_short_one(
    world: World, now: datetime, django_assert_max_num_queries: Any
) -> None:
    row = _approved(a_submitted(world, now), world, now)
    reservation = Reservation.objects.get(request_id=row.pk)
    _used_and_billed(world, reservation, now)
    for number in range(20):
        builders.a_workload(world.vision, world.pool, f"j{number}", reservation_id=reservation.pk)
        _written(world, reservation.starts_at + timedelta(minutes=number), "4", "8")
    with django_assert_max_num_queries(8):
        found = line.get_line(request=row)
    assert (len(found.jobs), found.more_jobs, len(found.written)) == (10, 11, line.MOST_WRITES)
