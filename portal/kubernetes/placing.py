"""Which pool a node belongs to: its own label first, else what its device plug-in's labels say. Pure.

The name is made from the product, the sharing mode and the resource, so that every reader finds
the same one: `nvidia.com/gpu` on NVIDIA-A100-SXM4-80GB is `a100-sxm4-80gb`, and its 1g.10gb
instances are `a100-sxm4-80gb-mig-1g-10gb`. A node that offers several device resources belongs to
the pool of the one that is worth most; what else it offers no pool counts, and quotas hold it at 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from portal.inventory.models import Sharing
from portal.kubernetes import quantities
from portal.kubernetes.port import POOL, Manifest

PRODUCT, STRATEGY, REPLICAS = (
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.sharing-strategy",
    "nvidia.com/gpu.replicas",
)
MEMORY = "nvidia.com/gpu.memory"
PRODUCTS = (PRODUCT, "amd.com/gpu.product-name", "gpu.intel.com/product")
MIG = re.compile(r"mig-(?P<slices>\d+)g\.", re.IGNORECASE)
MOST_LETTERS = 40
NOT_DEVICES = ("hugepages-", "attachable-volumes-", "requests.", "rdma/", "vpc.amazonaws.com/")


@dataclass(frozen=True, slots=True)
class Place:
    """The pool of a node, with what is known of its devices; `others` no pool counts."""

    pool: str
    resource: str
    gpus: int
    model: str
    sharing: Sharing
    memory_mib: int | None
    equivalent_milli: int
    labelled: bool
    others: Mapping[str, int]


def place(item: Manifest) -> Place | None:
    """The pool of a node; None for one that offers no devices."""
    found = derived(item)
    given = (item["metadata"].get("labels") or {}).get(POOL, "")
    return replace(found, pool=given, labelled=True) if found and given else found


def derived(item: Manifest) -> Place | None:
    """The pool a node would belong to had nobody labelled it; None for one without devices."""
    offer = devices(item)
    if not offer:
        return None
    labels: Mapping[str, str] = item["metadata"].get("labels") or {}
    resource = max(sorted(offer), key=lambda name: offer[name] * _worth(name, labels))
    return Place(
        pool=_name(resource, labels),
        resource=resource,
        gpus=offer[resource],
        model=_model(resource, labels),
        sharing=_sharing(resource, labels),
        memory_mib=_whole(labels.get(MEMORY)),
        equivalent_milli=_worth(resource, labels),
        labelled=False,
        others={name: count for name, count in offer.items() if name != resource},
    )


def pool_of(item: Manifest) -> str:
    """The name of a node's pool; empty for one that offers no devices."""
    given = str((item["metadata"].get("labels") or {}).get(POOL, ""))
    if given:
        return given
    found = place(item)
    return found.pool if found else ""


def devices(item: Manifest) -> dict[str, int]:
    """Extended resources a node offers and how many of each; those that are no devices left out."""
    offer: Mapping[str, Any] = item.get("status", {}).get("allocatable", {})
    return {
        name: quantities.devices(value)
        for name, value in offer.items()
        if is_device(name) and quantities.devices(value)
    }


def is_device(resource: str) -> bool:
    """Whether a resource is a device: named with a slash, not Kubernetes' own, not a network's."""
    return (
        "/" in resource and "kubernetes.io/" not in resource
        and not resource.startswith(NOT_DEVICES)
    )  # fmt: skip


def _worth(resource: str, labels: Mapping[str, str]) -> int:
    """What one is worth beside a whole GPU, in thousandths."""
    instance = MIG.search(resource) or MIG.search(labels.get(PRODUCT, ""))
    if instance:
        slices = 4 if "A30" in labels.get(PRODUCT, "") or "RTX" in labels.get(PRODUCT, "") else 7
        return max(1, 1000 * int(instance["slices"]) // slices)
    if _sharing(resource, labels) == Sharing.SHARED:
        return max(1, 1000 // max(1, _whole(labels.get(REPLICAS)) or 1))
    return 1000


def _sharing(resource: str, labels: Mapping[str, str]) -> Sharing:
    if MIG.search(resource) or MIG.search(labels.get(PRODUCT, "")):
        return Sharing.MIG
    strategy = labels.get(STRATEGY, "none")
    if resource.endswith(".shared") or strategy not in ("", "none"):
        return Sharing.SHARED
    return Sharing.DEDICATED


def _model(resource: str, labels: Mapping[str, str]) -> str:
    """The product without what the plug-in adds for sharing."""
    product = next((labels[name] for name in PRODUCTS if labels.get(name)), resource)
    return re.sub(r"-(SHARED|MIG-.*)$", "", product)[:80]


def _name(resource: str, labels: Mapping[str, str]) -> str:
    model = _model(resource, labels)
    words = [model.removeprefix("NVIDIA-") if model != resource else resource.replace("/", "-")]
    match _sharing(resource, labels):
        case Sharing.MIG:
            told = resource if MIG.search(resource) else labels.get(PRODUCT, "").lower()
            words.append(told[told.index("mig-") :])
        case Sharing.SHARED:
            words.append("shared")
        case Sharing.DEDICATED:
            pass
    return _slug("-".join(words))


def _slug(text: str) -> str:
    """Small letters, digits and hyphens, short, and never with the ending of a later class."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(slug) > MOST_LETTERS:
        mark = blake2b(slug.encode(), digest_size=3).hexdigest()
        slug = f"{slug[: MOST_LETTERS - 7].rstrip('-')}-{mark}"
    return f"{slug}-pool" if re.search(r"-v\d+$", slug) else slug


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None
