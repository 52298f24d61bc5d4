"""The only way to promise capacity, and to let a promise go.

`quotas` and `reservations` call these inside their own transaction and write the audit line of
the change they make; a promise is no change of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common.errors import Conflict, Missing
from portal.inventory import calendar, selectors
from portal.inventory.calendar import FOREVER, Hold, Period
from portal.inventory.models import Commitment, CommitmentKind, Pool
from portal.inventory.selectors import capacity, rows
from portal.inventory.selectors.rows import CommitmentRow

SourceKey = tuple[CommitmentKind, int]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a source (a quota or a reservation) wants promised; no GPUs is no promise."""

    kind: CommitmentKind
    source_id: int
    team_id: int
    gpus: int
    starts_at: datetime
    ends_at: datetime | None
    gpus_per_node: int | None = None
    adds: bool = True

    @property
    def key(self) -> SourceKey:
        """Kind and id of the source."""
        return self.kind, self.source_id

    @property
    def hold(self) -> Hold:
        """As the arithmetic sees it."""
        return Hold(
            self.starts_at, self.ends_at or FOREVER, self.gpus, self.gpus_per_node, self.adds
        )


@transaction.atomic
def lock_pool(*, pool_id: int) -> None:
    """Hold the pool until the transaction ends, so that what is read stays true. Raises `Missing`."""
    _lock({pool_id})


def commit(
    *,
    pool_id: int,
    kind: CommitmentKind,
    source_id: int,
    team_id: int,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime | None,
    now: datetime,
    gpus_per_node: int | None = None,
    adds: bool = True,
) -> None:
    """Promise GPUs to a source in place of what it was promised before, or refuse.

    Raises `Conflict` "overcommitted" when from `now` on some instant would promise more than
    there is and more than before; a change that worsens no instant is never refused.
    """
    promise = Promise(
        kind, source_id, team_id, gpus, starts_at, ends_at, gpus_per_node=gpus_per_node, adds=adds
    )
    commit_all(pool_id=pool_id, promises=[promise], now=now)


@transaction.atomic
def commit_all(
    *,
    pool_id: int,
    promises: Sequence[Promise],
    now: datetime,
    released: Iterable[SourceKey] = (),
) -> None:
    """Replace several sources' promises as one change: all of it stands, or none.

    `released` are sources that lose theirs. Promises that lay in another pool move to this one
    and are checked here. Raises `Conflict` "overcommitted", or `Missing` for an unknown pool.
    """
    keys = {promise.key for promise in promises} | set(released)
    _lock({pool_id} | {row.pool_id for row in _held(keys)})
    held = _held(keys)
    wanted = [promise for promise in promises if promise.gpus > 0]
    _check(pool_id, [row for row in held if row.pool_id == pool_id], wanted, keys, now)
    stay = {promise.key for promise in wanted}
    Commitment.objects.filter(_matching(keys - stay)).delete()
    for promise in wanted:
        Commitment.objects.update_or_create(
            kind=promise.kind,
            source_id=promise.source_id,
            defaults={
                "pool_id": pool_id,
                "team_id": promise.team_id,
                "gpus": promise.gpus,
                "gpus_per_node": promise.gpus_per_node,
                "adds": promise.adds,
                "starts_at": promise.starts_at,
                "ends_at": promise.ends_at,
            },
        )


@transaction.atomic
def release(
    *, kind: CommitmentKind, source_id: int, now: datetime, from_at: datetime | None = None
) -> None:
    """Let a source's promise end at `from_at`, or now; what is past stays, twice is once."""
    row = Commitment.objects.filter(kind=kind, source_id=source_id).first()
    if row is None:
        return
    _lock({row.pool_id})
    end = max(from_at or now, now)
    same = Commitment.objects.filter(kind=kind, source_id=source_id)
    same.filter(starts_at__gte=end).delete()
    same.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=end)).update(ends_at=end)


def _lock(pool_ids: set[int]) -> None:
    """Lock pools in the order of their ids, so that two changes cannot wait for each other."""
    found = Pool.objects.select_for_update(no_key=True).filter(pk__in=pool_ids).order_by("pk")
    if len(found) != len(pool_ids):
        raise Missing


def _matching(keys: Iterable[SourceKey]) -> Q:
    condition = Q(pk__in=[])
    for kind in CommitmentKind:
        ids = [source_id for of_kind, source_id in keys if of_kind is kind]
        condition |= Q(kind=kind, source_id__in=ids)
    return condition


def _held(keys: Iterable[SourceKey]) -> list[CommitmentRow]:
    return [rows.row_of(row) for row in Commitment.objects.filter(_matching(keys))]


def _check(
    pool_id: int,
    old: Sequence[CommitmentRow],
    wanted: Sequence[Promise],
    keys: set[SourceKey],
    now: datetime,
) -> None:
    new = [promise.hold for promise in wanted]
    first = max(now, min((hold.from_at for hold in new), default=now))
    last = max((hold.to_at for hold in new), default=first)
    if first >= last:
        return
    window = Period(first, last)
    kept = [
        row
        for row in rows.get_commitments([pool_id], window)
        if (row.kind, row.source_id) not in keys
    ]
    short = calendar.first_shortfall(
        rows.get_bookable(pool_id, window),
        [row.hold for row in kept],
        old=[row.hold for row in old],
        new=new,
        window=window,
    )
    if short is not None:
        raise refusal(pool_id=pool_id, fit=capacity.fit_of(short, kept))


def refusal(*, pool_id: int, fit: selectors.Fit) -> Conflict:
    """The refusal that says where an ask first falls short, with its numbers."""
    assert fit.at is not None
    name = Pool.objects.values_list("name", flat=True).get(pk=pool_id)
    words = {
        "at": f"{timezone.localtime(fit.at):%Y-%m-%d %H:%M %Z}",
        "pool": name,
        "free": fit.free,
        "capacity": fit.capacity,
        "asked": fit.asked,
        "shape": fit.gpus_per_node,
    }
    if fit.gpus_per_node is None:
        message = _(
            "At %(at)s pool %(pool)s has %(free)d of %(capacity)d GPUs free, and %(asked)d are "
            "asked. Ask for fewer GPUs, another time or another pool."
        )
    else:
        message = _(
            "At %(at)s pool %(pool)s has room for %(free)d GPUs in blocks of %(shape)d on one "
            "node, and %(asked)d are asked. Ask for smaller blocks, another time or another pool."
        )
    return Conflict(message % words, code="overcommitted", details=_numbers(pool_id, fit))


def _numbers(pool_id: int, fit: selectors.Fit) -> dict[str, object]:
    return {
        "pool_id": pool_id,
        "measure": fit.measure,
        "at": fit.at.isoformat() if fit.at else None,
        "until": fit.until.isoformat() if fit.until else None,
        "capacity": fit.capacity,
        "committed": fit.committed,
        "asked": fit.asked,
        "free": fit.free,
        "gpus_per_node": fit.gpus_per_node,
        "blocking": [
            {
                "kind": row.kind.value,
                "source_id": row.source_id,
                "team_id": row.team_id,
                "gpus": row.gpus,
                "ends_at": row.ends_at.isoformat() if row.ends_at else None,
            }
            for row in fit.blocking[:BLOCKING_NAMED]
        ],
    }


BLOCKING_NAMED = 20
