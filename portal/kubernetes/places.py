"""Where the API keeps each kind we read or write. Pure."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Place:
    """A kind's group and version (`v1`, `batch/v1`), its name in paths, whether in namespaces."""

    version: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """The path of all objects of the kind, of those of a namespace, or of one."""
        steps = ["apis" if self.group else "api", self.version]
        if namespace and self.namespaced:
            steps += ["namespaces", quote(namespace, safe="")]
        steps.append(self.plural)
        steps += [quote(step, safe="") for step in (name, part) if step]
        return "/" + "/".join(steps)


PLACES: dict[str, Place] = {
    "Node": Place("v1", "nodes", namespaced=False),
    "Namespace": Place("v1", "namespaces", namespaced=False),
    "ResourceQuota": Place("v1", "resourcequotas"),
    "Pod": Place("v1", "pods"),
    "Event": Place("v1", "events"),
    "ConfigMap": Place("v1", "configmaps"),
    "DeviceClass": Place("resource.k8s.io/v1", "deviceclasses", namespaced=False),
    "PriorityClass": Place("scheduling.k8s.io/v1", "priorityclasses", namespaced=False),
    "Job": Place("batch/v1", "jobs"),
    "ReplicaSet": Place("apps/v1", "replicasets"),
    "Deployment": Place("apps/v1", "deployments"),
    "StatefulSet": Place("apps/v1", "statefulsets"),
    "JobSet": Place("jobset.x-k8s.io/v1alpha2", "jobsets"),
    "RayCluster": Place("ray.io/v1", "rayclusters"),
    "RayJob": Place("ray.io/v1", "rayjobs"),
    "TrainJob": Place("trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "ValidatingAdmissionPolicy": Place(
        "admissionregistration.k8s.io/v1", "validatingadmissionpolicies", namespaced=False
    ),
    "ValidatingAdmissionPolicyBinding": Place(
        "admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", namespaced=False
    ),
}

OWNERS = (
    "Job", "ReplicaSet", "Deployment", "StatefulSet", "JobSet", "RayCluster", "RayJob", "TrainJob",
)  # fmt: skip
"""Kinds whose pods may hold devices, in the order they are listed."""

BUILT_IN = frozenset({"", "batch", "apps", "scheduling.k8s.io", "admissionregistration.k8s.io"})
"""Groups every server has; others are there when somebody installed them."""
