"""The one write: a team's figures in a pool change from an instant on."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory import services as inventory
from portal.inventory.calendar import Span
from portal.inventory.models import CommitmentKind, Pool
from portal.inventory.services import Promise
from portal.quotas import bounds
from portal.quotas.models import Quota
from portal.teams.models import Team

FIGURES = (
    "guaranteed", "limit", "borrowing_limit", "lending_limit", "weight", "per_user_limit",
)  # fmt: skip
MOST = 1_000_000


@transaction.atomic
def change(
    *,
    team_id: int,
    pool_id: int,
    guaranteed: int,
    limit: int | None,
    valid_from: datetime,
    actor_id: int | None,
    now: datetime,
    borrowing_limit: int | None = None,
    lending_limit: int | None = None,
    weight: int | None = None,
    per_user_limit: int | None = None,
    request_id: int | None = None,
) -> Quota:
    """Let these figures hold from `valid_from` on, in place of all that was to hold then.

    The row that holds at that instant ends there; rows that were to begin then or later are
    replaced and live on in the audit line. Their promises move with them in the same transaction.

    Raises `Invalid` for figures that contradict each other or a past beginning, `Missing` for an
    unknown team or pool, and `Conflict` when from then on some instant would get worse:
    "overcommitted" (the pool has less than is promised), "above_limit" (a limit, the team's or
    that of a branch it stands in, is below guarantees plus reservations), "guarantee_fenced"
    (reservations set more of the guarantee aside).
    """
    figures: dict[str, int | None] = {
        "guaranteed": guaranteed, "limit": limit, "borrowing_limit": borrowing_limit,
        "lending_limit": lending_limit, "weight": weight, "per_user_limit": per_user_limit,
    }  # fmt: skip
    _check_figures(figures)
    begins = _not_past(valid_from, now)
    inventory.lock_pool(pool_id=pool_id)
    if not Team.objects.filter(pk=team_id).exists():
        raise Missing
    before = _excess(team_id, pool_id, begins, now)
    rows = list(
        Quota.objects.select_for_update(no_key=True)
        .filter(team_id=team_id, pool_id=pool_id)
        .exclude(valid_to__lte=begins)
        .order_by("valid_from")
    )
    replaced = [row for row in rows if row.valid_from >= begins]
    held = next((row for row in rows if row.valid_from < begins), None)
    Quota.objects.filter(pk__in=[row.pk for row in replaced]).delete()
    if held is not None:
        held.valid_to = begins
        held.save(update_fields=["valid_to"])
    quota = Quota.objects.create(
        team_id=team_id, pool_id=pool_id, valid_from=begins, request_id=request_id,
        created_by_id=actor_id, created_at=now, **figures,
    )  # fmt: skip
    inventory.commit_all(
        pool_id=pool_id,
        promises=[_promise(row) for row in (held, quota) if row is not None],
        released=[(CommitmentKind.QUOTA, row.pk) for row in replaced],
        now=now,
    )
    _refuse_if_worse(before, quota, now)
    _record(quota, held, replaced, actor_id)
    return quota


def _check_figures(figures: dict[str, int | None]) -> None:
    faults = {
        name: _("Give a whole number from %(least)d to %(most)d.") % {"least": least, "most": MOST}
        for name, value in figures.items()
        for least in [1 if name in ("weight", "per_user_limit") else 0]
        if value is not None and not least <= value <= MOST
    }
    guaranteed, limit = figures["guaranteed"] or 0, figures["limit"]
    if limit is not None and guaranteed > limit and not faults:
        faults["limit"] = _("The limit is below the guarantee.")
    if faults:
        raise Invalid(_("These figures cannot hold together."), fields=faults, details={**figures})


def _not_past(valid_from: datetime, now: datetime) -> datetime:
    """From now on at the earliest; what has passed by no more than a tick begins now."""
    if valid_from < now - timedelta(seconds=settings.TICK_SECONDS):
        raise Invalid(
            _("A quota cannot change in the past."),
            code="in_the_past",
            fields={"valid_from": _("is in the past")},
        )
    return max(valid_from, now)


def _promise(row: Quota) -> Promise:
    return Promise(
        kind=CommitmentKind.QUOTA, source_id=row.pk, team_id=row.team_id, gpus=row.guaranteed,
        starts_at=row.valid_from, ends_at=row.valid_to,
    )  # fmt: skip


Excess = tuple[list[bounds.Bound], list[bounds.Fence]]


def _excess(team_id: int, pool_id: int, from_at: datetime, now: datetime) -> Excess:
    """How the bounds stand from an instant on."""
    return (
        bounds.list_bounds(team_id=team_id, pool_id=pool_id, from_at=from_at, to_at=None, now=now),
        bounds.list_fences(team_id=team_id, pool_id=pool_id, from_at=from_at, to_at=None),
    )


def _refuse_if_worse(before: Excess, quota: Quota, now: datetime) -> None:
    """Look at the rows as they would stand, and refuse what they must not become."""
    after = _excess(quota.team_id, quota.pool_id, quota.valid_from, now)
    was, will = bounds.over_limit(before[0]), bounds.over_limit(after[0])
    for team_id, over in will.items():
        at = bounds.first_worse(was.get(team_id, []), over)
        if at is not None:
            raise _above_limit(quota, next(
                b for b in after[0] if b.team_id == team_id and b.from_at <= at < b.to_at
            ))  # fmt: skip
    at = bounds.first_worse(*(_over_fence(fences) for fences in (before[1], after[1])))
    if at is not None:
        raise _fenced(quota, next(f for f in after[1] if f.from_at <= at < f.to_at))


def _over_fence(fences: Sequence[bounds.Fence]) -> list[Span]:
    return [Span(f.from_at, f.to_at, -f.left) for f in fences if f.left < 0]


def _above_limit(quota: Quota, bound: bounds.Bound) -> Conflict:
    words = {
        "at": f"{timezone.localtime(bound.from_at):%Y-%m-%d %H:%M %Z}",
        "team": Team.objects.values_list("name", flat=True).get(pk=bound.team_id),
        "pool": Pool.objects.values_list("name", flat=True).get(pk=quota.pool_id),
        "guaranteed": bound.guaranteed,
        "reserved": bound.reserved,
        "limit": bound.limit,
    }
    message = _(
        "At %(at)s %(team)s would be guaranteed %(guaranteed)d GPUs of pool %(pool)s and has "
        "reserved %(reserved)d, above its limit of %(limit)d. Raise the limit, or guarantee less."
    )
    own = bound.team_id == quota.team_id
    return Conflict(
        message % words,
        code="above_limit",
        fields={"limit" if own else "guaranteed": message % words},
        details={
            "team_id": bound.team_id, "pool_id": quota.pool_id, "at": bound.from_at.isoformat(),
            "guaranteed": bound.guaranteed, "reserved": bound.reserved, "limit": bound.limit,
        },
    )  # fmt: skip


def _fenced(quota: Quota, fence: bounds.Fence) -> Conflict:
    words = {
        "at": f"{timezone.localtime(fence.from_at):%Y-%m-%d %H:%M %Z}",
        "fenced": fence.fenced,
        "guaranteed": fence.guaranteed,
    }
    message = _(
        "At %(at)s reservations set %(fenced)d GPUs of the guarantee aside, and it would be "
        "%(guaranteed)d. Cancel a reservation, or guarantee more."
    )
    return Conflict(
        message % words,
        code="guarantee_fenced",
        fields={"guaranteed": message % words},
        details={
            "team_id": quota.team_id, "pool_id": quota.pool_id, "at": fence.from_at.isoformat(),
            "guaranteed": fence.guaranteed, "fenced": fence.fenced,
        },
    )  # fmt: skip


def _record(
    quota: Quota, held: Quota | None, replaced: Sequence[Quota], actor_id: int | None
) -> None:
    audit.record(
        actor_id=actor_id, action="quotas.changed", target_type="quota", target_id=quota.pk,
        team_id=quota.team_id,
        data={
            "pool": quota.pool_id,
            "request": quota.request_id,
            "was": _figures(held) if held else None,
            "now": _figures(quota),
            "replaced": [_figures(row) for row in replaced],
        },
    )  # fmt: skip


def _figures(row: Quota) -> dict[str, object]:
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in FIGURES},
        "valid_from": row.valid_from.isoformat(),
    }
