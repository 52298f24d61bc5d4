"""What a study runs on, read once and kept with it: the jobs, and the terms of both sides."""

import io
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings

from portal.common import clock
from portal.common.errors import Invalid
from portal.scheduling import exporting, trials
from portal.studies import changes, keeping, resampling
from portal.studies.models import Draw, Side, Study
from scheduler_core import document
from scheduler_core import model as engine
from scheduler_core.resources import DEVICE
from scheduler_core.traces import Job, evenshare

NO_JOBS = "no_jobs"


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything a study's replays need."""

    jobs: list[Job]
    base: engine.Snapshot
    changed: engine.Snapshot
    first: int
    until: int


def prepare(study: Study, *, now: datetime) -> Ready:
    """Read what the study runs on, the first time from where it lies, later from the study.

    Raises `Invalid` where there is nothing to run, or the change makes no sense.
    """
    if study.jobs is None or study.terms is None:
        jobs = _jobs(study)
        terms = _terms(study, jobs, now)
        study.jobs, study.terms, study.job_count = _packed(jobs), _text(terms), len(jobs)
        study.save(update_fields=["jobs", "terms", "job_count"])
    jobs = _unpacked(bytes(study.jobs))
    terms = document.parse_snapshot(json.loads(zlib.decompress(study.terms)))
    if not jobs:
        raise Invalid(NO_JOBS)
    first, until = _window(study, jobs)
    return Ready(jobs, terms, changes.applied(study.change, terms), first, until)


def drawn(study: Study, ready: Ready, seed: int) -> list[Job]:
    """The jobs of one seed, the same for both sides."""
    if study.draw == Draw.AS_IT_WAS:
        return ready.jobs
    return resampling.draw(ready.jobs, seed=seed, first=ready.first, until=ready.until)


def terms_of(ready: Ready, side: str, seed: int) -> engine.Snapshot:
    """One side's terms; whatever its policy leaves to chance follows the seed."""
    terms = ready.base if side == Side.BASE else ready.changed
    return replace(terms, policy=replace(terms.policy, seed=seed))


def _jobs(study: Study) -> list[Job]:
    if study.trace is not None:
        found = keeping.read_jobs(study.trace)
        first, until = study.first_second or 0, study.until_second
        jobs = [
            j
            for j in found
            if j.submitted_at >= first and (until is None or j.submitted_at < until)
        ]
        return sorted(jobs, key=lambda job: job.submitted_at)
    assert study.cluster_id
    assert study.from_at
    assert study.to_at
    past = exporting.history(cluster_id=study.cluster_id, from_at=study.from_at, to_at=study.to_at)
    return list(told(past, clock.whole_seconds(study.to_at)))


def told(past: Iterable[Job], until: int) -> Iterable[Job]:
    """Our past with a duration for what has not ended, so that nobody who waits is left out.

    What still runs ran on to the end of the period at least; what never started is taken at its
    own estimate, and left out without one: nobody knows how long it would have run.
    """
    for job in past:
        if job.duration_seconds is not None:
            yield job
        elif job.waited_seconds is not None:
            ran = max(1, until - job.submitted_at - job.waited_seconds)
            yield replace(job, duration_seconds=max(ran, job.estimate_seconds or 0))
        elif job.estimate_seconds:
            yield replace(job, duration_seconds=job.estimate_seconds)


def _terms(study: Study, jobs: list[Job], now: datetime) -> engine.Snapshot:
    rules = document.parse_policy({**study.base_rules, "tick_seconds": int(settings.TICK_SECONDS)})
    if study.nodes:
        shared = any(job.gpu_milli % DEVICE for job in jobs)
        return trials.bare_terms(study.nodes, rules, shared=shared)
    assert study.cluster_id
    terms = trials.own_terms(
        cluster_id=study.cluster_id, from_at=study.from_at or now, to_at=study.to_at or now,
        now=now,
    )  # fmt: skip
    reservations = () if study.trace is not None else terms.reservations
    return replace(terms, policy=rules, reservations=reservations)


def _window(study: Study, jobs: list[Job]) -> tuple[int, int]:
    """From when until when jobs are counted, in the clock of the jobs."""
    if study.trace is None and study.from_at and study.to_at:
        return clock.whole_seconds(study.from_at), clock.whole_seconds(study.to_at)
    first, last = jobs[0].submitted_at, jobs[-1].submitted_at + 1
    return first if study.first_second is None else study.first_second, study.until_second or last


def _text(terms: engine.Snapshot) -> bytes:
    return zlib.compress(document.snapshot_to_text(terms).encode())


def _packed(jobs: list[Job]) -> bytes:
    text = io.StringIO(newline="")
    evenshare.write_jobs(jobs, text)
    return zlib.compress(text.getvalue().encode())


def _unpacked(packed: bytes) -> list[Job]:
    return list(evenshare.Evenshare().jobs(io.BytesIO(zlib.decompress(packed))))
