"""The process a study runs in: takes the next one, replays it part by part, and says how far it is.

Beside the replay a pulse beats every second: it notes that the process lives and how far it is,
and ends the process when it is asked to stop, takes too long, lost the study to another process
or lost its parent. A study whose pulse has stopped is put back by `services.tend`; parts that are
done stand in rows and are not done again.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import QuerySet

from portal.common import leases
from portal.common.errors import Invalid
from portal.scheduling import trials
from portal.studies import comparing, preparing
from portal.studies.models import (
    FAULT,
    REFUSED,
    TOO_BIG,
    TOO_LONG,
    Outcome,
    Side,
    Study,
    StudyState,
)
from scheduler_core.document import Fault
from scheduler_core.traces import TraceError

log = logging.getLogger(__name__)
BEAT_SECONDS = 1.0
DEAD_AFTER = timedelta(seconds=60)
"""A study without a beat for so long has lost its process."""


@dataclass(frozen=True, slots=True)
class World:
    """What the process knows of its surroundings: both clocks, and how to end at once."""

    now: Callable[[], datetime]
    real_now: Callable[[], datetime]
    leave: Callable[[], None]
    is_orphan: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Progress:
    """How far a study is: written by the replay, read by the pulse."""

    parts: int
    done: int = 0
    within: float = 0.0
    doing: dict[str, object] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return min(1.0, (self.done + self.within) / max(1, self.parts))


class Lost(Exception):
    """The study is no longer this process's."""


def work(world: World) -> int:
    """Run study after study until none waits or enough others run; gives how many were run."""
    count = 0
    while (study := claim(real_now=world.real_now())) is not None:
        _run(study, world)
        count += 1
    return count


def claim(*, real_now: datetime) -> Study | None:
    """Take the study that waits longest; None where none does, or as many run as may."""
    for _attempt in range(20):
        with leases.holding(name="studies", seconds=30) as lease:
            if lease is not None:
                return _take(real_now)
        time.sleep(0.1)
    return None


@transaction.atomic
def _take(real_now: datetime) -> Study | None:
    alive = Study.objects.filter(state=StudyState.RUNNING, beat_real_at__gt=real_now - DEAD_AFTER)
    if alive.count() >= settings.STUDIES_AT_ONCE:
        return None
    study = Study.objects.filter(state=StudyState.QUEUED).order_by("queued_real_at", "id").first()
    if study is None:
        return None
    study.state, study.attempt = StudyState.RUNNING, study.attempt + 1
    study.started_real_at = study.started_real_at or real_now
    study.beat_real_at = real_now
    study.save(update_fields=["state", "attempt", "started_real_at", "beat_real_at"])
    return study


def _run(study: Study, world: World) -> None:
    progress = Progress(parts=len(study.plan))
    pulse = Pulse(study, progress, world)
    pulse.start()
    try:
        replay_all(study, progress, world)
        end(study, StudyState.DONE, "", world.real_now())
    except Lost:
        log.warning("study %s was taken over", study.pk)
    except MemoryError:
        end(study, StudyState.FAILED, TOO_BIG, world.real_now())
    except (Invalid, Fault, TraceError, trials.BadCluster) as error:
        end(study, StudyState.FAILED, f"{REFUSED}: {error}", world.real_now())
    except Exception as error:
        log.exception("study %s failed", study.pk)
        end(study, StudyState.FAILED, f"{FAULT}: {type(error).__name__}", world.real_now())
    finally:
        pulse.stop()


def replay_all(study: Study, progress: Progress, world: World) -> None:
    """Replay what has not been replayed yet, a row each."""
    ready = preparing.prepare(study, now=world.now())
    done = set(study.outcomes.values_list("side", "seed"))
    for side, seed in study.plan:
        if (side, seed) not in done:
            progress.within = 0.0
            progress.doing = {"side": side, "seed": seed}
            _replay(study, ready, side, seed, progress)
        progress.done, progress.within = progress.done + 1, 0.0
    told = comparing.headline(comparing.compare(study.outcomes.all()))
    mine(study).update(headline=told)


def _replay(study: Study, ready: preparing.Ready, side: str, seed: int, progress: Progress) -> None:
    jobs = preparing.drawn(study, ready, seed)
    terms = preparing.terms_of(ready, side, seed)
    count = max(1, len(jobs))

    def watch(ended: int) -> None:
        progress.within = ended / count

    begun = time.monotonic()
    figures = trials.run(jobs, terms, until=ready.until, watch=watch)
    took = int((time.monotonic() - begun) * 1000)
    with transaction.atomic():
        if not mine(study).select_for_update(no_key=True).exists():
            raise Lost
        Outcome.objects.create(
            study=study, side=Side(side), seed=seed, figures=asdict(figures), took_ms=took
        )


def mine(study: Study) -> QuerySet[Study]:
    """The study's row while this process holds it."""
    return Study.objects.filter(pk=study.pk, state=StudyState.RUNNING, attempt=study.attempt)


def end(study: Study, state: StudyState, message: str, real_now: datetime) -> None:
    """Say how it ended, unless it was taken over meanwhile."""
    share = {"done_share": 1.0} if state == StudyState.DONE else {}
    mine(study).update(state=state, message=message, ended_real_at=real_now, doing={}, **share)


class Pulse(threading.Thread):
    """Beats while a study is replayed, with a connection of its own."""

    def __init__(self, study: Study, progress: Progress, world: World) -> None:
        super().__init__(daemon=True, name=f"study-{study.pk}")
        self._study = study
        self._progress = progress
        self._world = world
        self._begun = time.monotonic()
        self._over = threading.Event()

    def run(self) -> None:
        """Beat until told that it is over."""
        try:
            while not self._over.wait(BEAT_SECONDS):
                try:
                    close_old_connections()
                    if not self.beat():
                        self._world.leave()
                        return
                except Exception:
                    # A busy database; the next beat tries again, and too many make it dead.
                    log.exception("a beat of study %s was lost", self._study.pk)
        finally:
            connection.close()

    def beat(self) -> bool:
        """Note that it lives and how far it is; false when the process is to end now."""
        study, progress, now = self._study, self._progress, self._world.real_now()
        if self._world.is_orphan():
            return False
        held = mine(study).update(beat_real_at=now, done_share=progress.share, doing=progress.doing)
        if not held:
            return False
        if mine(study).filter(is_to_stop=True).exists():
            end(study, StudyState.CANCELLED, "", now)
            return False
        if time.monotonic() - self._begun > settings.STUDY_SECONDS:
            end(study, StudyState.FAILED, TOO_LONG, now)
            return False
        return True

    def stop(self) -> None:
        """Beat no more."""
        self._over.set()
        self.join(10)


def leave() -> None:
    """End this process at once, whatever its replay is doing."""
    connection.close()
    os._exit(0)
