"""Whether the admission policies of `deploy/kubernetes/policies` stand in a cluster."""

from portal.kubernetes.port import Listing

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
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


def missing(found: Listing) -> list[str]:
    """The policies that are not there, or not bound so that they deny."""
    there: set[str] = set()
    bound: set[str] = set()
    for item in found.items:
        if item["kind"] == POLICY:
            there.add(item["metadata"]["name"])
        elif "Deny" in item.get("spec", {}).get("validationActions", []):
            bound.add(str(item["spec"].get("policyName", "")))
    return [name for name in NAMES if name not in there & bound]
