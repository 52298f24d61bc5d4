"""Asking, agreeing, refusing: every move of a request, each with its audit line.

A move is a filtered update: whoever changes the row first has made the move, the other gets a
`Conflict` that says what happened. An approval makes its change in the same transaction; when the
capacity is gone, that refusal stands and the request stays submitted.

Who may not reach a team finds nothing there (`Missing`), as with an id that does not exist.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.inventory import services as inventory
from portal.inventory.models import Pool
from portal.requests import approving, faulting, history, kinds, pricing
from portal.requests.models import Approval, Comment, Request, RequestState
from portal.reservations import selectors as reservations
from portal.reservations import services as reservation_services
from portal.reservations.models import ReservationState
from portal.teams import selectors as teams
from portal.teams.models import Role
from portal.teams.permissions import ASK, DECIDE

S = RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody fills in; which figures count is the kind's to say."""

    kind: str
    team_id: int
    pool_id: int
    reason: str = ""
    gpus: int | None = None
    gpus_per_node: int | None = None
    source: str = "pool"
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    zone: str = ""
    guaranteed: int | None = None
    limit: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    weight: int | None = None
    per_user_limit: int | None = None
    about_id: int | None = None
    tier_id: int | None = None


@transaction.atomic
def save_draft(
    *,
    asked: Asked,
    actor_id: int,
    now: datetime,
    request_id: int | None = None,
    version: int | None = None,
) -> Request:
    """Keep what was filled in so far; with an id, over that draft.

    Raises `Invalid` for what contradicts itself, `Conflict` when it is a draft no more.
    """
    _must_hold(actor_id, ASK, asked.team_id, now)
    row = _draft(asked, actor_id, now)
    faults = {**faulting.common(row), **kinds.of(row).faults(row, now)}
    if faults:
        raise faulting.refusal(faults)
    if request_id is None:
        row.save(force_insert=True)
    else:
        before = _find(request_id)
        _must_hold(actor_id, ASK, before.team_id, now)
        if before.kind != row.kind:
            raise Invalid(_("What kind of request it is cannot be changed."))
        _move(before, None, version, actor_id, **_columns(row))
        row = _find(request_id)
    _record("requests.drafted", row, actor_id, {"asked": kinds.plain(row)})
    return row


@transaction.atomic
def ask(
    *,
    asked: Asked,
    actor_id: int,
    now: datetime,
    submitting: bool,
    request_id: int | None = None,
    version: int | None = None,
) -> Request:
    """Save a draft and, if `submitting`, submit it: both or neither."""
    if submitting:
        _lock_before_any_line(asked.pool_id, request_id)
    row = save_draft(
        asked=asked, actor_id=actor_id, now=now, request_id=request_id, version=version
    )
    return submit(request_id=row.pk, actor_id=actor_id, now=now) if submitting else row


@transaction.atomic
def submit(*, request_id: int, actor_id: int, now: datetime, version: int | None = None) -> Request:
    """Put a draft before those who decide; from now on it is a soft hold, until it lapses.

    Where nobody has to agree and nobody else asked for the same, it is approved at once; where
    that fails, somebody has to decide after all.
    """
    row = _find(request_id)
    _must_hold(actor_id, ASK, row.team_id, now)
    kind = kinds.of(row)
    price, needed = None, 1
    if row.state == S.DRAFT:
        kind.fill(row, now)
        _must_be_ready(row, now)
        price = kind.price(row, now)
        pricing.must_fit_budget(row, price, now)
        needed = approving.needed(row, price[0] if price else None)
    if needed == 0:
        # Before the end of the audit's chain is held, as everywhere.
        inventory.lock_pool(pool_id=row.pool_id)
    lapses_at = now + timedelta(days=settings.REQUEST_EXPIRY_DAYS)
    own_end = kind.lapses_at(row)
    _move(
        row, S.SUBMITTED, version, actor_id, submitted_at=now, submitted_by_id=actor_id,
        expires_at=lapses_at if own_end is None else min(lapses_at, own_end),
        cost_micro=price[0] if price else None, currency=price[1] if price else "",
        approvals_needed=needed, **{name: getattr(row, name) for name in kind.columns},
    )  # fmt: skip
    _record("requests.submitted", row, actor_id, {"asked": kinds.plain(row), "needs": needed})
    if needed == 0 and not _approve_by_rule(_find(request_id), actor_id, now):
        Request.objects.filter(pk=request_id).update(approvals_needed=1)
    return _find(request_id)


