"""What a change of quotas in a pool would change, and for whom: asked before it is saved.

Whether it can be saved is found out by saving it and taking all of it back, so that the answer
and the change itself cannot differ. What it does to whom counts from the newest tick.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Refusal
from portal.inventory.calendar import FOREVER
from portal.quotas import services as quotas
from portal.quotas.services import Wanted
from portal.requests import matrix, pages, quota_figures, selectors, trying
from portal.requests.matrix import Sums
from portal.requests.models import RequestKind
from portal.scheduling import selectors as scheduling
from portal.scheduling.selectors import ShareRow
from portal.teams import selectors as teams

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Changed:
    """One team: figures by column as they are and as they would be, and what that means to it."""

    team_id: int
    team: str
    before: Mapping[str, int | None]
    after: Mapping[str, int | None]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """Sums before and after, each team's change, and what keeps it from being saved."""

    from_at: datetime
    before: Sums
    after: Sums
    changed: tuple[Changed, ...]
    others: tuple[str, ...]
    refusal: Refusal | None


def of(*, pool_id: int, wanted: Sequence[Wanted], valid_from: datetime, now: datetime) -> Effects:
    """Look at a change; nothing is kept of it."""
    begins = max(valid_from, now)
    had = {
        row.team_id: quota_figures.get(team_id=row.team_id, pool_id=pool_id, at=begins)
        for row in wanted
    }
    moved = [row for row in wanted if had[row.team_id] != row.figures]
    names = teams.team_names()
    shares = {share.team_id: share for share in scheduling.shares_now(pool_id=pool_id)}
    return Effects(
        from_at=begins,
        before=matrix.sums_of(pool_id=pool_id, from_at=begins),
        after=matrix.sums_of(
            pool_id=pool_id, from_at=begins, instead={w.team_id: w.guaranteed for w in moved}
        ),
        changed=tuple(
            Changed(
                row.team_id, names[row.team_id], had[row.team_id], row.figures,
                tuple(_lines(row, had[row.team_id], shares.get(row.team_id))),
            )
            for row in moved
        ),
        others=tuple(_others(pool_id, moved, had, shares, begins, now, names)),
        refusal=_refusal(pool_id, moved, valid_from, now),
    )  # fmt: skip


def _refusal(
    pool_id: int, moved: Sequence[Wanted], valid_from: datetime, now: datetime
) -> Refusal | None:
    if not moved:
        return None
    try:
        trying.taken_back(
            lambda: quotas.change_all(
                pool_id=pool_id, wanted=moved, valid_from=valid_from, actor_id=None, now=now
            )
        )
    except Refusal as refusal:
        return refusal
    return None


def _lines(row: Wanted, had: Mapping[str, int | None], share: ShareRow | None) -> list[str]:
    """The figures that change, then what they do to what the team runs now."""
    labels = pages.figure_labels()
    found = [
        _("%(figure)s: %(was)s → %(now)s")
        % {"figure": labels[name], "was": pages.figure(had[name]), "now": pages.figure(value)}
        for name, value in row.figures.items()
        if had[name] != value
    ]
    return [*found, *_of_use(row, had, share)]


def _of_use(row: Wanted, had: Mapping[str, int | None], share: ShareRow | None) -> list[str]:
    if share is None:
        return []
    found: list[str] = []
    within = share.allocated - share.borrowed - min(share.reserved, share.allocated)
    lost = within - row.guaranteed * MILLI
    if row.guaranteed < (had["guaranteed"] or 0) and lost > 0:
        found.append(
            _("%(gpus)s GPUs it uses now would count as borrowed, and others may have them back.")
            % {"gpus": formats.gpus(lost)}
        )
    if row.limit is not None and share.allocated > row.limit * MILLI:
        found.append(
            _("It uses %(gpus)s GPUs now: nothing new starts until it is below the limit.")
            % {"gpus": formats.gpus(share.allocated)}
        )
    return found


def _others(
    pool_id: int,
    moved: Sequence[Wanted],
    had: Mapping[int, Mapping[str, int | None]],
    shares: Mapping[int, ShareRow],
    begins: datetime,
    now: datetime,
    names: Mapping[int, str],
) -> list[str]:
    """Who borrows what would be promised, and which open requests it would leave no room for."""
    more = sum(w.guaranteed - (had[w.team_id]["guaranteed"] or 0) for w in moved)
    found: list[str] = []
    if more > 0:
        changed = {w.team_id for w in moved}
        borrowing = [s for s in shares.values() if s.borrowed and s.team_id not in changed]
        borrowers = [
            _("%(team)s borrows %(gpus)s")
            % {"team": share.team_name, "gpus": formats.gpus(share.borrowed)}
            for share in borrowing
        ]
        if borrowers:
            most = min(more * MILLI, sum(share.borrowed for share in borrowing))
            found.append(
                _("Up to %(gpus)s of the GPUs others borrow may be called back: %(who)s.")
                % {"gpus": formats.gpus(most), "who": ", ".join(borrowers)}
            )
    return [*found, *_waiting(pool_id, moved, begins, now, names)]


def _waiting(
    pool_id: int,
    moved: Sequence[Wanted],
    begins: datetime,
    now: datetime,
    names: Mapping[int, str],
) -> list[str]:
    instead = {w.team_id: w.guaranteed for w in moved}
    found: list[str] = []
    for hold in selectors.list_soft_holds(pool_id=pool_id, from_at=begins, to_at=FOREVER, now=now):
        if hold.kind == RequestKind.QUOTA and hold.team_id in instead:
            continue
        before = _left(pool_id, hold, begins, {})
        after = _left(pool_id, hold, begins, instead)
        if before >= hold.gpus > after:
            found.append(
                _(
                    "Request #%(id)s of %(team)s for %(gpus)s GPUs would no longer fit: "
                    "%(left)s would be left."
                )
                % {
                    "id": hold.request_id, "team": names.get(hold.team_id, ""),
                    "gpus": hold.gpus, "left": max(0, after),
                }
            )  # fmt: skip
    return found


def _left(
    pool_id: int, hold: selectors.SoftHold, begins: datetime, instead: Mapping[int, int]
) -> int:
    """What is free while a soft hold lasts."""
    return matrix.least_left(
        pool_id=pool_id, from_at=max(hold.starts_at, begins), to_at=hold.ends_at, instead=instead
    )
