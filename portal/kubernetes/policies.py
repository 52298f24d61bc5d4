"""Whether the admission policies of `deploy/kubernetes/policies` stand in a cluster."""

from portal.inventory.models import ClusterMode
from portal.kubernetes.port import Listing

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
NAMESPACE, LIMITS = "evenshare", "evenshare-limits"
"""Where the limits stand that they read."""
NAMES = (
    "evenshare-account-labels",
    "evenshare-account-objects",
    "evenshare-claims",
    "evenshare-classes",
    "evenshare-deletions",
    "evenshare-device-pods",
    "evenshare-evictions",
    "evenshare-namespace-team",
    "evenshare-node-pool",
    "evenshare-other-pods",
    "evenshare-pod-marks",
    "evenshare-quotas",
    "evenshare-user",
)
"""What every mode that writes needs."""
OF_RECLAIM = ("evenshare-account-jobs", "evenshare-account-pods", "evenshare-account-ray")
OF_ADMISSION = (
    "evenshare-admission-gates",
    "evenshare-admission-jobs",
    "evenshare-admission-pod-marks",
    "evenshare-admission-pods",
    "evenshare-admission-ray",
    "evenshare-admission-templates",
    "evenshare-namespace-reservations",
    "evenshare-reservation",
)


def names(mode: str) -> tuple[str, ...]:
    """The policies a mode needs."""
    of_mode = {
        ClusterMode.RECLAIM: (*NAMES, *OF_RECLAIM),
        ClusterMode.ADMISSION: (*NAMES, *OF_RECLAIM, *OF_ADMISSION),
    }
    return of_mode.get(ClusterMode(mode), NAMES)


def folder(mode: str) -> str:
    """What to apply for a mode."""
    return "quota" if mode == ClusterMode.OBSERVE else ClusterMode(mode).value


def missing(found: Listing, mode: str) -> list[str]:
    """The policies of a mode that are not there, or not bound so that they deny."""
    there: set[str] = set()
    bound: set[str] = set()
    for item in found.items:
        if item["kind"] == POLICY:
            there.add(item["metadata"]["name"])
        elif "Deny" in item.get("spec", {}).get("validationActions", []):
            bound.add(str(item["spec"].get("policyName", "")))
    return [name for name in names(mode) if name not in there & bound]
