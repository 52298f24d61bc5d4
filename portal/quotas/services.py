"""The writes: teams' figures in a pool change from an instant on, or a change is taken back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Missing
from portal.common.models import AuditEvent
from portal.inventory import services as inventory
from portal.inventory.calendar import Span
from portal.inventory.models import CommitmentKind
from portal.inventory.services import Promise
from portal.quotas import bounds, refusals, selectors
from portal.quotas.models import Quota
from portal.teams.models import Team

FIGURES = (
    "guaranteed", "limit", "borrowing_limit", "lending_limit", "weight", "per_user_limit",
)  # fmt: skip
MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The figures one team is to have; `seen_id` is the newest change whoever asks has read."""

    team_id: int
    guaranteed: int
    limit: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    weight: int | None = None
    per_user_limit: int | None = None
    seen_id: int | None = None

    @property
    def figures(self) -> dict[str, int | None]:
        """The figures by column."""
        return {name: value for name, value in asdict(self).items() if name in FIGURES}


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
    """Let one team's figures hold from `valid_from` on; see `change_all`."""
    wanted = Wanted(
        team_id=team_id, guaranteed=guaranteed, limit=limit, borrowing_limit=borrowing_limit,
        lending_limit=lending_limit, weight=weight, per_user_limit=per_user_limit,
    )  # fmt: skip
    return change_all(
        pool_id=pool_id, wanted=[wanted], valid_from=valid_from, actor_id=actor_id, now=now,
        request_id=request_id,
    )[0]  # fmt: skip


@transaction.atomic
def change_all(
    *,
    pool_id: int,
    wanted: Sequence[Wanted],
    valid_from: datetime,
    actor_id: int | None,
    now: datetime,
    request_id: int | None = None,
    undoes: int | None = None,
) -> list[Quota]:
    """Let these figures hold from `valid_from` on, in place of all that was to hold then.

    All of them or none: what one team gives another may take in the same change. The row that
    holds at that instant ends there; rows that were to begin then or later are replaced and live
    on in the audit line. Their promises move with them in the same transaction.

    Raises `Invalid` for figures that contradict each other or a past beginning, `Missing` for an
    unknown team or pool, and `Conflict` "changed_meanwhile", or when from then on some instant
    would get worse: "overcommitted" (the pool has less than is promised), "above_limit" (a limit,
    the team's or that of a branch it stands in, is below guarantees plus reservations),
    "guarantee_fenced" (reservations set more of the guarantee aside).
    """
    for row in wanted:
        _check_figures(row.figures)
    begins = _not_past(valid_from, now)
    inventory.lock_pool(pool_id=pool_id)
    _check_teams(pool_id, wanted)
    before = {row.team_id: _excess(row.team_id, pool_id, begins, now) for row in wanted}
    turns = [_turn(pool_id, row, begins, actor_id, now, request_id) for row in wanted]
    inventory.commit_all(
        pool_id=pool_id,
        promises=[_promise(row) for turn in turns for row in (turn.held, turn.quota) if row],
        released=[(CommitmentKind.QUOTA, row.pk) for turn in turns for row in turn.replaced],
        now=now,
    )
    changed = frozenset(before)
    for turn in turns:
        _refuse_if_worse(before[turn.quota.team_id], turn.quota, changed, now)
        _record(turn, actor_id, undoes)
    return [turn.quota for turn in turns]


@transaction.atomic
def undo(*, quota_id: int, actor_id: int | None, now: datetime) -> list[Quota]:
    """Take back a team's newest change in a pool: what held, and was to hold, holds again.

    From the change's own beginning where that is still to come, else from now on. Raises
    `Missing`, or `Conflict` "changed_meanwhile" when it is the newest no more, and what
    `change_all` raises when the old figures no longer fit.
    """
    row = Quota.objects.filter(pk=quota_id).first()
    if row is None:
        raise Missing
    inventory.lock_pool(pool_id=row.pool_id)
    newest = selectors.newest_ids(pool_id=row.pool_id, team_ids=[row.team_id])
    if newest.get(row.team_id) != quota_id:
        raise refusals.changed_meanwhile(row.team_id)
    told = AuditEvent.objects.filter(action="quotas.changed", target_id=quota_id).first()
    if told is None:
        raise Conflict(_("Nothing is known of what held before this change."), code="no_history")
    begins = max(row.valid_from, now)
    # Of two figures from one instant on the later told counts.
    steps: dict[datetime, dict[str, int | None]] = {begins: told.data["was"] or {}}
    for later in told.data["replaced"]:
        at = parse_datetime(str(later["valid_from"]))
        steps[max(at or begins, begins)] = later
    return [
        change_all(
            pool_id=row.pool_id, wanted=[_as_wanted(row.team_id, figures)], valid_from=at,
            actor_id=actor_id, now=now, undoes=quota_id,
        )[0]
        for at, figures in steps.items()
    ]  # fmt: skip


