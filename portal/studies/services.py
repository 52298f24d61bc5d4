"""Writes of the room: ask for a study, stop it, keep it, share it, forget it; traces likewise."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.scheduling import policies
from portal.studies import changes, checking, keeping, working
from portal.studies.checking import Asked
from portal.studies.models import DIED, OPEN_STATES, Draw, Study, StudyState, Trace
from portal.studies.verdicts import LEAST_SEEDS
from portal.teams.models import Team

MOST_SEEDS = 20
MOST_OPEN = 20
MOST_ATTEMPTS = 3
STUDIES_KEPT = timedelta(days=90)
TRACES_KEPT = timedelta(days=180)


@transaction.atomic
def ask(*, asked: Asked, actor_id: int | None, now: datetime, real_now: datetime) -> Study:
    """Put a study in the queue. Raises `Invalid` for what makes no sense, `Refusal` when too many."""
    if Study.objects.filter(state__in=OPEN_STATES).count() >= MOST_OPEN:
        raise Refusal(
            _("%(n)d studies are waiting or running. Wait for some, or cancel one.")
            % {"n": MOST_OPEN},
            code="too_many",
        )
    rules = _base_rules(asked, now)
    checking.check(asked, rules, now)
    seeds = _seeds(asked, rules)
    study = Study.objects.create(
        name=asked.name, note=asked.note, cluster_id=asked.cluster_id, trace_id=asked.trace_id,
        from_at=asked.from_at, to_at=asked.to_at, first_second=asked.first_second,
        until_second=asked.until_second, nodes=asked.nodes, base_rules=rules,
        change=dict(asked.change), draw=asked.draw, seeds=seeds, team_id=asked.team_id,
        created_by_id=actor_id,
        created_at=now, queued_real_at=real_now,
    )  # fmt: skip
    if asked.trace_id is not None:
        Trace.objects.filter(pk=asked.trace_id).update(used_at=real_now)
    _note(study, "studies.asked", actor_id, {"change": dict(asked.change), "seeds": seeds})
    return study


def _base_rules(asked: Asked, now: datetime) -> dict[str, object]:
    if asked.rules:
        given: Mapping[str, object] = asked.rules
    elif asked.cluster_id is not None:
        policy = policies.get_policy(cluster_id=asked.cluster_id, now=now)
        given = policies.rules_of(policy, cluster_id=asked.cluster_id)
    else:
        given = policies.DEFAULT_RULES
    return changes.changed_rules({}, given)


def _seeds(asked: Asked, rules: Mapping[str, object]) -> list[int]:
    """As many as asked for, at least three where anything is left to chance, else one."""
    changed = changes.changed_rules(asked.change, rules)
    chance = asked.draw == Draw.RESAMPLED or "random" in (rules["placement"], changed["placement"])
    if not chance:
        return [asked.first_seed]
    if not LEAST_SEEDS <= asked.seeds <= MOST_SEEDS:
        told = _("Take %(least)d to %(most)d seeds: with fewer nothing can be called real.")
        told %= {"least": LEAST_SEEDS, "most": MOST_SEEDS}
        raise Invalid(told, fields={"seeds": told})
    return list(range(asked.first_seed, asked.first_seed + asked.seeds))


@transaction.atomic
def again(*, study_id: int, actor_id: int | None, now: datetime, real_now: datetime) -> Study:
    """The same study on the same jobs and terms with the seeds that follow."""
    old = _locked(study_id)
    if Study.objects.filter(state__in=OPEN_STATES).count() >= MOST_OPEN:
        raise Refusal(_("Too many studies wait or run. Wait for some."), code="too_many")
    seeds = [max(old.seeds) + 1 + number for number in range(len(old.seeds))]
    new = Study.objects.create(
        name=old.name, note=old.note, cluster_id=old.cluster_id, trace_id=old.trace_id,
        from_at=old.from_at, to_at=old.to_at, first_second=old.first_second,
        until_second=old.until_second, nodes=old.nodes, base_rules=old.base_rules,
        change=old.change, draw=old.draw, seeds=seeds, terms=old.terms, jobs=old.jobs,
        job_count=old.job_count, team_id=old.team_id, created_by_id=actor_id, created_at=now,
        queued_real_at=real_now,
    )  # fmt: skip
    _note(new, "studies.asked", actor_id, {"like": old.pk, "seeds": seeds})
    return new


@transaction.atomic
def cancel(*, study_id: int, actor_id: int | None, real_now: datetime) -> Study:
    """Stop a study: at once where it waits, else within a second or two."""
    study = _locked(study_id)
    if not study.is_open:
        raise Conflict(_("The study has ended already."), code="ended")
    if study.state == StudyState.QUEUED:
        study.state, study.ended_real_at = StudyState.CANCELLED, real_now
    study.is_to_stop = True
    study.save(update_fields=["state", "ended_real_at", "is_to_stop"])
    _note(study, "studies.cancelled", actor_id)
    return study


@transaction.atomic
def describe(
    *, study_id: int, name: str, note: str, is_kept: bool, team_id: int | None, actor_id: int | None
) -> Study:
    """Name it, say what it is about, keep it from being forgotten, share it with a team."""
    study = _locked(study_id)
    if team_id is not None and not Team.objects.filter(pk=team_id).exists():
        raise Invalid(_("There is no such team."), fields={"team": _("Unknown.")})
    if not name.strip():
        raise Invalid(_("Give it a name."), fields={"name": _("Give it a name.")})
    before = _told(study)
    study.name, study.note = name.strip(), note.strip()
    study.is_kept, study.team_id = is_kept, team_id
    study.save(update_fields=["name", "note", "is_kept", "team"])
    data = {"before": before, "after": _told(study)}
    _note(study, "studies.described", actor_id, data)
    return study


def _told(study: Study) -> dict[str, object]:
    return {"kept": study.is_kept, "team": study.team_id}


@transaction.atomic
def delete(*, study_id: int, actor_id: int | None) -> None:
    """Forget a study; one that runs ends by itself."""
    study = _locked(study_id)
    _note(study, "studies.deleted", actor_id)
    study.delete()


def upload(
    *, name: str, form: str, pieces: Iterable[bytes], actor_id: int | None, real_now: datetime
) -> Trace:
    """Keep a trace. Raises `Invalid` where it is too large, or no such trace."""
    with keeping.unpack(pieces, most=settings.TRACE_MIB << 20) as text:
        read = keeping.check(text, form)
        with transaction.atomic():
            trace = Trace.objects.create(
                name=name, form=form, size=read.size, jobs=read.jobs, bad_rows=read.bad_rows,
                first_second=read.first_second, last_second=read.last_second,
                created_by_id=actor_id, created_at=real_now, used_at=real_now,
            )  # fmt: skip
            keeping.put(trace, text)
            audit.record(
                actor_id=actor_id, action="studies.trace_uploaded", target_type="trace",
                target_id=trace.pk, data={"form": form, "jobs": read.jobs, "bytes": read.size},
            )  # fmt: skip
    return trace


@transaction.atomic
def delete_trace(*, trace_id: int, actor_id: int | None) -> None:
    """Forget a trace that no study uses."""
    trace = Trace.objects.select_for_update(no_key=True).filter(pk=trace_id).first()
    if trace is None:
        raise Missing
    if trace.studies.exists():
        raise Conflict(_("Studies use this trace. Delete them first."), code="in_use")
    audit.record(
        actor_id=actor_id, action="studies.trace_deleted", target_type="trace", target_id=trace_id
    )
    trace.delete()


def tend(*, real_now: datetime) -> None:
    """Put back what lost its process, give up what keeps losing it, forget what is past its time."""
    dead = Study.objects.filter(
        state=StudyState.RUNNING, beat_real_at__lte=real_now - working.DEAD_AFTER
    )
    dead.filter(is_to_stop=True).update(state=StudyState.CANCELLED, ended_real_at=real_now)
    dead.filter(attempt__gte=MOST_ATTEMPTS).update(
        state=StudyState.FAILED, message=DIED, ended_real_at=real_now, doing={}
    )
    dead.update(state=StudyState.QUEUED)
    old = Study.objects.filter(is_kept=False, ended_real_at__lt=real_now - STUDIES_KEPT)
    old.delete()
    Trace.objects.filter(used_at__lt=real_now - TRACES_KEPT, studies__isnull=True).delete()


def is_start_due(*, real_now: datetime) -> bool:
    """Whether one waits and another may run."""
    alive = Q(state=StudyState.RUNNING, beat_real_at__gt=real_now - working.DEAD_AFTER)
    waits = Study.objects.filter(state=StudyState.QUEUED).exists()
    return waits and Study.objects.filter(alive).count() < settings.STUDIES_AT_ONCE


def _locked(study_id: int) -> Study:
    study = Study.objects.select_for_update(no_key=True).filter(pk=study_id).first()
    if study is None:
        raise Missing
    return study


def _note(
    study: Study, action: str, actor_id: int | None, data: Mapping[str, object] | None = None
) -> None:
    audit.record(
        actor_id=actor_id, action=action, target_type="study", target_id=study.pk,
        team_id=study.team_id, data=data,
    )  # fmt: skip
