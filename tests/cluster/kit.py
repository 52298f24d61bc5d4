"""A cluster in a test's hands: make, change and remove objects as its admin, sign in as others."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from portal.kubernetes.client import Connection, connect
from portal.kubernetes.places import PLACES, Place
from portal.kubernetes.port import NotFound

DEPLOY = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
OTHERS = {
    "ServiceAccount": Place("v1", "serviceaccounts"),
    "ConfigMap": Place("v1", "configmaps"),
    "ClusterRole": Place("rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False),
    "ClusterRoleBinding": Place(
        "rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False
    ),
    "Role": Place("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": Place("rbac.authorization.k8s.io/v1", "rolebindings"),
    "ResourceClaim": Place("resource.k8s.io/v1", "resourceclaims"),
    "PodDisruptionBudget": Place("policy/v1", "poddisruptionbudgets"),
    "RuntimeClass": Place("node.k8s.io/v1", "runtimeclasses", namespaced=False),
    "MutatingAdmissionPolicy": Place(
        "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", namespaced=False
    ),
    "MutatingAdmissionPolicyBinding": Place(
        "admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", namespaced=False
    ),
    "ResourceSlice": Place("resource.k8s.io/v1", "resourceslices", namespaced=False),
    "CustomResourceDefinition": Place(
        "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False
    ),
}
PATIENCE_SECONDS = 30
T = TypeVar("T")
Manifest = dict[str, Any]


def wait_for(look: Callable[[], T | None], what: str = "") -> T:
    """What `look` gives once it gives something; fails after a while."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what or look}")


def place(kind: str) -> Place:
    """Where a kind is kept."""
    return PLACES.get(kind) or OTHERS[kind]


def kustomized(folder: Path) -> Iterator[Manifest]:
    """The manifests of a kustomization that only lists resources, in their order."""
    listing = yaml.safe_load((folder / "kustomization.yaml").read_text())
    for name in listing["resources"]:
        path = (folder / name).resolve()
        if path.is_dir():
            yield from kustomized(path)
        else:
            yield from yaml.safe_load_all(path.read_text())


@dataclass
class Kit:
    """The cluster, as its admin and for others."""

    kubeconfig: Path
    home: Path

    def __post_init__(self) -> None:
        self.admin = connect({"kubeconfig": str(self.kubeconfig)})

    def apply(self, manifest: Manifest, manager: str = "kubectl", force: bool = True) -> Manifest:
        """Make it so, as a person with kubectl would."""
        query = [("fieldManager", manager), ("force", "true" if force else "false")]
        return self.admin.ask(
            "PATCH", self._path(manifest), query, manifest, "application/apply-patch+yaml"
        )

    def create(self, manifest: Manifest, who: Connection | None = None) -> Manifest:
        """Make a new object, as the admin or somebody else."""
        where = place(manifest["kind"]).path(manifest["metadata"].get("namespace", ""))
        return (who or self.admin).ask("POST", where, (), manifest)

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest:
        """An object as it is."""
        return self.admin.ask("GET", place(kind).path(namespace, name))

    def find(self, kind: str, namespace: str = "") -> list[Manifest]:
        """Every object of a kind, or those of a namespace."""
        found: list[Manifest] = self.admin.ask("GET", place(kind).path(namespace))["items"]
        return found

    def patch(
        self, kind: str, name: str, body: Manifest, namespace: str = "", part: str = "",
        who: Connection | None = None,
    ) -> Manifest:  # fmt: skip
        """Change fields by a merge patch."""
        path = place(kind).path(namespace, name, part)
        return (who or self.admin).ask("PATCH", path, (), body, "application/merge-patch+json")

    def delete(
        self, kind: str, name: str, namespace: str = "", who: Connection | None = None
    ) -> None:
        """Remove an object at once; one that is gone already is fine."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        try:
            (who or self.admin).ask("DELETE", place(kind).path(namespace, name), (), body)
        except NotFound:
            return

    def sign_in(self, namespace: str, name: str) -> Path:
        """Write and name a kubeconfig of a service account."""
        path = place("ServiceAccount").path(namespace, name, "token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 7200},
        }
        token = self.admin.ask("POST", path, (), body)["status"]["token"]
        config = yaml.safe_load(self.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": token}
        written = self.home / f"{namespace}-{name}.kubeconfig"
        written.write_text(json.dumps(config))
        return written

    def _path(self, manifest: Manifest) -> str:
        metadata = manifest["metadata"]
        return place(manifest["kind"]).path(metadata.get("namespace", ""), metadata["name"])
