"""What no longer adds up, as a sentence with its numbers and who holds what."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import formats
from portal.inventory import selectors as inventory
from portal.inventory import services
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import CommitmentRow, ConflictRow
from portal.inventory.selectors.conflicts import Cause
from portal.quotas.bounds import Bound
from portal.requests import trying
from portal.teams import selectors as teams

MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Work:
    """Work on some nodes, from when until when, and from when they are drained."""

    nodes: Sequence[int]
    starts_at: datetime
    ends_at: datetime
    drain_from: datetime | None = None
    reason: str = ""


def plan(work: Work, *, now: datetime, actor_id: int | None) -> None:
    """Plan work on all its nodes, or on none. Raises a refusal."""
    services.plan_on_all(
        node_ids=work.nodes, starts_at=work.starts_at, ends_at=work.ends_at, now=now,
        actor_id=actor_id, reason=work.reason, drain_from=work.drain_from,
    )  # fmt: skip


def made_by(work: Work, *, now: datetime) -> list[ConflictRow]:
    """What would no longer add up besides: it is planned, looked at, and taken back."""
    before = inventory.list_conflicts(now=now)

    def attempt() -> list[ConflictRow]:
        plan(work, now=now, actor_id=None)
        return inventory.list_conflicts(now=now)

    return [row for row in trying.taken_back(attempt) if row not in before]


def in_words(row: ConflictRow, now: datetime) -> str:
    """Where a pool promised more than it has, why, and to whom."""
    words = {
        "pool": row.pool_name, "capacity": row.capacity, "committed": row.committed,
        "short": row.short, "from": formats.when(row.from_at, now, inside=True),
        "until": formats.when(row.to_at, now, inside=True) if row.to_at else _("on without end"),
        "down": row.down, "maintenance": row.maintenance,
    }  # fmt: skip
    causes = {
        Cause.DOWN: _("%(down)s GPUs are on nodes that are down."),
        Cause.MAINTENANCE: _("%(maintenance)s GPUs are in maintenance then."),
        Cause.CAPACITY: _("The nodes are gone."),
    }
    if row.measure == "sum":
        first = _(
            "From %(from)s to %(until)s pool %(pool)s has %(capacity)s GPUs and promised "
            "%(committed)s: %(short)s are missing."
        )
    else:
        first = _(
            "From %(from)s to %(until)s the nodes of pool %(pool)s cannot hold all blocks that "
            "were promised on one node: %(short)s GPUs find none."
        )
    return " ".join([first % words, causes[row.cause] % words, _holders(row.commitments)])


def over_limits(now: datetime, found: Sequence[Bound]) -> list[str]:
    """Branches that are promised more than their limit, each as a sentence."""
    if not found:
        return []
    names = teams.team_names()
    pools = inventory.pool_names()
    return [
        _(
            "From %(from)s on %(team)s and the teams below are promised %(promised)s GPUs of "
            "%(pool)s, above its limit of %(limit)s. Raise the limit, or promise less."
        )
        % {
            "from": formats.when(bound.from_at, now, inside=True), "team": names.get(bound.team_id, ""),
            "promised": bound.guaranteed + bound.reserved, "limit": bound.limit,
            "pool": pools.get(bound.pool_id or 0, ""),
        }
        for bound in found
    ]  # fmt: skip


def _holders(rows: tuple[CommitmentRow, ...]) -> str:
    names = teams.team_names()
    found = [
        _("R-%(id)s of %(team)s (%(gpus)s)")
        % {"id": r.source_id, "team": names.get(r.team_id, ""), "gpus": r.gpus}
        for r in rows
        if r.kind is CommitmentKind.RESERVATION
    ]
    if not found:
        return _("Only guarantees are touched.")
    shown = ", ".join(found[:MOST_NAMED])
    if len(found) > MOST_NAMED:
        shown = _("%(shown)s and %(more)s more") % {
            "shown": shown, "more": len(found) - MOST_NAMED
        }  # fmt: skip
    return _("Reservations then: %(shown)s.") % {"shown": shown}
