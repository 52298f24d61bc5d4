"""Names a cluster uses, looked up once a look: whose namespaces, which pools, nodes and people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from portal.inventory.models import NamespaceOwner, Node, Pool
from portal.reservations.models import Reservation
from portal.teams.models import User
from portal.workloads.seen import SeenWorkload


@dataclass(frozen=True, slots=True)
class Lookups:
    """Ids by the names the cluster uses."""

    teams: dict[str, int]
    pools: dict[str, int]
    nodes: dict[str, int]
    pool_of_node: dict[int, int]
    users: dict[str, int]
    reservations: dict[int, tuple[int, int]]
    """Reservation id → (team, pool)."""

    def reservation_of(self, sight: SeenWorkload, pool_id: int | None) -> int | None:
        """The reservation a job names, if it is its team's and in its pool."""
        team_id = self.teams.get(sight.namespace)
        whose = self.reservations.get(sight.reservation_id or 0)
        if whose is None or team_id is None or whose[0] != team_id:
            return None
        return sight.reservation_id if pool_id in (None, whose[1]) else None


def look_up(*, cluster_id: int, seen: Iterable[SeenWorkload], now: datetime) -> Lookups:
    """Look up every name of one look, in five queries."""
    owners = NamespaceOwner.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=now),
        namespace__cluster_id=cluster_id, valid_from__lte=now,
    )  # fmt: skip
    nodes = list(
        Node.objects.filter(cluster_id=cluster_id).order_by("id").values_list("name", "pk", "pool")
    )
    named = {s.reservation_id for s in seen if s.reservation_id}
    people = {s.person for s in seen if s.person}
    return Lookups(
        teams=dict(owners.values_list("namespace__name", "team_id")),
        pools=dict(Pool.objects.filter(cluster_id=cluster_id).values_list("name", "pk")),
        nodes={name: pk for name, pk, _ in nodes},
        pool_of_node={pk: pool_id for _, pk, pool_id in nodes},
        users=dict(User.objects.filter(username__in=people).values_list("username", "pk")),
        reservations={
            pk: (team_id, pool_id)
            for pk, team_id, pool_id in Reservation.objects.filter(pk__in=named).values_list(
                "pk", "team_id", "pool_id"
            )
        },
    )
