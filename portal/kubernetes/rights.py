"""What our account must be allowed in a cluster, by mode, and whether it is.

The table says the same as the roles in `deploy/kubernetes`; each mode adds to the one before it.
"""

from datetime import datetime

from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import policies
from portal.kubernetes.port import Right
from portal.kubernetes.ports import port_for

READ = ("get", "list", "watch")
WRITE = ("create", "patch", "delete")
NOT_EVERYWHERE = frozenset({"resource.k8s.io", "jobset.x-k8s.io", "ray.io", "trainer.kubeflow.org"})
"""Groups that some clusters lack; nothing is missed of them there."""
ADDS: dict[ClusterMode, tuple[tuple[tuple[str, ...], str, str], ...]] = {
    ClusterMode.OBSERVE: (
        (READ, "", "nodes namespaces resourcequotas pods events"),
        (READ, "scheduling.k8s.io", "priorityclasses"),
        (READ, "resource.k8s.io", "deviceclasses"),
        (READ, "batch", "jobs"),
        (READ, "apps", "deployments replicasets statefulsets"),
        (READ, "jobset.x-k8s.io", "jobsets"),
        (READ, "ray.io", "rayclusters rayjobs"),
        (READ, "trainer.kubeflow.org", "trainjobs"),
        (
            READ, "admissionregistration.k8s.io",
            "validatingadmissionpolicies validatingadmissionpolicybindings",
        ),
    ),
    ClusterMode.QUOTA: (
        (WRITE, "", "resourcequotas"),
        (WRITE, "scheduling.k8s.io", "priorityclasses"),
        (("patch",), "", "namespaces nodes"),
        (("write",), "evenshare.io", "figures"),
    ),
    ClusterMode.RECLAIM: (
        (("patch",), "batch", "jobs"),
        (("patch",), "ray.io", "rayclusters rayjobs"),
        (("create",), "", "pods/eviction"),
        (("delete",), "", "pods"),
    ),
    ClusterMode.ADMISSION: ((("patch",), "", "pods"),),
}  # fmt: skip
LIMITS = Right("get", "", "configmaps", namespace=policies.NAMESPACE, name=policies.LIMITS)


def needed(mode: ClusterMode) -> list[Right]:
    """Every right a mode needs, in the table's order."""
    modes = list(ADDS)
    found = [
        Right(verb, group, resource, is_optional=group in NOT_EVERYWHERE)
        for one in modes[: modes.index(mode) + 1]
        for verbs, group, resources in ADDS[one]
        for resource in resources.split()
        for verb in verbs
    ]
    return found if mode == ClusterMode.OBSERVE else [*found, LIMITS]


def missing(*, cluster_id: int, now: datetime) -> list[Right]:
    """What the mode of a cluster needs and our account may not do. Raises `ClusterError`."""
    cluster = Cluster.objects.get(pk=cluster_id)
    return port_for(cluster, now=now).denied(needed(ClusterMode(cluster.mode)))
