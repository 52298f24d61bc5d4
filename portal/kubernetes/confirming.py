"""Whether a cluster does what was written: quotas in force, and the policies that make them bind.

Pure. A quota binds once the server's own controller has taken it up, which it shows by repeating
`spec.hard` as `status.hard`; until then, and for as long as a policy is missing, that is drift of
nobody's making and is shown beside all other drift.
"""

from collections.abc import Iterable, Iterator

from portal.kubernetes import policies
from portal.kubernetes.diff import Drifted, Write
from portal.kubernetes.port import MANAGER, Listing


def not_in_force(quotas: Listing, writes: Iterable[Write]) -> Iterator[Drifted]:
    """Our quotas that say one thing and limit another; those about to be written are left out."""
    written = {(write.kind, write.namespace, write.name) for write in writes}
    for item in quotas.items:
        metadata = item["metadata"]
        if ("ResourceQuota", metadata["namespace"], metadata["name"]) in written or not any(
            entry.get("manager") == MANAGER for entry in metadata.get("managedFields", [])
        ):
            continue
        hard = item.get("spec", {}).get("hard", {})
        in_force = item.get("status", {}).get("hard", {})
        for key in hard:
            if in_force.get(key) != hard[key]:
                yield Drifted(
                    "ResourceQuota", metadata["namespace"], metadata["name"],
                    f"status.hard[{key}]", hard[key], in_force.get(key), "",
                )  # fmt: skip


def not_guarded(found: Listing) -> Iterator[Drifted]:
    """The admission policies that are not there or do not deny."""
    for name in policies.missing(found):
        yield Drifted(policies.POLICY, "", name, "spec.validationActions", "Deny", None, "")
