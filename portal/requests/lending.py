"""Whose borrowed GPUs would have to come back, as the newest tick left things."""

from collections.abc import Iterable, Mapping, Sequence

from portal.inventory.selectors import PoolRow
from portal.requests.answers import Displaced
from portal.requests.board import Ask
from portal.reservations.models import Source
from portal.scheduling.models import Share, Tick, TickState

MILLI = 1000


def displaced(
    team_id: int, pool: PoolRow, ask: Ask, names: Mapping[int, str]
) -> tuple[Displaced, ...]:
    """Teams that would give back borrowed GPUs if it began now, those who borrow most first.

    GPUs nobody uses are taken first, then what the team uses already and would be counted to
    this: what it borrows, and for a part of its own guarantee what it runs within that.
    """
    shares = _newest(pool)
    mine = next((share for share in shares if share.team_id == team_id), None)
    have = max(0, pool.ready * MILLI - sum(share.allocated for share in shares))
    if mine:
        have += mine.allocated if ask.source == Source.GUARANTEE else mine.borrowed
    others = sorted(
        (s for s in shares if s.team_id != team_id and s.borrowed),
        key=lambda s: (-s.borrowed, s.team_id),
    )
    return tuple(_take_back(ask.gpus * MILLI - have, others, names)) if shares else ()


def _newest(pool: PoolRow) -> Sequence[Share]:
    done = Tick.objects.filter(cluster_id=pool.cluster_id, state=TickState.DONE)
    newest = done.order_by("-at", "-id").values_list("pk", flat=True).first()
    return [] if newest is None else list(Share.objects.filter(tick_id=newest, pool_id=pool.id))


def _take_back(
    missing: int, borrowers: Iterable[Share], names: Mapping[int, str]
) -> Iterable[Displaced]:
    for share in borrowers:
        if missing <= 0:
            return
        taken = min(missing, share.borrowed)
        missing -= taken
        yield Displaced(share.team_id, names.get(share.team_id, ""), -(-taken // MILLI))
