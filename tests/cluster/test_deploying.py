"""The portal's own manifests: a real API server takes each as it is, and its pods as restricted."""

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from portal.kubernetes.port import Refused
from tests.cluster.kit import DEPLOY, Kit

OVERLAYS = sorted(path.name for path in (DEPLOY / "portal/overlays").iterdir())
PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"}
CLUSTER_WIDE = {"Namespace"}
Manifest = dict[str, Any]


def _built(overlay: str) -> list[Manifest]:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("needs kubectl, for its kustomize")
    done = subprocess.run(
        [kubectl, "kustomize", str(DEPLOY / "portal/overlays" / overlay)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def _path(manifest: Manifest) -> str:
    version, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    space = "" if kind in CLUSTER_WIDE else f"/namespaces/{manifest['metadata']['namespace']}"
    return f"{root}{space}/{plural}/{manifest['metadata']['name']}"


def _try(kit: Kit, manifest: Manifest) -> None:
    """As `kubectl apply --server-side --dry-run=server`, with unknown fields refused."""
    query = [("fieldManager", "kubectl"), ("force", "true"), ("dryRun", "All"),
             ("fieldValidation", "Strict")]  # fmt: skip
    kit.admin.ask("PATCH", _path(manifest), query, manifest, "application/apply-patch+yaml")


def _pods(manifests: list[Manifest]) -> Iterator[Manifest]:
    """One pod of every template."""
    for manifest in manifests:
        spec = manifest.get("spec") or {}
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            metadata = {
                "name": f"one-{manifest['metadata']['name']}",
                "namespace": manifest["metadata"]["namespace"],
            }
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
            yield {**pod, "spec": spec["template"]["spec"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_server_takes_every_manifest_and_every_pod_under_restricted(
    kit: Kit, overlay: str
) -> None:
    manifests = _built(overlay)
    (namespace,) = [m for m in manifests if m["kind"] == "Namespace"]
    kit.apply(namespace)
    for manifest in manifests:
        _try(kit, manifest)
    pods = list(_pods(manifests))
    assert len(pods) == 8
    for pod in pods:
        _try(kit, pod)
    lax = {**pods[0], "spec": {"containers": [{"name": "c", "image": "x"}]}}
    with pytest.raises(Refused, match="restricted"):
        _try(kit, lax)
