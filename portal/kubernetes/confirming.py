"""Whether a cluster does what was written: quotas in force, and the policies that make them bind.

Pure. A quota binds once the server's own controller has taken it up, which it shows by repeating
`spec.hard` as `status.hard`. One that still does not when the next tick is written, a policy that
is missing, and a quota that names a device in a spelling nobody counts, are shown beside all other
drift.
"""

from collections.abc import Iterable, Iterator

from portal.kubernetes import diff, policies, proposing
from portal.kubernetes.diff import Drifted, Write
from portal.kubernetes.port import FENCE, MANAGER, Listing, Manifest


def not_in_force(quotas: Listing, writes: Iterable[Write], fence: int) -> Iterator[Drifted]:
    """Our quotas that say one thing and limit another.

    Left out are those about to be written, and those just written for the tick of this fence.
    """
    written = {(write.kind, write.namespace, write.name) for write in writes}
    for item in quotas.items:
        metadata = item["metadata"]
        just_now = (metadata.get("annotations") or {}).get(FENCE) == str(fence)
        key = ("ResourceQuota", metadata["namespace"], metadata["name"])
        if just_now or key in written or not _ours(item):
            continue
        hard = item.get("spec", {}).get("hard", {})
        in_force = item.get("status", {}).get("hard", {})
        for key in hard:
            if in_force.get(key) != hard[key]:
                yield Drifted(
                    "ResourceQuota", metadata["namespace"], metadata["name"],
                    f"status.hard[{key}]", hard[key], in_force.get(key), "",
                )  # fmt: skip


def without_effect(quotas: Listing) -> Iterator[Drifted]:
    """Quotas, whoever's, with a device by a name the server takes and never counts."""
    for item in quotas.items:
        metadata = item["metadata"]
        owners = diff.owned(item)
        hard = item.get("spec", {}).get("hard", {})
        for key in proposing.idle_keys(hard):
            path = ("spec", "hard", key)
            held = sorted(manager for manager, paths in owners.items() if path in paths)
            yield Drifted(
                "ResourceQuota", metadata["namespace"], metadata["name"], diff.spelled(path),
                None, hard[key], held[0] if held else "",
            )  # fmt: skip


def _ours(item: Manifest) -> bool:
    entries = item["metadata"].get("managedFields", [])
    return any(entry.get("manager") == MANAGER for entry in entries)


def not_guarded(found: Listing, mode: str) -> Iterator[Drifted]:
    """The admission policies that are not there or do not deny."""
    for name in policies.missing(found, mode):
        yield Drifted(policies.POLICY, "", name, "spec.validationActions", "Deny", None, "")
