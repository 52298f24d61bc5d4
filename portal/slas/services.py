"""Writes: tiers, whose they are, what was broken, and who answers for it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory.models import Pool
from portal.slas import targets
from portal.slas.models import Breach, BreachKind, Sla, Tier
from portal.teams.models import Team
from portal.workloads.models import HOLDING_STATES, Workload, WorkloadState

LONGEST = 366 * 86400
LONGEST_TEXT = 2000
LONGEST_WAIT = timedelta(days=366)
"""A promise that ended longer ago is of no job that could still wait."""
QUEUED = (WorkloadState.WAITING, WorkloadState.ADMITTED)
LOOKED_BACK = timedelta(hours=1)
"""A job that started since the last look is still found to have been late."""


@transaction.atomic
def create_tier(
    *,
    name: str,
    target_wait_seconds: int,
    actor_id: int | None,
    now: datetime,
    goal_permille: int = 950,
    answer_seconds: int | None = None,
) -> Tier:
    """Name a promise that teams can be given. Raises `Invalid`."""
    faults: dict[str, str] = {}
    if not name.strip() or len(name) > 60:
        faults["name"] = _("Give a name of at most 60 characters.")
    elif Tier.objects.filter(name=name.strip()).exists():
        faults["name"] = _("There is a tier of this name.")
    for column, seconds in (
        ("target_wait_seconds", target_wait_seconds), ("answer_seconds", answer_seconds)
    ):  # fmt: skip
        if seconds is not None and not 1 <= seconds <= LONGEST:
            faults[column] = _("Give a time of at least a second and at most a year.")
    if not 1 <= goal_permille <= 1000:
        faults["goal_permille"] = _("Give a goal above 0 and at most 100 percent.")
    if faults:
        raise Invalid(_("This tier cannot be made."), fields=faults)
    tier = Tier.objects.create(
        name=name.strip(), target_wait_seconds=target_wait_seconds, goal_permille=goal_permille,
        answer_seconds=answer_seconds, created_at=now,
    )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="slas.tier_created", target_type="tier", target_id=tier.pk,
        data={
            "name": tier.name, "target_wait_seconds": target_wait_seconds,
            "goal_permille": goal_permille, "answer_seconds": answer_seconds,
        },
    )  # fmt: skip
    return tier


@transaction.atomic
def retire_tier(*, tier_id: int, actor_id: int | None, now: datetime) -> None:
    """Give a tier to nobody any more; who has it keeps it. Twice is once."""
    if not Tier.objects.filter(pk=tier_id).exists():
        raise Missing
    if Tier.objects.filter(pk=tier_id, retired_at__isnull=True).update(retired_at=now):
        audit.record(
            actor_id=actor_id, action="slas.tier_retired", target_type="tier", target_id=tier_id
        )


@transaction.atomic
def set_sla(
    *,
    team_id: int,
    pool_id: int | None,
    tier_id: int | None,
    valid_from: datetime,
    actor_id: int | None,
    now: datetime,
    valid_to: datetime | None = None,
    request_id: int | None = None,
) -> Sla | None:
    """Let a team have a tier from an instant on, in a pool or in all; no tier ends the promise.

    The row that holds at that instant ends there, rows that were to begin later are replaced.
    Raises `Missing` for an unknown team, pool or tier, `Invalid` for a past beginning or an end
    before it.
    """
    begins = _not_past(valid_from, valid_to, now)
    _lock(team_id, pool_id)
    tier = None if tier_id is None else Tier.objects.filter(pk=tier_id).first()
    if tier_id is not None and tier is None:
        raise Missing
    of_team = Sla.objects.filter(team_id=team_id)
    rows = of_team.filter(pool__isnull=True) if pool_id is None else of_team.filter(pool_id=pool_id)
    later = rows.filter(valid_from__gte=begins)
    replaced = list(later.values_list("tier_id", flat=True))
    later.delete()
    open_rows = rows.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=begins))
    was = open_rows.filter(valid_from__lt=begins).values_list("tier_id", flat=True).first()
    open_rows.filter(valid_from__lt=begins).update(valid_to=begins)
    sla = None
    if tier is not None:
        sla = Sla.objects.create(
            team_id=team_id, pool_id=pool_id, tier=tier, valid_from=begins, valid_to=valid_to,
            request_id=request_id, created_by_id=actor_id, created_at=now,
        )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="slas.set", target_type="sla", target_id=sla.pk if sla else None,
        team_id=team_id,
        data={
            "pool": pool_id, "was": was, "tier": tier_id, "replaced": replaced,
            "valid_from": begins.isoformat(),
            "valid_to": valid_to.isoformat() if valid_to else None, "request": request_id,
        },
    )  # fmt: skip
    return sla


def find_breaches(*, now: datetime) -> int:
    """Note every job that has waited longer than it should, and when it waits no more.

    Twice is once. Says how many are new. A fact that follows from others, so no audit line.
    """
    found = targets.get_targets(now=now, from_at=now - LONGEST_WAIT)
    new = list(_late(found, now)) if found.rows else []
    Breach.objects.bulk_create(new, ignore_conflicts=True)
    for breach in Breach.objects.filter(kind=BreachKind.WAIT, ended_at__isnull=True).select_related(
        "workload"
    ):
        work = breach.workload
        until = (work.scheduled_at or work.ended_at) if work else None
        if until is not None:
            Breach.objects.filter(pk=breach.pk, ended_at__isnull=True).update(
                ended_at=max(until, breach.due_at)
            )
    return len(new)


def _late(found: targets.Targets, now: datetime) -> Iterable[Breach]:
    """What waits, or waited until just now, beyond what its team was promised."""
    waits = Q(state__in=QUEUED, scheduled_at__isnull=True)
    lately = Q(state__in=HOLDING_STATES, scheduled_at__gt=now - LOOKED_BACK)
    jobs = Workload.objects.filter(waits | lately, team__isnull=False, breach__isnull=True)
    columns = ("id", "team_id", "pool_id", "submitted_at", "scheduled_at", "ended_at")
    for pk, team_id, pool_id, submitted, scheduled, ended in jobs.values_list(*columns):
        sla = None if team_id is None else found.of(team_id, pool_id, submitted)
        if sla is None or team_id is None:
            continue
        due_at = submitted + timedelta(seconds=sla.target_wait_seconds)
        if (scheduled or ended or now) > due_at:
            yield Breach(
                kind=BreachKind.WAIT, sla_id=sla.id, team_id=team_id, workload_id=pk,
                due_at=due_at,
            )  # fmt: skip


def note_late_answer(
    *, request_id: int, team_id: int, sla_id: int, due_at: datetime, ended_at: datetime | None
) -> None:
    """Note a request that was not answered in time, and when it was; twice is once."""
    Breach.objects.get_or_create(
        request_id=request_id,
        defaults={
            "kind": BreachKind.ANSWER, "sla_id": sla_id, "team_id": team_id, "due_at": due_at
        },
    )  # fmt: skip
    if ended_at is not None:
        Breach.objects.filter(request_id=request_id, ended_at__isnull=True).update(
            ended_at=max(ended_at, due_at)
        )


@transaction.atomic
def acknowledge(
    *,
    breach_id: int,
    note: str,
    actor_id: int,
    now: datetime,
    owner_id: int | None = None,
    version: int | None = None,
) -> Breach:
    """Say that somebody has seen it, who looks after it, and why it happened.

    Without an owner it is whoever acknowledges. Raises `Missing`, `Invalid` without a note, and
    `Conflict` when somebody was faster.
    """
    text = note.strip()
    if not text or len(text) > LONGEST_TEXT:
        say = _("Say in at most %(most)s characters what happened.") % {"most": LONGEST_TEXT}
        raise Invalid(say, fields={"note": say})
    row = Breach.objects.filter(pk=breach_id).first()
    if row is None:
        raise Missing
    won = Breach.objects.filter(pk=breach_id, version=row.version if version is None else version)
    if not won.update(
        acknowledged_at=now, acknowledged_by_id=actor_id, owner_id=owner_id or actor_id, note=text,
        version=F("version") + 1,
    ):  # fmt: skip
        raise Conflict(
            _("It was changed meanwhile. Read it again, then edit."), code="changed_meanwhile"
        )
    audit.record(
        actor_id=actor_id, action="slas.acknowledged", target_type="breach", target_id=breach_id,
        team_id=row.team_id, data={"owner": owner_id or actor_id},
    )  # fmt: skip
    return Breach.objects.get(pk=breach_id)


def _lock(team_id: int, pool_id: int | None) -> None:
    """Hold the team's promises until the transaction ends."""
    team = Team.objects.select_for_update(no_key=True).filter(pk=team_id).first()
    if team is None or (pool_id is not None and not Pool.objects.filter(pk=pool_id).exists()):
        raise Missing


def _not_past(valid_from: datetime, valid_to: datetime | None, now: datetime) -> datetime:
    if valid_from < now - timedelta(seconds=settings.TICK_SECONDS):
        raise Invalid(
            _("A promise cannot change in the past."),
            code="in_the_past",
            fields={"valid_from": _("is in the past")},
        )
    begins = max(valid_from, now)
    if valid_to is not None and valid_to <= begins:
        raise Invalid(
            _("A promise must end after it begins."),
            fields={"valid_to": _("is not after the beginning")},
        )
    return begins
