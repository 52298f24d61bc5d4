"""Why a job does not run, as far as only the cluster knows: a word and the cluster's sentence.

The first that applies: suspended, pods refused (quota, policy), pods held by a gate, the
scheduler's sentence; fragmentation is told from shortage by our own count.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from portal.kubernetes import placing, pods, quantities
from portal.kubernetes.port import POOL, Listing, Manifest

WORDS: tuple[tuple[str, str], ...] = (
    ("Insufficient cpu", "cluster_cpu_memory"),
    ("Insufficient memory", "cluster_cpu_memory"),
    ("untolerated taint", "cluster_taint"),
    ("were unschedulable", "cluster_taint"),
    ("topology spread constraints", "cluster_topology"),
    ("PersistentVolumeClaims", "cluster_storage"),
    ("persistent volumes to bind", "cluster_storage"),
    ("volume", "cluster_storage"),
    ("node affinity/selector", "cluster_affinity"),
    ("affinity rules", "cluster_affinity"),
)
SUSPENDED, QUOTA, POLICY = "cluster_suspended", "cluster_quota", "cluster_policy"
GATED, UNKNOWN = "cluster_gated", "cluster_unknown"
SHORT, FRAGMENTED = "cluster_gpu_short", "cluster_fragmented"


@dataclass(slots=True)
class Room:
    """Devices free in each pool, on nodes that take pods, as we count them."""

    resources: Collection[str]
    free: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def room(nodes: Listing, listing: Listing, resources: Collection[str]) -> Room:
    """Count what is free: what usable nodes offer, less what pods on them ask for."""
    found = Room(resources)
    pool_of: dict[str, str] = {}
    for item in nodes.items:
        ready = pods.condition(item, "Ready").get("status") == "True"
        if ready and not item.get("spec", {}).get("unschedulable"):
            pool = placing.pool_of(item)
            pool_of[item["metadata"]["name"]] = pool
            found.free[pool] += _devices(item["status"].get("allocatable", {}), resources)
    for item in listing.items:
        spec = item.get("spec", {})
        running = item.get("status", {}).get("phase") not in pods.ENDED
        if running and spec.get("nodeName") in pool_of:
            found.free[pool_of[spec["nodeName"]]] -= _devices(pods.requests(spec), resources)
    return found


def _devices(amounts: Mapping[str, object], resources: Collection[str]) -> int:
    return sum(quantities.devices(value) for name, value in amounts.items() if name in resources)


def why(owner: Manifest, members: Sequence[Manifest], refusal: str, found: Room) -> tuple[str, str]:
    """The word and the cluster's own sentence for a job that does not run; two blanks if it does."""
    if owner.get("spec", {}).get("suspend"):
        return SUSPENDED, ""
    if refusal:
        return (QUOTA if "exceeded quota" in refusal else POLICY), refusal
    waiting = [item for item in members if not item.get("spec", {}).get("nodeName")]
    if not waiting:
        return "", ""
    told = pods.condition(waiting[0], "PodScheduled")
    if told.get("reason") == "SchedulingGated":
        return GATED, str(told.get("message", ""))
    message = str(told.get("message", ""))
    return (_word(message, waiting, found), message) if message else ("", "")


def _word(message: str, waiting: Sequence[Manifest], found: Room) -> str:
    if any(f"Insufficient {resource}" in message for resource in found.resources):
        pool = waiting[0]["spec"].get("nodeSelector", {}).get(POOL, "")
        asked = sum(_devices(pods.requests(item["spec"]), found.resources) for item in waiting)
        return FRAGMENTED if found.free[pool] >= asked else SHORT
    return next((word for part, word in WORDS if part in message), UNKNOWN)
