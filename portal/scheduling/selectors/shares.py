"""What each team has in each pool now, and who lends to whom. Sums, so open to everybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery

from portal.inventory.models import Cluster
from portal.scheduling.models import Share, Tick, TickState

DEVICE = 1000
"""Milli-GPU in a GPU."""


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One team in one pool as of the newest tick that decided; amounts in milli-GPU."""

    team_id: int
    team_name: str
    team_hue: int
    pool_id: int
    pool_name: str
    cluster_id: int
    tick_id: int
    as_of: datetime
    guaranteed: int
    reserved: int
    fair_share: int
    allocated: int
    borrowed: int
    lent: int
    available: int
    dominant_share: float
    satisfaction: float
    factor: float | None
    guaranteed_gpus: int
    burst_gpus: int


@dataclass(frozen=True, slots=True)
class Loan:
    """What a team uses of another's guarantee; without a lender, of what nobody was promised."""

    pool_id: int
    pool_name: str
    lender_id: int | None
    lender_name: str
    borrower_id: int
    borrower_name: str
    gpu_milli: int


def shares_now(
    *, team_id: int | None = None, pool_id: int | None = None, cluster_id: int | None = None
) -> list[ShareRow]:
    """Shares of the newest tick of each cluster that decided something, by pool and team."""
    newest = Tick.objects.filter(cluster_id=OuterRef("pk"), state=TickState.DONE).order_by(
        "-at", "-id"
    )
    ticks = Cluster.objects.annotate(tick_id=Subquery(newest.values("pk")[:1])).values("tick_id")
    shares = Share.objects.filter(tick_id__in=ticks).select_related("team", "pool", "tick")
    if team_id is not None:
        shares = shares.filter(team_id=team_id)
    if pool_id is not None:
        shares = shares.filter(pool_id=pool_id)
    if cluster_id is not None:
        shares = shares.filter(tick__cluster_id=cluster_id)
    ordered = shares.defer("tick__snapshot").order_by(
        "pool__cluster_id", "pool__position", "pool_id", "team_id"
    )
    return [_share_row(share) for share in ordered]


def _share_row(share: Share) -> ShareRow:
    return ShareRow(
        team_id=share.team_id, team_name=share.team.name, team_hue=share.team.hue,
        pool_id=share.pool_id, pool_name=share.pool.name, cluster_id=share.tick.cluster_id,
        tick_id=share.tick_id, as_of=share.tick.at, guaranteed=share.guaranteed,
        reserved=share.reserved, fair_share=share.fair_share, allocated=share.allocated,
        borrowed=share.borrowed, lent=share.lent, available=share.available,
        dominant_share=share.dominant_share, satisfaction=share.satisfaction,
        factor=share.factor, guaranteed_gpus=share.guaranteed_gpus, burst_gpus=share.burst_gpus,
    )  # fmt: skip


def list_loans(*, pool_id: int | None = None) -> list[Loan]:
    """Who borrows from whom now.

    Nobody's GPU carries a lender's name, so each lender's part goes to the borrowers by how much
    they borrow, the remainders to the largest fractions; what is left of a borrower's part comes
    from what nobody was promised. Each lender's loans add up to what it lent, each borrower's to
    what it borrowed. Where only whole GPUs are borrowed, only whole GPUs are lent.
    """
    by_pool: dict[int, list[ShareRow]] = {}
    for row in shares_now(pool_id=pool_id):
        by_pool.setdefault(row.pool_id, []).append(row)
    return [loan for rows in by_pool.values() for loan in loans_of_pool(rows)]


def loans_of_pool(rows: list[ShareRow]) -> list[Loan]:
    """The loans within one pool."""
    names = {row.team_id: row for row in rows}
    found = split_loans(
        borrowed={row.team_id: row.borrowed for row in rows if row.borrowed},
        lent={row.team_id: row.lent for row in rows if row.lent},
    )
    return [
        _loan(None if lender is None else names[lender], names[team], milli)
        for lender, team, milli in found
    ]


def split_loans(
    *, borrowed: Mapping[int, int], lent: Mapping[int, int]
) -> list[tuple[int | None, int, int]]:
    """Lender (None: nobody was promised it), borrower and milli-GPU, as `list_loans` says."""
    owed = dict(borrowed)
    unit = _unit([*owed.values(), sum(lent.values())])
    loans: list[tuple[int | None, int, int]] = []
    for lender_id, part in _divide(sum(lent.values()), dict(lent), unit).items():
        for team_id, milli in _divide(min(part, sum(owed.values())), owed, unit).items():
            owed[team_id] -= milli
            loans.append((lender_id, team_id, milli))
    loans += [(None, team_id, milli) for team_id, milli in owed.items()]
    return [loan for loan in loans if loan[2]]


def _unit(amounts: list[int]) -> int:
    """The least amount a loan is counted in: a device where all amounts are whole devices."""
    return 1 if any(milli % DEVICE for milli in amounts) else DEVICE


def _divide(total: int, owed: dict[int, int], unit: int) -> dict[int, int]:
    """Split a total of so many units by what each still owes; never more to one than it owes."""
    whole, units = sum(owed.values()), total // unit
    if not whole:
        return {}
    parts = {team_id: units * milli // whole for team_id, milli in owed.items()}
    by_fraction = sorted(owed, key=lambda team_id: (-(units * owed[team_id] % whole), team_id))
    for team_id in by_fraction[: units - sum(parts.values())]:
        parts[team_id] += 1
    return {team_id: count * unit for team_id, count in parts.items()}


def _loan(lender: ShareRow | None, borrower: ShareRow, milli: int) -> Loan:
    return Loan(
        pool_id=borrower.pool_id, pool_name=borrower.pool_name,
        lender_id=lender.team_id if lender else None,
        lender_name=lender.team_name if lender else "",
        borrower_id=borrower.team_id, borrower_name=borrower.team_name, gpu_milli=milli,
    )  # fmt: skip
