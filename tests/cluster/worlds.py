"""What a test of a cluster starts from: teams with namespaces, machines, jobs, and our account.

The tenant's account may do anything in its namespaces and to namespaces themselves, far more than
a tenant should: what keeps it within bounds is then our policies and quotas, not RBAC.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from portal.inventory.models import Cluster, ClusterMode, Pool
from portal.kubernetes import adding
from portal.kubernetes.client import Connection, connect
from portal.kubernetes.port import ClusterError, NotFound
from portal.kubernetes.real import KubernetesCluster
from portal.scheduling.models import Share, Tick, TickState
from portal.teams import models as teams
from tests import builders
from tests.cluster.kit import Kit, Manifest, place, wait_for

PEOPLE = "people"
TENANT = {"kind": "ServiceAccount", "name": "tenant", "namespace": PEOPLE}
NVIDIA = "nvidia.com/gpu"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "evenshare.io/pool": "h100"}
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "evenshare.io/pool": "a100"}
RBAC = "rbac.authorization.k8s.io"


def set_up_tenants(kit: Kit) -> None:
    """A tenant's account, and the rights it has where it is bound."""
    kit.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PEOPLE}})
    account = {"name": "tenant", "namespace": PEOPLE}
    kit.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    anything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    namespaces = {"apiGroups": [""], "resources": ["namespaces", "namespaces/status"]}
    kit.apply(_role("tenant-in-its-namespace", anything))
    kit.apply(_role("tenant-of-the-cluster", {**namespaces, "verbs": ["*"]}))
    kit.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "tenant-of-the-cluster"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "tenant-of-the-cluster"},
            "subjects": [TENANT],
        }
    )


def _role(name: str, rule: Mapping[str, Any]) -> Manifest:
    metadata = {"name": name}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": [rule],
    }


def let_in(kit: Kit, namespace: str) -> None:
    """Give the tenant everything in a namespace."""
    kit.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "tenant", "namespace": namespace},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "tenant-in-its-namespace"},
            "subjects": [TENANT],
        }
    )


@dataclass
class Team:
    """A team and its first namespace."""

    row: teams.Team
    namespace: str


@dataclass
class World:
    """The cluster with our account's and a tenant's way into it."""

    kit: Kit
    account: Path
    tenant_config: Path
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.tenant: Connection = connect({"kubeconfig": str(self.tenant_config)})

    def port(self) -> KubernetesCluster:
        """The cluster as our account sees it."""
        return KubernetesCluster(connect({"kubeconfig": str(self.account)}))

    def namespace(self, name: str, team: str = "") -> str:
        """A namespace the tenant may do anything in, labelled by an admin for a team."""
        metadata: dict[str, Any] = {"name": name}
        if team:
            metadata["labels"] = {"evenshare.io/team": team}
        self.kit.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        let_in(self.kit, name)
        return name

    def team(self, slug: str) -> Team:
        """A team with one namespace named after it."""
        return Team(builders.a_team(slug), self.namespace(f"{slug}-{_next()}", slug))

    def add(self, mode: ClusterMode = ClusterMode.QUOTA, **more: Any) -> Cluster:
        """Take the cluster into the portal's care as our account."""
        added = adding.add_cluster(
            name="real", settings={"kubeconfig": str(self.account)}, mode=mode, now=self.now, **more
        )
        return added.cluster

    def decide(self, cluster: Cluster, *shares: tuple[Team, str, int, int], fence: int = 1) -> Tick:
        """A tick that gives each team so many GPUs of a pool: guaranteed, and to borrow."""
        tick = Tick.objects.create(
            cluster=cluster, at=self.now, state=TickState.DONE, fence=fence,
            started_real_at=datetime.now(UTC),
        )  # fmt: skip
        for team, pool, guaranteed, burst in shares:
            milli = 1000 * guaranteed
            Share.objects.create(
                tick=tick, team=team.row, pool=Pool.objects.get(cluster=cluster, name=pool),
                guaranteed=milli, reserved=0, fair_share=milli + 1000 * burst, allocated=0,
                borrowed=0, lent=0, available=milli, dominant_share=0.0, satisfaction=1.0,
                guaranteed_gpus=guaranteed, burst_gpus=burst,
            )  # fmt: skip
        return tick

    def settled(self, namespace: str, name: str) -> Manifest:
        """A quota once the server's own controller has taken it up."""

        def look() -> Manifest | None:
            found = self.kit.get("ResourceQuota", name, namespace)
            done = found.get("status", {}).get("hard") == found["spec"]["hard"]
            return found if done else None

        return wait_for(look, f"{namespace}/{name} to be settled")


_numbers = iter(range(10_000))


def _next() -> int:
    """Namespaces end slowly, so no test takes a name again."""
    return next(_numbers)


def device_pod(namespace: str, name: str, **more: Any) -> Manifest:
    """A pod for one H100 within the guarantee; `more` changes its spec, `devices` what it asks."""
    devices: Mapping[str, int] = more.pop("devices", {NVIDIA: 1})
    limits = {"limits": {resource: str(count) for resource, count in devices.items()}}
    spec: dict[str, Any] = {
        "nodeSelector": {"evenshare.io/pool": "h100"},
        "priorityClassName": "evenshare-guaranteed-h100",
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "work", "resources": limits}],
        **more,
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def job(namespace: str, name: str, tasks: int = 1, **more: Any) -> Manifest:
    """A job of equal device pods."""
    suspend = more.pop("suspend", False)
    template = {"spec": device_pod(namespace, name, **more)["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "parallelism": tasks, "completions": tasks, "completionMode": "Indexed",
            "suspend": suspend, "template": template,
        },
    }  # fmt: skip


def clean(kit: Kit) -> None:
    """Take away what tests make, so that the next one finds nothing of it."""
    for item in kit.find("Namespace"):
        name = item["metadata"]["name"]
        if name in ("default", "evenshare", "ray-system", PEOPLE) or name.startswith("kube-"):
            continue
        _empty(kit, item)
    for kind in ("Node", "PriorityClass", "DeviceClass", "ResourceSlice"):
        for item in kit.find(kind):
            if kind != "PriorityClass" or item["metadata"]["name"].startswith("evenshare-"):
                kit.delete(kind, item["metadata"]["name"])


def _empty(kit: Kit, item: Manifest) -> None:
    """Remove a namespace, and at once what in it could disturb another test."""
    name = item["metadata"]["name"]
    try:
        if "evenshare.io/team" in item["metadata"].get("labels", {}):
            kit.patch("Namespace", name, {"metadata": {"labels": {"evenshare.io/team": None}}})
        kit.delete("Namespace", name)
        for kind in ("Job", "Deployment", "ReplicaSet", "StatefulSet", "Pod", "ResourceQuota"):
            for found in kit.find(kind, name):
                _remove(kit, kind, found, name)
    except NotFound:
        return


def _remove(kit: Kit, kind: str, found: Manifest, namespace: str) -> None:
    """Delete an object, also one that a tenant's finalizer holds."""
    metadata = found["metadata"]
    kit.delete(kind, metadata["name"], namespace)
    if metadata.get("finalizers"):
        with suppress(NotFound):
            none = {"metadata": {"finalizers": None}}
            kit.patch(kind, metadata["name"], none, namespace)


def refusal(call: Any, *arguments: Any, **more: Any) -> str:
    """What the cluster says to a call it refuses."""
    try:
        call(*arguments, **more)
    except ClusterError as error:
        return str(error)
    raise AssertionError("it was not refused")


__all__ = ["A100", "H100", "NVIDIA", "Team", "World", "device_pod", "job", "place", "refusal"]
