"""A cluster with many namespaces and the rows that know it; see `portal_sync`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, Pool
from portal.kubernetes import services
from portal.kubernetes.models import SyncRun
from portal.scheduling.models import Share, Tick, TickState
from portal.teams.models import Team
from tests.cluster import kubelet
from tests.cluster.kit import DEPLOY, Kit, kustomized
from tests.cluster.worlds import A100, H100, NVIDIA, World

POOLS = ("h100", "a100")


@dataclass
class Ground:
    """The cluster, and the portal's view of it."""

    world: World
    cluster: Cluster
    teams: list[Team]

    def decide(self, fence: int) -> None:
        """A tick that gives every team other figures than the one before."""
        draw = Random(fence)
        tick = Tick.objects.create(
            cluster=self.cluster, at=self.world.now, state=TickState.DONE, fence=fence,
            started_real_at=datetime.now(UTC),
        )  # fmt: skip
        shares = []
        for pool in Pool.objects.filter(cluster=self.cluster).order_by("name"):
            for team in self.teams:
                # Each of its namespaces gets one or two more than before, or fewer.
                guaranteed, burst = 10 * fence + draw.randrange(5), 5 * fence
                shares.append(
                    Share(
                        tick=tick, team=team, pool=pool, guaranteed=1000 * guaranteed, reserved=0,
                        fair_share=1000 * (guaranteed + burst), allocated=0, borrowed=0, lent=0,
                        available=0, dominant_share=0.0, satisfaction=1.0,
                        guaranteed_gpus=guaranteed, burst_gpus=burst,
                    )
                )  # fmt: skip
        Share.objects.bulk_create(shares)

    def sync(self) -> SyncRun | None:
        """One sync."""
        return services.sync_cluster(cluster_id=self.cluster.pk, now=self.world.now)

    def is_settled(self) -> bool:
        """Whether every quota of ours is in force."""
        return all(
            item["status"].get("hard") == item["spec"]["hard"]
            for item in self.world.port().quotas().items
        )


def fill(kubeconfig: Path, home: Path, teams: int, namespaces: int) -> Ground:
    """Install our policies and account, make machines and namespaces, and take them over."""
    kit = Kit(kubeconfig, home)
    for manifest in kustomized(DEPLOY / "quota"):
        kit.apply(manifest)
    account = kit.sign_in("evenshare", "evenshare")
    world = World(kit, account, account)
    for number in range(60):
        for name, labels in (("h100", H100), ("a100", A100)):
            kubelet.add_node(kit, f"{name}-{number}", {NVIDIA: 128}, labels)
    names = [f"space-{number:04}" for number in range(namespaces)]
    for name in names:
        kit.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    cluster = world.add()
    rows = [
        Team.objects.create(slug=f"team-{n:03}", name=f"Team {n}", created_at=world.now)
        for n in range(teams)
    ]
    for number, name in enumerate(names):
        inventory.register_namespace(
            cluster_id=cluster.pk, name=name, team_id=rows[number % teams].pk, now=world.now,
            actor_id=None,
        )  # fmt: skip
    return Ground(world, cluster, rows)
