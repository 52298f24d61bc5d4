"""Hourly sums are the ledger's, whatever was appended; use told apart is exact to the second."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.common.errors import Invalid
from portal.inventory.models import Pool
from portal.teams.models import Role
from portal.usage import appending, breakdown, rollups, services
from portal.usage.appending import Row
from portal.usage.breakdown import Dimension, Filter
from portal.usage.models import HourlyUse, LedgerEntry, StaleHour
from portal.usage.services import Measurement
from tests import builders
from tests.portal.finance.test_any_month import undone

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
HOUR = 3_600_000


def at(minute: int, second: int = 0) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minute, seconds=second)


def a_row(pool: Pool, minute: int, seconds: int = 300, **columns: Any) -> Row:
    """Vision's or nobody's GPU for up to five minutes."""
    columns = {
        "cluster_id": pool.cluster_id, "pod_uid": "pod", "from_at": at(minute),
        "to_at": at(minute, seconds), "revision": 0, "sign": 1, "workload_id": 7,
        "reservation_id": None, "team_id": None, "user_id": None, "pool_id": pool.pk, "node_id": 1,
        "gpu_model": "H100", "gpu_milli": 1000, "cpu_milli": 0, "memory_mib": 0,
        "charged_to": "borrowed", "seconds": seconds, "source": "pod", "estimated": False, **columns,
    }  # fmt: skip
    return Row(**columns)


def check() -> tuple[int, str]:
    """What `rollups check` says and how it ends."""
    out = StringIO()
    try:
        call_command("rollups", "check", stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def test_what_is_appended_is_summed_by_the_hour_and_only_once() -> None:
    pool = builders.a_pool()
    appending.append([a_row(pool, 0), a_row(pool, 5), a_row(pool, 60, 120, estimated=True)])
    assert services.roll_up() == 2
    assert services.roll_up() == 0
    found = HourlyUse.objects.values_list("hour", "gpu_milli_seconds", "estimated_milli_seconds")
    assert list(found) == [(at(0), 600_000, 0), (at(60), 120_000, 120_000)]


def test_a_repeat_that_appends_nothing_makes_no_hour_stale() -> None:
    pool = builders.a_pool()
    appending.append([a_row(pool, 0)])
    services.roll_up()
    appending.append([a_row(pool, 0)])
    assert not StaleHour.objects.exists()


def test_a_correction_is_summed_into_its_own_old_hour() -> None:
    pool = builders.a_pool()
    appending.append([a_row(pool, 0), a_row(pool, 5)])
    services.roll_up()
    services.correct(cluster_id=pool.cluster_id, pod_uid="pod", seen=[a_row(pool, 0)])
    services.roll_up()
    assert HourlyUse.objects.get().gpu_milli_seconds == 300_000
    assert check() == (0, "every sum is the ledger's\n")


def test_the_check_names_a_sum_that_is_wrong_and_a_rebuild_rights_it() -> None:
    pool = builders.a_pool()
    appending.append([a_row(pool, 0), a_row(pool, 60)])
    services.roll_up()
    HourlyUse.objects.filter(hour=at(0)).update(gpu_milli_seconds=1)
    code, said = check()
    assert code == 1
    assert "2026-11-02 12:00:00" in said
    assert "ledger 300000, sums 1" in said
    call_command("rollups", "rebuild", stdout=StringIO())
    assert check()[0] == 0
    assert HourlyUse.objects.count() == 2


def test_the_check_finds_a_missing_and_a_doubled_hour() -> None:
    pool = builders.a_pool()
    appending.append([a_row(pool, 0), a_row(pool, 60)])
    services.roll_up()
    HourlyUse.objects.filter(hour=at(0)).delete()
    doubled = HourlyUse.objects.get()
    doubled.pk = None
    doubled.save(force_insert=True)
    assert len(check()[1].splitlines()) == 3


spans = st.tuples(st.integers(0, 280), st.integers(1, 5), st.integers(1, 8), st.booleans())


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(spans, max_size=30, unique_by=lambda span: span[0] // 5),
    first=st.integers(0, 290 * 60),
    length=st.integers(1, 290 * 60),
    summed=st.integers(0, 30),
)
def test_parts_of_any_period_are_those_counted_row_by_row(
    rows: list[tuple[int, int, int, bool]], first: int, length: int, summed: int
) -> None:
    with undone():
        pool = builders.a_pool()
        team = builders.a_team()
        ledger = [
            a_row(
                pool, minute // 5 * 5, min(5, share) * 60, gpu_milli=125 * gpus, pod_uid=f"p{minute}",
                team_id=team.pk if owned else None, estimated=not owned,
            )
            for minute, share, gpus, owned in rows
        ]  # fmt: skip
        appending.append(ledger[:summed])
        services.roll_up()
        appending.append(ledger[summed:])
        from_at, to_at = at(0, first), at(0, first + length)
        parts = breakdown.break_down(Dimension.TEAM, Filter(from_at, to_at))
        wanted: dict[int | None, int] = {}
        for row in ledger:
            seconds = int((min(row.to_at, to_at) - max(row.from_at, from_at)).total_seconds())
            if seconds > 0:
                wanted[row.team_id] = wanted.get(row.team_id, 0) + row.gpu_milli * seconds
        assert {part.key: part.held for part in parts} == wanted
        assert {p.key: p.estimated for p in parts if p.key is None and p.held} == {
            key: held for key, held in wanted.items() if key is None
        }
        assert list(rollups.differences(at(0), at(400))) == []


def test_use_is_told_apart_by_everything_that_names_it(client: Client) -> None:
    pool = builders.a_pool(nodes=1)
    research = builders.a_team("research")
    vision = builders.a_team("vision", parent=research)
    minji = builders.a_user("minji", Role.MEMBER, vision)
    job = builders.a_workload(vision, pool, "train")
    appending.append(
        [
            a_row(pool, 0, team_id=vision.pk, user_id=minji.pk, workload_id=job.pk),
            a_row(pool, 5, 60, team_id=vision.pk, workload_id=job.pk, charged_to="reserved"),
        ]
    )
    client.force_login(minji)
    period = "from=2026-11-02T12:00:00Z&to=2026-11-02T13:00:00Z"

    def labels(by: str) -> list[tuple[str, int]]:
        results = client.get(f"/api/v1/usage/breakdown?by={by}&{period}").json()["results"]
        return [(row["label"], row["gpu_milli_seconds"] // 1000) for row in results]

    assert labels("team") == [("Research / Vision", 360)]
    assert labels("department") == [("Research", 360)]
    assert labels("pool") == [("h100", 360)]
    assert labels("model") == [("H100", 360)]
    assert labels("charged_to") == [("Borrowed", 300), ("Reserved", 60)]
    assert labels("person") == [("minji", 300), ("", 60)]
    assert labels("workload") == [("train", 360)]


def test_finance_sees_no_names_of_people_or_jobs(client: Client) -> None:
    pool = builders.a_pool(nodes=1)
    appending.append([a_row(pool, 0, team_id=builders.a_team().pk)])
    client.force_login(builders.a_user("boram", Role.FINANCE))
    period = "from=2026-11-02T12:00:00Z&to=2026-11-02T13:00:00Z"
    for by, seen in (("team", 1), ("person", 0), ("workload", 0)):
        answer = client.get(f"/api/v1/usage/breakdown?by={by}&{period}").json()
        assert answer["count"] == seen


def test_what_monitoring_measured_stands_beside_what_was_held(client: Client) -> None:
    pool = builders.a_pool(nodes=1)
    team = builders.a_team()
    job = builders.a_workload(team, pool)
    appending.append([a_row(pool, 0, team_id=team.pk, workload_id=job.pk)])
    services.roll_up()
    client.force_login(builders.a_user("jihye", Role.ADMIN))
    body = {
        "named": "prometheus",
        "measurements": [
            {"workload": job.pk, "hour": at(0).isoformat(), "measured_milli_seconds": 240_000,
             "used_milli_seconds": 60_000},
        ],
    }  # fmt: skip
    for _again in range(2):
        answer = client.post("/api/v1/usage/measured", body, content_type="application/json")
        assert answer.json() == {"kept": 1}
        services.roll_up()
    (part,) = breakdown.break_down(Dimension.TEAM, Filter(at(0), at(60), pool_id=pool.pk))
    assert (part.held, part.measured, part.used) == (300_000, 240_000, 60_000)
    assert LedgerEntry.objects.count() == 1


@given(
    held=st.lists(st.integers(1, 4_000_000), min_size=1, max_size=4),
    shares=st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
)
@settings(max_examples=25, deadline=None)
def test_what_was_measured_is_split_as_it_was_held_and_none_of_it_is_lost(
    held: list[int], shares: tuple[int, int]
) -> None:
    with undone():
        pool = builders.a_pool(nodes=1)
        job = builders.a_workload(None, pool)
        rows = [
            a_row(pool, 5 * place, workload_id=job.pk, gpu_milli=milli, user_id=place)
            for place, milli in enumerate(held)
        ]
        appending.append(rows)
        measured = sum(held) * 300 * max(shares) // 1000
        used = measured * min(shares) // 1000
        services.note_measured(
            measurements=[Measurement(job.pk, at(0), measured, used)], source="dcgm", now=at(90)
        )
        services.roll_up()
        parts = breakdown.break_down(Dimension.PERSON, Filter(at(0), at(60), pool_id=pool.pk))
        assert sum(part.measured for part in parts) == measured
        assert sum(part.used for part in parts) == used
        for part in parts:
            exact = Fraction(measured * part.held, sum(held) * 300)
            assert abs(part.measured - exact) < len(held)


@pytest.mark.parametrize(
    ("hour", "measured", "used", "known"),
    [(0, 10, 11, True), (1, 10, 10, True), (0, 10, 10, False), (0, 10, -1, True)],
)
def test_a_measurement_that_cannot_be_is_refused(
    hour: int, measured: int, used: int, known: bool
) -> None:
    pool = builders.a_pool(nodes=1)
    job = builders.a_workload(None, pool)
    one = Measurement(job.pk if known else job.pk + 1, at(hour), measured, used)
    with pytest.raises(Invalid):
        services.note_measured(measurements=[one], source="prometheus", now=at(90))
