"""The one periodic table: every entry names work there is, on the queue where it belongs."""

import pytest
from celery import current_app
from django.conf import settings

from portal.celery import QUEUES, app
from portal.operations.loop import Loop
from portal.scheduling.models import Tick
from tests import builders

app.finalize()
TURN = {"kubernetes.collect", "scheduling.tick", "kubernetes.sync"}
CHORES = {
    "requests.expire", "finance.reckon", "operations.heartbeat", "notifications.spread",
    "notifications.deliver", "studies.tend", "usage.measure",
}  # fmt: skip
OWN_PERIODS = {
    "scheduling.forecast": settings.FORECAST_SECONDS,
    "notifications.forget": 24 * 60 * 60,
    "operations.upkeep": settings.UPKEEP_SECONDS,
}


def test_the_table_holds_the_turn_and_the_chores_each_thrown_away_when_late() -> None:
    table = app.conf.beat_schedule
    asked = {entry["task"]: entry for entry in table.values()}
    assert asked.keys() == TURN | CHORES | OWN_PERIODS.keys()
    current_app.loader.import_default_modules()
    for name, entry in asked.items():
        assert name in current_app.tasks
        usual = settings.TICK_SECONDS if name in TURN else settings.CHORE_SECONDS
        period = OWN_PERIODS.get(name, usual)
        assert entry["schedule"] == entry["options"]["expires"] == period


def test_what_talks_to_one_cluster_has_a_queue_of_its_own() -> None:
    current_app.loader.import_default_modules()
    ours = [name for name in current_app.tasks if not name.startswith("celery.")]
    queue_of = {name: app.amqp.router.route({}, name)["queue"].name for name in ours}
    assert {name for name, queue in queue_of.items() if queue == "clusters"} == {
        "kubernetes.collect_cluster", "scheduling.tick_cluster", "kubernetes.sync_cluster",
        "usage.measure_cluster",
    }  # fmt: skip
    assert set(queue_of.values()) == set(QUEUES)


def test_beat_asks_each_queue_for_a_sign_of_life() -> None:
    beats = [e for e in app.conf.beat_schedule.values() if e["task"] == "operations.heartbeat"]
    assert {beat["kwargs"]["queue"] for beat in beats} == set(QUEUES)
    assert all(beat["options"]["queue"] == beat["kwargs"]["queue"] for beat in beats)


@pytest.mark.django_db
def test_an_embedded_loop_runs_the_same_table_and_goes_on_after_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builders.a_cluster()
    loop = Loop(simulated=False)
    monkeypatch.setattr(
        current_app.tasks["kubernetes.collect"], "run", lambda **_: 1 / 0, raising=False
    )
    loop.round()
    assert Tick.objects.count() == 1
    assert loop.ran_at.keys() == app.conf.beat_schedule.keys()
    loop.round()
    assert Tick.objects.count() == 1
