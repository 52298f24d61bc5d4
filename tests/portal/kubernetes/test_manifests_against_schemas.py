"""Everything we write is what the API server's own schemas describe, and names no field beside."""

import gzip
import json
from typing import Any

import jsonschema
import pytest

from portal.kubernetes import adding, manifests
from portal.kubernetes.client import Connection
from portal.kubernetes.manifests import PoolShape, Target
from portal.kubernetes.port import MANAGER
from portal.kubernetes.proposing import FoundPool
from portal.kubernetes.real import KubernetesCluster
from tests.portal.kubernetes.recorded import DATA

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
DOCUMENT: dict[str, Any] = json.loads(gzip.decompress((DATA / "openapi.json.gz").read_bytes()))


class Written(Connection):
    """A way to nowhere that keeps what it is given."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def ask(self, *arguments: Any, **_more: Any) -> dict[str, Any]:
        """Keep the body; an object asked for is there."""
        if len(arguments) > 3:
            self.bodies.append(arguments[3])
        return {"metadata": {"uid": "b7e2"}}


def strict(schema: Any) -> Any:
    """The schema with every object closed to fields it does not name."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


SCHEMAS = strict(DOCUMENT["components"])


def check(manifest: dict[str, Any]) -> None:
    """Fail where a manifest is not as its kind's schema says."""
    root = DOCUMENT["roots"][f"{manifest['apiVersion']}/{manifest['kind']}"]
    schema = {"$ref": f"#/components/schemas/{root}", "components": SCHEMAS}
    jsonschema.Draft202012Validator(schema).validate(manifest)


def written() -> list[dict[str, Any]]:
    """One of everything quota mode writes, as it goes over the wire."""
    way = Written()
    port = KubernetesCluster(way)
    pools = (PoolShape("h100", GPU), PoolShape("a100", GPU), PoolShape("a100-mig-1g-10gb", MIG))
    targets = {"h100": Target(2, 1, 3), "a100-mig-1g-10gb": Target(1, 0, 1)}
    for manifest in (
        *manifests.priority_classes(pools),
        manifests.namespace("team-c", "vision"),
        manifests.namespace("left", None),
        *manifests.quotas(
            "team-c",
            targets,
            pools,
            [GPU, MIG, "nvidia.com/gpu.shared"],
            claims={"gpu.nvidia.com": "", "served.nvidia.com": GPU},
        ),
    ):
        port.apply(manifest, manager=MANAGER, fence=7, resource_version="12")
    pool = FoundPool("h100", GPU, "H100", "dedicated", None, 1000, 8, ("a",), ("a",))  # type: ignore[arg-type]
    adding.label_nodes(port, [pool])
    port.evict("team-c", "pod", grace_seconds=30)
    return way.bodies


@pytest.mark.parametrize(
    "manifest", written(), ids=lambda m: f"{m['kind']} {m['metadata']['name']}"
)
def test_what_we_write_is_valid(manifest: dict[str, Any]) -> None:
    check(manifest)


def test_all_kinds_we_write_are_checked() -> None:
    assert {manifest["kind"] for manifest in written()} == {
        "PriorityClass", "Namespace", "ResourceQuota", "Node", "Eviction",
    }  # fmt: skip


def test_the_schemas_refuse_what_is_wrong() -> None:
    quota = manifests.quotas("n", {}, (PoolShape("h100", GPU),), [GPU])[0]
    for wrong in (
        {**quota, "spec": {**quota["spec"], "hards": {}}},
        {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": ["2"]}}},
        {**quota, "metadata": {**quota["metadata"], "label": "x"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check(wrong)
