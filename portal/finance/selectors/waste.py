"""What failed, preempted and idle jobs lost, in GPU-time and at the price of their day.

A pod that ended before its time lost what it held since its last save, or all it held. Only the
last save of a job is known, so what earlier attempts lost is an upper bound. Idle is held time that
monitoring measured and in which the devices hardly computed.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

from django.db.models import Count, F, Q, Sum, TextChoices
from django.utils.translation import gettext_lazy as _

from portal.common.clock import whole_seconds
from portal.finance import cards, pricing
from portal.finance.cards import Book
from portal.usage.models import IDLE_BELOW_PERCENT, HourlyUse
from portal.workloads.models import Pod, WorkloadState

_UNUSED = F("measured_milli_seconds") - F("used_milli_seconds")


class Cause(TextChoices):
    """Why GPU-time came to nothing."""

    FAILED = "failed", _("Failed")
    PREEMPTED = "preempted", _("Preempted")
    NODE_LOST = "node_lost", _("Node lost")
    IDLE = "idle", _("Held, hardly computing")


_OF_WHY = {
    "failed": Cause.FAILED, "preempted": Cause.PREEMPTED, "node_lost": Cause.NODE_LOST,
    "evicted": Cause.NODE_LOST,
}  # fmt: skip


@dataclass(slots=True)
class Lost:
    """What one cause took from one team; `amount_micro` is exact but for one rounding."""

    team_id: int | None
    cause: Cause
    times: int = 0
    gpu_milli_seconds: int = 0
    amount_micro: int = 0

    @property
    def gpu_hours(self) -> Decimal:
        """The same in GPU-hours."""
        return Decimal(self.gpu_milli_seconds) / pricing.MILLI_SECONDS_PER_GPU_HOUR


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of time lost."""

    team_id: int | None
    cause: Cause
    pool_id: int
    charged_to: str
    at: datetime
    gpu_milli_seconds: int
    times: int = 1


def list_lost(
    *, from_at: datetime, to_at: datetime, team_ids: Collection[int] | None = None
) -> list[Lost]:
    """What was lost by what ended in a half-open period, by team and cause, most first."""
    book = cards.read(from_at, to_at)
    pieces = [*_ended(from_at, to_at, team_ids), *_idle(from_at, to_at, team_ids, book)]
    return sorted(_together(pieces, book), key=lambda one: -one.gpu_milli_seconds)


def _together(pieces: Iterable[_Piece], book: Book) -> list[Lost]:
    found: dict[tuple[int | None, Cause], Lost] = {}
    money: dict[tuple[int | None, Cause], dict[int, int]] = {}
    for piece in pieces:
        key = (piece.team_id, piece.cause)
        one = found.setdefault(key, Lost(*key))
        one.times += piece.times
        one.gpu_milli_seconds += piece.gpu_milli_seconds
        price = book.price(piece.pool_id, piece.at)
        rate = price.for_use(piece.charged_to) if piece.charged_to else price.gpu_hour_micro
        rates = money.setdefault(key, {})
        rates[rate] = rates.get(rate, 0) + piece.gpu_milli_seconds
    for key, one in found.items():
        one.amount_micro = sum(
            pricing.amount(quantity, rate, book.currency) for rate, quantity in money[key].items()
        )
    return list(found.values())


def _ended(
    from_at: datetime, to_at: datetime, team_ids: Collection[int] | None
) -> Iterable[_Piece]:
    broken = Q(why__in=list(_OF_WHY)) | Q(workload__state=WorkloadState.FAILED, why="")
    pods = Pod.objects.filter(
        broken, closed_at__gte=from_at, closed_at__lt=to_at, scheduled_at__isnull=False,
        node__isnull=False, closed_at__gt=F("scheduled_at"),
    ).order_by()  # fmt: skip
    if team_ids is not None:
        pods = pods.filter(workload__team_id__in=list(team_ids))
    for pod in pods.select_related("workload", "node"):
        held_from, closed_at, saved_at = pod.scheduled_at, pod.closed_at, pod.workload.last_saved_at
        assert held_from is not None
        assert closed_at is not None
        assert pod.node is not None
        since = saved_at if saved_at and held_from < saved_at <= closed_at else held_from
        yield _Piece(
            team_id=pod.workload.team_id,
            cause=_OF_WHY.get(pod.why, Cause.FAILED),
            pool_id=pod.node.pool_id,
            charged_to=pod.charged_to,
            at=closed_at,
            gpu_milli_seconds=pod.gpu_milli * (whole_seconds(closed_at) - whole_seconds(since)),
        )


def _idle(
    from_at: datetime, to_at: datetime, team_ids: Collection[int] | None, book: Book
) -> Iterable[_Piece]:
    quiet = HourlyUse.objects.order_by().filter(
        measured_milli_seconds__gt=0,
        used_milli_seconds__lt=F("measured_milli_seconds") * IDLE_BELOW_PERCENT / 100,
    )
    if team_ids is not None:
        quiet = quiet.filter(team_id__in=list(team_ids))
    for since, until in pairwise(book.cuts(from_at, to_at)):
        hours = quiet.filter(hour__gte=since, hour__lt=until)
        for team_id, pool_id, charged_to, times, lost in hours.values_list(
            "team_id", "pool_id", "charged_to"
        ).annotate(times=Count("pk"), lost=Sum(_UNUSED)):
            yield _Piece(team_id, Cause.IDLE, pool_id, charged_to, since, lost, times)