def _approve_by_rule(row: Request, actor_id: int, now: datetime) -> bool:
    """Make the change nobody has to agree to; false where it cannot be made just so."""
    if approving.is_in_the_way(row, now):
        return False
    kind = kinds.of(row)
    try:
        with transaction.atomic():
            granted = kind.grant(row, None, now)
            became = dict(kind.carry_out(row, granted, actor_id, now))
            _move(row, S.APPROVED, None, actor_id, decided_at=now, granted_gpus=granted, **became)
            _record(
                "requests.approved", row, None,
                {"granted_gpus": granted, "by_rule": True, **became},
            )  # fmt: skip
    except Conflict:
        return False
    return True


@transaction.atomic
def approve(
    *,
    request_id: int,
    actor_id: int,
    now: datetime,
    granted_gpus: int | None = None,
    note: str = "",
    version: int | None = None,
) -> Request:
    """Agree, to all or to a part, and make the change once as many have agreed as have to.

    Raises `Refusal` to whoever asked, submitted or agreed already, and whatever the change itself
    raises, such as `Conflict` "overcommitted" with numbers: then nothing has moved.
    """
    row = _decidable(request_id, actor_id, now)
    kind = kinds.of(row)
    agreed = approving.list_agreed(request_id=row.pk)
    if row.state == S.SUBMITTED and any(one.by_id == actor_id for one in agreed):
        raise Refusal(
            _("You have agreed already. Somebody else has to as well."), code="already_agreed"
        )
    granted = 0
    if row.state == S.SUBMITTED:
        so_far = min((one.granted_gpus for one in agreed), default=None)
        granted = kind.grant(row, so_far if granted_gpus is None else granted_gpus, now)
        _not_above(granted, so_far)
    text = faulting.text_of(note, "note")
    if row.state == S.SUBMITTED and len(agreed) + 1 < row.approvals_needed:
        _stay_submitted(row, version)
        _agree(row, actor_id, granted, text, now)
        _record("requests.agreed", row, actor_id, {"granted_gpus": granted})
        return _find(request_id)
    _move(
        row, S.APPROVED, version, actor_id, decided_at=now, decided_by_id=actor_id,
        granted_gpus=granted, decision_note=text,
    )  # fmt: skip
    _agree(row, actor_id, granted, text, now)
    became = dict(kind.carry_out(row, granted, actor_id, now))
    Request.objects.filter(pk=row.pk).update(**became)
    _record("requests.approved", row, actor_id, {"granted_gpus": granted, **became})
    return _find(request_id)


def _agree(row: Request, actor_id: int, granted: int, note: str, now: datetime) -> None:
    Approval.objects.create(request=row, by_id=actor_id, at=now, granted_gpus=granted, note=note)


def _not_above(granted: int, so_far: int | None) -> None:
    """The next one to agree never grants more than the one before."""
    if so_far is not None and granted > so_far:
        say = _("%(gpus)s GPUs were agreed to so far: grant no more than that.") % {"gpus": so_far}
        raise Invalid(say, code="cannot_grant", fields={"granted_gpus": say})


@transaction.atomic
def reject(
    *, request_id: int, note: str, actor_id: int, now: datetime, version: int | None = None
) -> Request:
    """Say no, and why."""
    row = _decidable(request_id, actor_id, now)
    reason = faulting.text_of(note, "note")
    if not reason:
        raise faulting.refusal({"note": _("Say why: whoever asked reads it.")})
    _move(
        row, S.REJECTED, version, actor_id, decided_at=now, decided_by_id=actor_id,
        decision_note=reason,
    )  # fmt: skip
    _record("requests.rejected", row, actor_id, {})
    return _find(request_id)


@transaction.atomic
def cancel(*, request_id: int, actor_id: int, now: datetime, version: int | None = None) -> Request:
    """Take it back; what was approved already is given back on the calendar instead."""
    row = _find(request_id)
    _must_hold(actor_id, ASK, row.team_id, now)
    _move(row, S.CANCELLED, version, actor_id, decided_at=now, cancelled_by_id=actor_id)
    _record("requests.cancelled", row, actor_id, {"was": row.state})
    return _find(request_id)


@transaction.atomic
def release(*, request_id: int, actor_id: int, now: datetime) -> ReservationState:
    """Let go of the reservation an approved request became: called off, or given back early.

    Raises what `reservations` says of one that is over.
    """
    row = _find(request_id)
    _must_hold(actor_id, ASK, row.team_id, now)
    if row.reservation_id is None:
        raise Conflict(_("It has no reservation to give back."), code="no_reservation")
    held = reservations.get_reservation(reservation_id=row.reservation_id)
    act = reservation_services.give_back if held.starts_at <= now else reservation_services.cancel
    return ReservationState(act(reservation_id=held.id, actor_id=actor_id, now=now).state)


