"""What several pages ask: whose name and colour, who holds what now."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Q, Subquery, Sum

from portal.common.pages import once_a_page
from portal.inventory.models import Cluster
from portal.quotas.models import Quota
from portal.reservations.models import Reservation, ReservationState
from portal.scheduling.models import Tick, TickState
from portal.teams import selectors as teams
from portal.workloads.models import ChargedTo, Pod

DEVICE = 1000
"""Milli-GPU in a GPU."""

Place = tuple[int, int]
"""A team in a pool."""


@dataclass(frozen=True, slots=True)
class TeamMark:
    """A team as pictures show it."""

    id: int
    name: str
    hue: int


@dataclass(frozen=True, slots=True)
class Held:
    """Milli-GPU a team holds in a pool now, by what they are charged to."""

    guaranteed: int = 0
    reserved: int = 0
    borrowed: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.guaranteed + self.reserved + self.borrowed


@dataclass(frozen=True, slots=True)
class Fence:
    """Whole GPUs of a team's open reservations in a pool; `added` without those of its guarantee."""

    gpus: int = 0
    added: int = 0
    until: datetime | None = None


def team_marks() -> dict[int, TeamMark]:
    """Every team; names are open to the organisation."""
    return {pk: TeamMark(pk, name, hue) for pk, (name, hue) in teams.team_hues().items()}


@once_a_page
def list_clusters() -> list[tuple[Cluster, datetime | None]]:
    """Every cluster, and when it last had a tick that decided something."""
    done = Tick.objects.filter(cluster_id=OuterRef("pk"), state=TickState.DONE).order_by("-at")
    rows = Cluster.objects.annotate(ticked_at=Subquery(done.values("at")[:1]))
    return [(row, row.ticked_at) for row in rows]


def seen_at() -> datetime | None:
    """As of when what is known of the clusters is true: the oldest of their last good reads."""
    return min((row.seen_at for row, _at in list_clusters() if row.seen_at), default=None)


def ticked_at() -> datetime | None:
    """As of when the queue's reasons and plans are: the newest tick that decided something."""
    return max((at for _row, at in list_clusters() if at), default=None)


def list_held(*, pool_ids: Collection[int] | None = None) -> dict[tuple[int | None, int], Held]:
    """What every team (None: nobody's work) holds now, by pool: one query.

    A pod not charged yet, since no tick saw it, counts as guaranteed until one does.
    """
    pods = Pod.objects.filter(
        closed_at__isnull=True, scheduled_at__isnull=False, node__isnull=False
    )
    if pool_ids is not None:
        pods = pods.filter(node__pool_id__in=pool_ids)
    sums = pods.values_list("workload__team_id", "node__pool_id", "charged_to").annotate(
        milli=Sum("gpu_milli")
    )
    return sum_held(sums.order_by())


def sum_held(
    rows: Iterable[tuple[int | None, int | None, str | None, int]],
) -> dict[tuple[int | None, int], Held]:
    """Team, pool, charge and milli-GPU, added up by team and pool."""
    found: dict[tuple[int | None, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for team_id, pool_id, charged_to, milli in rows:
        if pool_id is not None:
            found[team_id, pool_id][charged_to or ChargedTo.GUARANTEED] += milli
    return {
        place: Held(
            guaranteed=parts[ChargedTo.GUARANTEED],
            reserved=parts[ChargedTo.RESERVED],
            borrowed=parts[ChargedTo.BORROWED],
        )
        for place, parts in found.items()
    }


@once_a_page
def list_quotas(*, now: datetime) -> dict[Place, Quota]:
    """The quotas in force, by team and pool."""
    begun = Quota.objects.filter(valid_from__lte=now)
    rows = begun.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=now))
    return {(row.team_id, row.pool_id): row for row in rows}


def list_fences(*, now: datetime) -> dict[Place, Fence]:
    """Open reservations summed by team and pool."""
    rows = Reservation.objects.filter(
        state=ReservationState.ACTIVE, starts_at__lte=now, ends_at__gt=now
    )
    return sum_fences(rows)


def sum_fences(rows: Iterable[Reservation]) -> dict[Place, Fence]:
    """These reservations, added up by team and pool."""
    found: dict[Place, Fence] = {}
    for row in rows:
        place = (row.team_id, row.pool_id)
        old = found.get(place, Fence())
        found[place] = Fence(
            gpus=old.gpus + row.gpus,
            added=old.added + (row.gpus if row.source == "pool" else 0),
            until=max(old.until, row.ends_at) if old.until else row.ends_at,
        )
    return found
