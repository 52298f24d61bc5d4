"""What a cluster has only in the modes that stop and start jobs: more rights, more policies, Ray.

The kinds of Ray are served with just the fields the portal reads and writes; no operator runs, so
a test makes by hand the pods it would make, under its account.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portal.kubernetes.port import Refused
from tests.cluster.kit import DEPLOY, Kit, Manifest, kustomized, place, wait_for

OPERATOR = ("ray-system", "kuberay-operator")
GATE = {"name": "evenshare.io/admission"}
TEXT, WHOLE, YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these fields."""
    return {"type": "object", "properties": properties}


GROUP = fields(
    groupName=TEXT, replicas=WHOLE, minReplicas=WHOLE, maxReplicas=WHOLE, numOfHosts=WHOLE,
    suspend=YES, template=ANYTHING, rayStartParams=ANYTHING,
)  # fmt: skip
CLUSTER = fields(
    rayVersion=TEXT, suspend=YES, headGroupSpec=GROUP,
    workerGroupSpecs={"type": "array", "items": GROUP},
)  # fmt: skip
JOB = fields(entrypoint=TEXT, suspend=YES, runtimeEnvYAML=TEXT, rayClusterSpec=CLUSTER)
KINDS = {"RayCluster": ("rayclusters", CLUSTER), "RayJob": ("rayjobs", JOB)}


def definition(kind: str) -> Manifest:
    """A kind of Ray as a server may serve it."""
    plural, spec = KINDS[kind]
    schema = {"openAPIV3Schema": fields(spec=spec, status=ANYTHING)}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.ray.io"},
        "spec": {
            "group": "ray.io", "scope": "Namespaced", "versions": [version],
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
        },
    }  # fmt: skip


@contextmanager
def installed(kit: Kit, folder: str) -> Iterator[None]:
    """Apply a mode's own manifests for a while: what quota mode has is there already."""
    before = {_key(item) for item in kustomized(DEPLOY / "quota")}
    fresh = [item for item in kustomized(DEPLOY / folder) if _key(item) not in before]
    for item in fresh:
        kit.apply(item)
    wait_for(lambda: refuses(kit, folder), f"the policies of {folder} to be in force")
    try:
        yield
    finally:
        for item in reversed(fresh):
            kit.delete(item["kind"], item["metadata"]["name"])
        if folder == "admission":
            wait_for(lambda: not refuses(kit, folder), "its policies to be gone")


def _key(item: Manifest) -> tuple[str, str]:
    return item["kind"], item["metadata"]["name"]


def refuses(kit: Kit, folder: str) -> bool:
    """Whether a reservation of nobody's is refused by now; without such a policy, always."""
    if folder != "admission":
        return True
    probe: Manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "probe", "namespace": "default",
            "annotations": {"evenshare.io/reservation": "R-0"},
        },
        "spec": {"suspend": True, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}],
        }}},
    }  # fmt: skip
    try:
        kit.admin.ask("POST", place("Job").path("default"), [("dryRun", "All")], probe)
    except Refused as refusal:
        return "No reservation" in str(refusal)
    return False


@contextmanager
def ray(kit: Kit) -> Iterator[None]:
    """Serve the kinds of Ray, and let the operator's account work in every namespace."""
    for kind in KINDS:
        kit.apply(definition(kind))
        name = definition(kind)["metadata"]["name"]
        wait_for(lambda name=name: _is_served(kit, name), name)  # type: ignore[misc]
    namespace, account = OPERATOR
    kit.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    metadata = {"name": account, "namespace": namespace}
    kit.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    rules = [
        {"apiGroups": ["ray.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account}
    version = "rbac.authorization.k8s.io/v1"
    kit.apply({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": account},
               "rules": rules})  # fmt: skip
    kit.apply({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": account},
               "roleRef": role, "subjects": [{"kind": "ServiceAccount", **metadata}]})  # fmt: skip
    try:
        yield
    finally:
        for kind in KINDS:
            kit.delete("CustomResourceDefinition", definition(kind)["metadata"]["name"])


def _is_served(kit: Kit, name: str) -> bool:
    found = kit.get("CustomResourceDefinition", name).get("status", {})
    conditions = found.get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def ray_cluster(
    namespace: str, name: str, template: Manifest, workers: int = 2, **more: Any
) -> Manifest:
    """A suspended RayCluster of equal workers and a head without devices."""
    head = {"spec": {"containers": [{"name": "ray", "image": "ray"}]}}
    group = {"groupName": "w", "replicas": workers, "minReplicas": 0, "maxReplicas": workers}
    spec = {
        "suspend": True,
        "headGroupSpec": {"template": head},
        "workerGroupSpecs": [{**group, "template": template}],
        **more,
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}
