"""Upkeep follows the chain and forgets what is past its time, and nothing that must stay."""

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from portal.common import audit, clock
from portal.common.models import OutboxMessage
from portal.kubernetes.models import Drift, SyncRun, SyncWrite
from portal.notifications.models import Notification
from portal.operations import checks, reports, tasks, upkeep
from portal.operations.checks import Level
from portal.operations.models import Report
from portal.scheduling.models import Decision, Forecast, Standing, Tick
from portal.usage.models import LedgerEntry
from tests import builders

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
KEEP = {"ticks": 40, "syncs": 30, "forecasts": 20, "news": 50, "messages": 10}


def _tick(cluster_id: int, at: datetime) -> Tick:
    return Tick.objects.create(cluster_id=cluster_id, at=at, started_real_at=at, state="done")


def test_what_is_past_its_time_goes_with_its_parts_and_what_is_not_stays(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool("a100")
    job, cluster = builders.a_workload(team, pool), pool.cluster
    for days in (39, 41):
        tick = _tick(cluster.pk, now - days * DAY)
        Decision.objects.create(tick=tick, workload=job, verb="wait")
    for days in (29, 31):
        run = SyncRun.objects.create(cluster=cluster, at=now - days * DAY, state="done")
        SyncWrite.objects.create(run=run, kind="Quota", name="a", field="x")
        Drift.objects.create(
            cluster=cluster, kind="Quota", name="a", field="x", opened_at=now - 99 * DAY,
            closed_at=now - days * DAY,
        )  # fmt: skip
    for days in (19, 21):
        Forecast.objects.create(
            workload=job, made_at=now - days * DAY, first=True, grace_seconds=15
        )
    gone = upkeep.prune(keep_days=KEEP, now=now, real_now=now)
    assert (gone["ticks"], gone["syncs"], gone["forecasts"]) == (2, 3, 1)
    for model in (Tick, Decision, SyncRun, SyncWrite, Drift, Forecast):
        assert model._default_manager.count() == 1, model
    assert Report.objects.get(name="prune").figures == gone
    assert sum(upkeep.prune(keep_days=KEEP, now=now, real_now=now).values()) == 0


def test_messages_go_once_sent_or_given_up_and_news_by_age(now: datetime) -> None:
    old, new = now - 11 * DAY, now - 9 * DAY
    for key, more in (
        ("sent", {"sent_at": old}), ("given up", {"given_up_at": old}), ("waits", {}),
        ("sent lately", {"sent_at": new}),
    ):  # fmt: skip
        OutboxMessage.objects.create(
            key=key, channel="mail", address="", body="", created_at=now - 60 * DAY,
            due_at=now, **more,
        )  # fmt: skip
    user = builders.a_user()
    for days in (49, 51):
        Notification.objects.create(user=user, event_id=days, kind="x", at=now - days * DAY)
    upkeep.prune(keep_days=KEEP, now=now, real_now=now)
    assert set(OutboxMessage.objects.values_list("key", flat=True)) == {"waits", "sent lately"}
    assert Notification.objects.count() == 1


def test_what_explains_a_job_of_now_stays_however_old(now: datetime) -> None:
    job = builders.a_workload(builders.a_team(), builders.a_pool("a100"))
    tick = _tick(job.cluster_id, now - 99 * DAY)
    Standing.objects.create(workload=job, tick=tick, verb="wait")
    SyncRun.objects.create(cluster=job.cluster, at=now - 99 * DAY, state="running")
    Drift.objects.create(
        cluster=job.cluster, kind="Quota", name="a", field="x", opened_at=now - 99 * DAY
    )
    upkeep.prune(keep_days=KEEP, now=now, real_now=now)
    assert Standing.objects.count() == Tick.objects.count() == SyncRun.objects.count() == 1
    assert Drift.objects.count() == 1


def test_a_long_night_is_forgotten_in_short_transactions(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "BATCH", 3)
    cluster = builders.a_cluster()
    for minutes in range(8):
        _tick(cluster.pk, now - 50 * DAY + minutes * timedelta(minutes=1))
    assert upkeep.prune(keep_days=KEEP, now=now, real_now=now)["ticks"] == 8


@given(days=st.integers(7, 4000))
def test_the_ledger_jobs_and_the_audit_outlive_every_pruning(days: int) -> None:
    now = builders.LONG_AGO + days * DAY
    team, pool = builders.a_team(f"t{days}"), builders.a_pool(f"p{days}")
    job = builders.a_workload(team, pool, name=f"j{days}")
    LedgerEntry.objects.create(
        cluster=pool.cluster, pod_uid=f"pod{days}", from_at=builders.LONG_AGO, workload_id=job.pk,
        to_at=builders.LONG_AGO + timedelta(seconds=300), team=team, pool=pool, node_id=1,
        gpu_model="A100", gpu_milli=1000, charged_to="guaranteed", seconds=300,
    )  # fmt: skip
    audit.record(actor_id=None, action="x.y", target_type="job", target_id=job.pk)
    before = LedgerEntry.objects.count()
    upkeep.prune(keep_days=dict.fromkeys(KEEP, 7), now=now, real_now=now)
    assert LedgerEntry.objects.count() == before
    job.refresh_from_db()
    assert audit.first_broken() is None


def test_a_broken_chain_is_noted_and_the_doctor_says_so(now: datetime) -> None:
    audit.record(actor_id=None, action="x.y", target_type="job", target_id=1)
    assert upkeep.verify_audit(now=now)
    assert [finding.level for finding in checks.upkeep(now)] == [Level.GOOD]
    builders.behind_the_guard("UPDATE common_auditevent SET action = 'x.z'")
    assert not upkeep.verify_audit(now=now)
    (finding,) = checks.upkeep(now)
    assert finding.level is Level.BAD
    assert "breaks at line" in finding.says


def test_upkeep_nobody_ran_for_a_day_is_a_warning(now: datetime) -> None:
    reports.note(name=reports.BACKUP, ok=True, now=now - timedelta(hours=27))
    assert [finding.level for finding in checks.upkeep(now)] == [Level.WARN]


def test_pruning_is_due_once_a_day_whatever_restarts(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[datetime] = []
    moment = [now]
    monkeypatch.setattr(clock, "real_now", lambda: moment[0])

    def pruned(*, real_now: datetime, **_: object) -> None:
        ran.append(real_now)
        reports.note(name=reports.PRUNE, ok=True, now=real_now)

    monkeypatch.setattr(upkeep, "prune", pruned)
    for hour in range(50):
        moment[0] = now + timedelta(hours=hour)
        tasks.keep_up()
    assert ran == [now, now + timedelta(hours=23), now + timedelta(hours=46)]


def test_the_command_says_how_much_of_each_kind_went(
    now: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    _tick(builders.a_cluster().pk, clock.now() - 9 * DAY)
    with override_settings(KEEP_DAYS=dict.fromkeys(KEEP, 8)):
        call_command("prune")
    assert "ticks              1" in capsys.readouterr().out
