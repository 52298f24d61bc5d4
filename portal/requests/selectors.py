"""Reads of requests: soft holds, the inbox, one request with its thread and its line."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from portal.inventory.calendar import FOREVER
from portal.quotas.models import Quota
from portal.requests.kinds.contract import FIGURES
from portal.requests.models import Request, RequestKind, RequestState
from portal.reservations.models import Source


@dataclass(frozen=True, slots=True)
class SoftHold:
    """What a submitted request would take from a pool, once approved."""

    request_id: int
    kind: RequestKind
    team_id: int
    gpus: int
    starts_at: datetime
    ends_at: datetime


def list_soft_holds(
    *,
    pool_id: int,
    from_at: datetime,
    to_at: datetime,
    now: datetime,
    without: int | None = None,
) -> list[SoftHold]:
    """Submitted and not lapsed, meeting the window; a quota change counts by what it adds."""
    rows = Request.objects.filter(pool_id=pool_id, state=RequestState.SUBMITTED).filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    )
    if without is not None:
        rows = rows.exclude(pk=without)
    found = list(rows.order_by("id"))
    guarantees = _guarantees(pool_id, {r.team_id for r in found if r.kind == "quota"}, now)
    holds = (_soft_hold(row, guarantees.get(row.team_id, 0), now) for row in found)
    return [h for h in holds if h and h.starts_at < to_at and h.ends_at > from_at]


def get_figures(*, team_id: int, pool_id: int, at: datetime) -> dict[str, int | None]:
    """A team's quota in a pool by column; without one it is guaranteed nothing, without limits."""
    valid = Q(valid_to__isnull=True) | Q(valid_to__gt=at)
    rows = Quota.objects.filter(valid, team_id=team_id, pool_id=pool_id, valid_from__lte=at)
    found = rows.values(*FIGURES).first()
    return dict(found) if found else {**dict.fromkeys(FIGURES, None), "guaranteed": 0}


def _soft_hold(row: Request, guaranteed: int, now: datetime) -> SoftHold | None:
    begins = max(row.starts_at or now, now)
    if row.kind == RequestKind.QUOTA:
        gpus, ends_at = (row.guaranteed or 0) - guaranteed, FOREVER
    elif row.source == Source.POOL and row.ends_at is not None:
        gpus, ends_at = row.gpus or 0, row.ends_at
    else:
        return None
    if gpus <= 0:
        return None
    return SoftHold(row.pk, RequestKind(row.kind), row.team_id, gpus, begins, ends_at)


def _guarantees(pool_id: int, team_ids: Iterable[int], now: datetime) -> dict[int, int]:
    wanted = list(team_ids)
    if not wanted:
        return {}
    valid = Q(valid_to__isnull=True) | Q(valid_to__gt=now)
    rows = Quota.objects.filter(valid, pool_id=pool_id, team_id__in=wanted, valid_from__lte=now)
    return dict(rows.values_list("team_id", "guaranteed"))
