"""A study from the queue to its comparison; crashes, limits and the wish to stop on the way."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.models import AuditEvent
from portal.studies import comparing, models, services, working
from portal.studies.models import Draw, Outcome, Study, StudyState
from portal.studies.verdicts import Verdict
from tests.portal.studies.building import Surroundings, a_study

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def around(now: datetime) -> Surroundings:
    return Surroundings(now)


def test_three_jobs_in_two_orders_are_as_worked_out_by_hand(
    around: Surroundings, now: datetime
) -> None:
    study = a_study(now)
    assert working.work(around.world) == 1
    study.refresh_from_db()
    ended: tuple[object, ...] = (study.state, study.done_share, study.job_count)
    assert ended == (StudyState.DONE, 1.0, 3)
    found = comparing.compare(study.outcomes.all())
    assert found is not None
    told = {line.figure.key: (line.compared.base, line.compared.changed) for line in found.lines}
    assert told["wait_p50"] == pytest.approx((90, 80))
    for longest in ("wait_p90", "wait_p99", "longest_wait"):
        assert told[longest] == pytest.approx((1080, 100))
    # 1,110 s of 2,000 the machine is held, whatever the order.
    assert told["allocated_pct"] == pytest.approx((55.5, 55.5))
    assert told["preemptions"] == told["lost_hours"] == pytest.approx((0, 0))
    red = next(team for team in found.teams if team.name == "red")
    assert (red.lines["wait_p99"].compared.base, red.jobs) == (1080, 2)
    # One run tells of these three jobs alone, so nothing is called real.
    assert found.line("wait_p90").compared.verdict is Verdict.ONE_RUN


def test_several_seeds_replay_both_sides_each_on_jobs_of_their_own(
    around: Surroundings, now: datetime
) -> None:
    study = a_study(now, draw=Draw.RESAMPLED, seeds=3, first_seed=7)
    working.work(around.world)
    pairs = set(study.outcomes.values_list("side", "seed"))
    assert pairs == {(side, seed) for side in ("base", "changed") for seed in (7, 8, 9)}
    for seed in (7, 8, 9):
        base, changed = (study.outcomes.get(seed=seed, side=side) for side in ("base", "changed"))
        assert base.figures["jobs"] == changed.figures["jobs"]


def test_a_study_whose_process_died_goes_on_where_it_was(
    around: Surroundings, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = a_study(now, draw=Draw.RESAMPLED, seeds=3)
    taken = working.claim(real_now=now)
    assert taken is not None
    with monkeypatch.context() as patched:
        patched.setattr(Outcome.objects, "create", _die_at_the_third(Outcome.objects.create))
        with pytest.raises(SystemExit):
            working.replay_all(taken, working.Progress(6), around.world)
    assert study.outcomes.count() == 2
    later = now + 2 * MINUTE
    assert not services.is_start_due(real_now=now + MINUTE / 2)
    services.tend(real_now=later)
    assert services.is_start_due(real_now=later)
    first = list(study.outcomes.values_list("pk", flat=True))
    working.work(Surroundings(later).world)
    study.refresh_from_db()
    assert (study.state, study.attempt, study.outcomes.count()) == (StudyState.DONE, 2, 6)
    assert set(first) < set(study.outcomes.values_list("pk", flat=True))


def _die_at_the_third(create: Any) -> Any:
    count = 0

    def dying(**columns: Any) -> Outcome:
        nonlocal count
        count += 1
        if count == 3:
            raise SystemExit
        made: Outcome = create(**columns)
        return made

    return dying


def test_a_study_that_keeps_losing_its_process_is_given_up(now: datetime) -> None:
    study = a_study(now)
    for round_ in range(services.MOST_ATTEMPTS):
        at = now + round_ * 10 * MINUTE
        assert working.claim(real_now=at) is not None
        services.tend(real_now=at + 5 * MINUTE)
    study.refresh_from_db()
    assert (study.state, study.message) == (StudyState.FAILED, models.DIED)
    assert study.ended_real_at is not None


def test_a_process_that_lost_its_study_writes_nothing_more(
    around: Surroundings, now: datetime
) -> None:
    a_study(now)
    slow = working.claim(real_now=now)
    assert slow is not None
    services.tend(real_now=now + 5 * MINUTE)
    assert working.claim(real_now=now + 5 * MINUTE) is not None
    with pytest.raises(working.Lost):
        working.replay_all(slow, working.Progress(2), around.world)
    assert Outcome.objects.count() == 0
    working.end(slow, StudyState.DONE, "", now)
    assert Study.objects.get().state == StudyState.RUNNING


def test_only_so_many_run_at_once_and_the_oldest_goes_first(now: datetime, settings: Any) -> None:
    settings.STUDIES_AT_ONCE = 1
    first, second = a_study(now), a_study(now + MINUTE)
    taken = working.claim(real_now=now)
    assert taken is not None
    assert taken.pk == first.pk
    assert working.claim(real_now=now) is None
    working.end(taken, StudyState.DONE, "", now)
    taken = working.claim(real_now=now)
    assert taken is not None
    assert taken.pk == second.pk


@pytest.fixture
def pulse(around: Surroundings, now: datetime) -> working.Pulse:
    a_study(now)
    taken = working.claim(real_now=now)
    assert taken is not None
    return working.Pulse(taken, working.Progress(2, done=1, within=0.5), around.world)


def test_a_beat_says_how_far_it_is(pulse: working.Pulse) -> None:
    assert pulse.beat()
    assert Study.objects.get().done_share == 0.75


def test_a_beat_ends_what_is_to_stop(pulse: working.Pulse, now: datetime) -> None:
    services.cancel(study_id=Study.objects.get().pk, actor_id=None, real_now=now)
    assert Study.objects.get().state == StudyState.RUNNING
    assert not pulse.beat()
    assert Study.objects.get().state == StudyState.CANCELLED


def test_a_beat_ends_what_takes_too_long(pulse: working.Pulse, settings: Any) -> None:
    settings.STUDY_SECONDS = -1
    assert not pulse.beat()
    study = Study.objects.get()
    assert (study.state, study.message) == (StudyState.FAILED, models.TOO_LONG)


def test_what_fails_says_why_and_the_next_one_runs(
    around: Surroundings, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: Mapping[str, Exception] = {"memory": MemoryError(), "other": ValueError("x")}
    for study_name, error in faults.items():
        a_study(now, name=study_name)
        with monkeypatch.context() as patched:
            patched.setattr(working, "_replay", _raising(error))
            working.work(around.world)
    a_study(now, name="empty", first_second=1500)
    working.work(around.world)
    told = dict(Study.objects.values_list("name", "message"))
    assert told == {
        "memory": models.TOO_BIG, "other": "fault: ValueError", "empty": "refused: no_jobs",
    }  # fmt: skip
    assert set(Study.objects.values_list("state", flat=True)) == {StudyState.FAILED}


def _raising(error: Exception) -> Any:
    def replay(*_: object) -> None:
        raise error

    return replay


def test_a_study_that_waits_is_cancelled_at_once_and_leaves_a_line(now: datetime) -> None:
    study = a_study(now)
    services.cancel(study_id=study.pk, actor_id=7, real_now=now)
    study.refresh_from_db()
    assert study.state == StudyState.CANCELLED
    last = AuditEvent.objects.latest("id")
    assert (last.action, last.actor_id, last.target_id) == ("studies.cancelled", 7, study.pk)


def test_the_same_again_takes_the_seeds_that_follow(around: Surroundings, now: datetime) -> None:
    study = a_study(now, draw=Draw.RESAMPLED, seeds=3)
    working.work(around.world)
    new = services.again(study_id=study.pk, actor_id=None, now=now, real_now=now)
    assert new.seeds == [4, 5, 6]
    study.refresh_from_db()
    assert bytes(new.jobs or b"") == bytes(study.jobs or b"") != b""


def test_what_is_past_its_time_is_forgotten_unless_it_is_to_be_kept(
    around: Surroundings, now: datetime
) -> None:
    kept, gone = a_study(now, name="kept"), a_study(now, name="gone")
    working.work(around.world)
    services.describe(
        study_id=kept.pk, name="kept", note="", is_kept=True, team_id=None, actor_id=None
    )
    services.tend(real_now=now + timedelta(days=89))
    assert Study.objects.count() == 2
    services.tend(real_now=now + timedelta(days=91))
    assert [study.name for study in Study.objects.all()] == ["kept"]
    assert gone.name == "gone"