def _as_wanted(team_id: int, told: dict[str, int | None]) -> Wanted:
    figures = {name: told.get(name) for name in FIGURES}
    guaranteed = figures.pop("guaranteed") or 0
    return Wanted(team_id=team_id, guaranteed=guaranteed, **figures)


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
        raise refusals.contradicting(figures, faults)


def _not_past(valid_from: datetime, now: datetime) -> datetime:
    """From now on at the earliest; what has passed by no more than a tick begins now."""
    if valid_from < now - timedelta(seconds=settings.TICK_SECONDS):
        raise refusals.in_the_past()
    return max(valid_from, now)


def _check_teams(pool_id: int, wanted: Sequence[Wanted]) -> None:
    """Every team is there, once, and as whoever asks has read it."""
    teams = {row.team_id for row in wanted}
    if len(teams) != len(wanted) or Team.objects.filter(pk__in=teams).count() != len(teams):
        raise Missing
    newest = selectors.newest_ids(pool_id=pool_id, team_ids=teams)
    for row in wanted:
        if row.seen_id is not None and row.seen_id != newest.get(row.team_id, 0):
            raise refusals.changed_meanwhile(row.team_id)


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a change did to one team's rows."""

    quota: Quota
    held: Quota | None
    replaced: list[Quota]


def _turn(
    pool_id: int,
    wanted: Wanted,
    begins: datetime,
    actor_id: int | None,
    now: datetime,
    request_id: int | None,
) -> _Turn:
    """Close what holds, drop what was to begin, open the new row."""
    rows = list(
        Quota.objects.select_for_update(no_key=True)
        .filter(team_id=wanted.team_id, pool_id=pool_id)
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
        team_id=wanted.team_id, pool_id=pool_id, valid_from=begins, request_id=request_id,
        created_by_id=actor_id, created_at=now, **wanted.figures,
    )  # fmt: skip
    return _Turn(quota, held, replaced)


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


def _refuse_if_worse(before: Excess, quota: Quota, changed: frozenset[int], now: datetime) -> None:
    """Look at the rows as they would stand, and refuse what they must not become."""
    after = _excess(quota.team_id, quota.pool_id, quota.valid_from, now)
    was, will = bounds.over_limit(before[0]), bounds.over_limit(after[0])
    for team_id, over in will.items():
        at = bounds.first_worse(was.get(team_id, []), over)
        if at is not None:
            bound = next(b for b in after[0] if b.team_id == team_id and b.from_at <= at < b.to_at)
            raise refusals.above_limit(pool_id=quota.pool_id, changed=changed, bound=bound)
    at = bounds.first_worse(*(_over_fence(fences) for fences in (before[1], after[1])))
    if at is not None:
        fence = next(f for f in after[1] if f.from_at <= at < f.to_at)
        raise refusals.fenced(team_id=quota.team_id, pool_id=quota.pool_id, fence=fence)


def _over_fence(fences: Sequence[bounds.Fence]) -> list[Span]:
    return [Span(f.from_at, f.to_at, -f.left) for f in fences if f.left < 0]


def _record(turn: _Turn, actor_id: int | None, undoes: int | None) -> None:
    quota, held = turn.quota, turn.held
    data: dict[str, object] = {
        "pool": quota.pool_id,
        "request": quota.request_id,
        "was": _figures(held) if held else None,
        "now": _figures(quota),
        "replaced": [_figures(row) for row in turn.replaced],
    }
    if undoes is not None:
        data["undoes"] = undoes
    audit.record(
        actor_id=actor_id, action="quotas.changed", target_type="quota", target_id=quota.pk,
        team_id=quota.team_id, data=data,
    )  # fmt: skip


def _figures(row: Quota) -> dict[str, object]:
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in FIGURES},
        "valid_from": row.valid_from.isoformat(),
    }
