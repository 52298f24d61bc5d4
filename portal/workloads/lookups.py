"""Names a cluster uses, looked up once a look: whose namespaces, which pools, nodes and people."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from django.db.models import Q

from portal.inventory.models import Cluster, NamespaceOwner, Node, Pool
from portal.reservations.models import Reservation, Source
from portal.teams.models import User
from portal.workloads.seen import SeenWorkload


class Lookups:
    """Ids by the names the cluster uses, each kind looked up when first asked for."""

    def __init__(self, *, cluster_id: int, seen: Sequence[SeenWorkload], now: datetime) -> None:
        self._cluster_id = cluster_id
        self._seen = seen
        self._now = now

    @cached_property
    def seen_until(self) -> datetime | None:
        """Until when all that is open was surely there: the last time the rows were in step."""
        return Cluster.objects.values_list("seen_at", flat=True).get(pk=self._cluster_id)

    @cached_property
    def teams(self) -> dict[str, int]:
        """Whose each namespace is now."""
        owners = NamespaceOwner.objects.filter(
            Q(valid_to__isnull=True) | Q(valid_to__gt=self._now),
            namespace__cluster_id=self._cluster_id, valid_from__lte=self._now,
        )  # fmt: skip
        return dict(owners.values_list("namespace__name", "team_id"))

    @cached_property
    def pools(self) -> dict[str, int]:
        """The cluster's pools."""
        return dict(Pool.objects.filter(cluster_id=self._cluster_id).values_list("name", "pk"))

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        """The newest row of each node and its pool."""
        rows = Node.objects.filter(cluster_id=self._cluster_id).order_by("id")
        return {name: (pk, pool) for name, pk, pool in rows.values_list("name", "pk", "pool_id")}

    @cached_property
    def users(self) -> dict[str, int]:
        """People by user name."""
        people = {s.person for s in self._seen if s.person}
        return dict(User.objects.filter(username__in=people).values_list("username", "pk"))

    @cached_property
    def reservations(self) -> dict[int, Reservation]:
        """Each reservation a job names."""
        named = {s.reservation_id for s in self._seen if s.reservation_id}
        return Reservation.objects.in_bulk(named) if named else {}

    def reservation_of(self, sight: SeenWorkload, pool_id: int | None) -> int | None:
        """The reservation a job names, if it is its team's and in its pool."""
        if not sight.reservation_id:
            return None
        team_id = self.teams.get(sight.namespace)
        named = self.reservations.get(sight.reservation_id)
        if named is None or team_id is None or named.team_id != team_id:
            return None
        return named.pk if pool_id in (None, named.pool_id) else None

    def is_in_its_time(self, reservation_id: int | None, at: datetime) -> bool:
        """Whether the reservation, one from the pool, is open at this instant."""
        held = self.reservations.get(reservation_id or 0)
        return (
            held is not None and held.source == Source.POOL and held.starts_at <= at < held.ends_at
        )
