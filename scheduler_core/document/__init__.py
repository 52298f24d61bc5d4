"""JSON in and out of the model, with every refusal of the contract.

Inside: the keys and their checks, what parts of a document say of each other, the way back to
JSON, the JSON Schema. Never inside: a file, a stream, a decision. A bad document raises `Fault`,
which names the path inside it: `workloads[3].tasks: must be at least 1`.
"""

from scheduler_core.document.fields import Fault, Json, is_unicode
from scheduler_core.document.records import DIVISION, POLICY, SNAPSHOT
from scheduler_core.document.references import check_division, check_snapshot
from scheduler_core.document.schemas import schema_to_json
from scheduler_core.document.writing import (
    division_to_json,
    plan_to_json,
    policy_to_json,
    shares_to_json,
    snapshot_to_json,
    snapshot_to_text,
)
from scheduler_core.model import Division, Policy, Snapshot

__all__ = [
    "Fault",
    "Json",
    "check_division",
    "check_snapshot",
    "division_to_json",
    "is_unicode",
    "parse_division",
    "parse_policy",
    "parse_snapshot",
    "plan_to_json",
    "policy_to_json",
    "schema_to_json",
    "shares_to_json",
    "snapshot_to_json",
    "snapshot_to_text",
]


def parse_snapshot(document: object) -> Snapshot:
    """Return the snapshot a JSON document holds. Raises `Fault`."""
    snapshot: Snapshot = SNAPSHOT.check(document)
    check_snapshot(snapshot)
    return snapshot


def parse_division(document: object) -> Division:
    """Return the division a JSON document holds. Raises `Fault`."""
    division: Division = DIVISION.check(document)
    check_division(division)
    return division


def parse_policy(document: object) -> Policy:
    """Return a policy that stands in a file of its own. Raises `Fault`."""
    policy: Policy = POLICY.check(document)
    return policy
