"""One sync, and what stands in the cluster after it."""

from portal.inventory.models import Cluster
from portal.kubernetes import services
from portal.kubernetes.models import SyncRun
from tests.cluster.worlds import NVIDIA, Team, World

MIG = "nvidia.com/mig-1g.10gb"
KEY = f"requests.{NVIDIA}"
BURST, GUARANTEED, TOTAL = "evenshare-burst-h100", "evenshare-guaranteed-h100", "evenshare-total"


def sync(world: World, cluster: Cluster) -> SyncRun | None:
    """One sync."""
    return services.sync_cluster(cluster_id=cluster.pk, now=world.now)


def hard(world: World, team: Team, quota: str) -> dict[str, str]:
    """What a quota allows."""
    found: dict[str, str] = world.kit.get("ResourceQuota", quota, team.namespace)["spec"]["hard"]
    return found


def settle(world: World, team: Team) -> None:
    """Wait until every quota of the namespace is in force."""
    for found in world.kit.find("ResourceQuota", team.namespace):
        world.settled(team.namespace, found["metadata"]["name"])