@transaction.atomic
def comment(*, request_id: int, text: str, actor_id: int, now: datetime) -> Comment:
    """Say something on the thread: open to whoever may see the request."""
    row = _find(request_id)
    _must_hold(actor_id, frozenset(Role), row.team_id, now)
    said = faulting.text_of(text, "text")
    if not said:
        raise faulting.refusal({"text": _("Write something first.")})
    Request.objects.filter(pk=row.pk).update(version=F("version") + 1)
    added = Comment.objects.create(request=row, author_id=actor_id, at=now, text=said)
    _record("requests.commented", row, actor_id, {"comment": added.pk})
    return added


@transaction.atomic
def expire_due(*, now: datetime) -> int:
    """Let lapse what nobody decided in time; how many were. Twice is once."""
    lapsed = 0
    due = Request.objects.filter(state=S.SUBMITTED, expires_at__lte=now).order_by("id")
    for row in due:
        won = Request.objects.filter(pk=row.pk, state=S.SUBMITTED).update(
            state=S.EXPIRED, decided_at=row.expires_at, version=F("version") + 1
        )
        if won:
            _record("requests.expired", row, None, {})
        lapsed += won
    return lapsed


def _lock_before_any_line(pool_id: int, request_id: int | None) -> None:
    """Hold the row and the pool before the end of the audit's chain, in everybody's order."""
    if request_id is not None:
        _find(request_id)
    if Pool.objects.filter(pk=pool_id).exists():
        inventory.lock_pool(pool_id=pool_id)


def _find(request_id: int) -> Request:
    """The row, held against other writers until this transaction ends."""
    row = Request.objects.select_for_update(no_key=True).filter(pk=request_id).first()
    if row is None:
        raise Missing
    return row


def _must_hold(actor_id: int, roles: frozenset[Role], team_id: int, now: datetime) -> None:
    if not teams.get_access(user_id=actor_id, now=now).holds(roles, team_id=team_id):
        raise Missing


def _decidable(request_id: int, actor_id: int, now: datetime) -> Request:
    """The request, if this person may decide it and its time has not run out."""
    row = _find(request_id)
    _must_hold(actor_id, DECIDE, row.team_id, now)
    if actor_id in (row.requested_by_id, row.submitted_by_id):
        raise Refusal(
            _("Nobody decides what they asked for themselves. Another admin has to."),
            code="own_request",
        )
    if row.state == S.SUBMITTED and row.expires_at is not None and row.expires_at <= now:
        raise Conflict(history.lapsed(row), code="lapsed")
    return row


def _move(
    row: Request,
    to: RequestState | None,
    version: int | None,
    actor_id: int,
    **columns: object,
) -> None:
    """Win the row or raise `Conflict`; `to` None changes a draft and leaves it one."""
    may_come_from = [S.DRAFT] if to is None else history.sources(to)
    rows = Request.objects.filter(pk=row.pk, state__in=may_come_from)
    if version is not None:
        rows = rows.filter(version=version)
    if to is not None:
        columns["state"] = to
    if not rows.update(version=F("version") + 1, **columns):
        raise history.lost(_find(row.pk), may_come_from)


def _stay_submitted(row: Request, version: int | None) -> None:
    """Win the row and leave it where it is, while more people have to agree."""
    rows = Request.objects.filter(pk=row.pk, state=S.SUBMITTED)
    if version is not None:
        rows = rows.filter(version=version)
    if not rows.update(version=F("version") + 1):
        raise history.lost(_find(row.pk), [S.SUBMITTED])


def _draft(asked: Asked, actor_id: int, now: datetime) -> Request:
    """A row of what was asked, only with the columns its kind uses."""
    if asked.kind not in kinds.KINDS:
        raise faulting.refusal({"kind": _("There is no request of this kind.")})
    row = Request(
        kind=asked.kind, team_id=asked.team_id, pool_id=asked.pool_id, created_at=now,
        requested_by_id=actor_id, reason=asked.reason.strip(),
    )  # fmt: skip
    for name in kinds.of(row).columns:
        setattr(row, name, getattr(asked, name))
    kinds.of(row).fill(row, now)
    return row


def _must_be_ready(row: Request, now: datetime) -> None:
    """All that keeps a draft from being submitted, at once."""
    kind = kinds.of(row)
    faults = {**faulting.common(row), **kind.missing(row, now), **kind.faults(row, now)}
    if not faults:
        faults = kind.beyond(row, now)
    if not row.reason.strip():
        faults["reason"] = _("Say why it is needed: whoever decides reads it.")
    if faults:
        raise faulting.refusal(faults)


def _columns(row: Request) -> dict[str, object]:
    names = ("team_id", "pool_id", "reason", *kinds.of(row).columns)
    return {name: getattr(row, name) for name in names}


def _record(action: str, row: Request, actor_id: int | None, data: dict[str, object]) -> None:
    audit.record(
        actor_id=actor_id, action=action, target_type="request", target_id=row.pk,
        team_id=row.team_id, data=data,
    )  # fmt: skip
