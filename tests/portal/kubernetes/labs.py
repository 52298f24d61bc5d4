"""A small cluster where one team holds what another wants back."""

from datetime import datetime
from typing import Any

from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.quotas import services as quotas
from portal.scheduling import services as scheduling
from portal.scheduling.models import Standing, Tick, Verb
from portal.teams.models import Team
from portal.workloads.models import Workload, WorkloadState
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes


class Lab:
    """Two machines of eight A100s; speech borrows one of them, and vision wants it back."""

    def __init__(self, cluster: Cluster, port: SimulatedCluster) -> None:
        self.cluster, self.port, self.minute = cluster, port, 0.0
        self.look()
        self.decide()
        for team in world.TEAMS:
            quotas.change(
                team_id=Team.objects.get(slug=team).pk, guaranteed=8, limit=None, actor_id=None,
                pool_id=world.pool_of(cluster, "a100").pk, now=self.now, valid_from=self.now,
            )  # fmt: skip
        self.turn()
        for name in ("lent", "borrows"):
            self.submit(name, namespace="speech", work=36_000)
        self.turn()
        self.turn()
        self.turn()
        assert {self.state(name) for name in ("lent", "borrows")} == {WorkloadState.RUNNING}
        self.minute += 10

    @property
    def now(self) -> datetime:
        return START + minutes(self.minute)

    def look(self) -> None:
        kubernetes.collect(cluster_id=self.cluster.pk, now=self.now)

    def decide(self) -> Tick:
        return scheduling.run_tick(cluster_id=self.cluster.pk, now=self.now)

    def carry(self, **more: Any) -> kubernetes.Carried:
        kubernetes.sync_cluster(cluster_id=self.cluster.pk, now=self.now)
        return kubernetes.carry_out(cluster_id=self.cluster.pk, now=self.now, **more)

    def turn(self) -> None:
        self.minute += 0.25
        self.look()
        self.decide()
        assert self.carry().error == ""

    def submit(self, name: str, **more: Any) -> None:
        self.port.submit(world.a_spec(name, gpus=8, **more))

    def want_it_back(self) -> Standing:
        """Vision asks for its own; what the tick says of who makes room."""
        self.submit("owner")
        self.minute += 0.25
        self.look()
        self.decide()
        return Standing.objects.select_related("workload").get(verb=Verb.PREEMPT)

    def state(self, name: str) -> str:
        return Workload.objects.get(name=name).state

    def suspended(self, name: str) -> bool:
        return next(
            bool(i["spec"]["suspend"]) for i in self.port.owners().items
            if i["metadata"]["name"] == name
        )  # fmt: skip
