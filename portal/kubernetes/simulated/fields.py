"""Server-side apply: who manages which field, who is in whose way, and what is removed.

A field is a path of keys joined by `\\x1f` down to a leaf; lists are leaves (ours are atomic). Each
field maps its managers to when they set it.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from portal.kubernetes.port import FieldConflict
from portal.kubernetes.simulated.records import Stored

SEPARATOR = "\x1f"
NOT_MANAGED = frozenset({"apiVersion", "kind", "status"})
NOT_MANAGED_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
)


def leaves(body: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of each leaf a manager can own."""
    for key, value in body.items():
        if (not above and key in NOT_MANAGED) or (
            above == ("metadata",) and key in NOT_MANAGED_METADATA
        ):
            continue
        path = (*above, key)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, path)
        else:
            yield SEPARATOR.join(path), value


def merge(stored: Stored, manifest: Mapping[str, Any], manager: str, force: bool, at: int) -> bool:
    """Apply a manifest to an object; say whether anything changed. Raises `FieldConflict`."""
    wanted = dict(leaves(manifest))
    found = dict(leaves(stored.body))
    _refuse_conflicts(stored, wanted, found, manager, force)
    before = (deepcopy(stored.body), {path: set(who) for path, who in stored.owners.items()})
    for path in [p for p, who in stored.owners.items() if manager in who and p not in wanted]:
        _let_go(stored, path, manager)
    for path, value in wanted.items():
        if path not in found or found[path] != value:
            _put(stored.body, path.split(SEPARATOR), value)
            stored.owners[path] = {manager: at}
        else:
            stored.owners.setdefault(path, {}).setdefault(manager, at)
    return before != (stored.body, {path: set(who) for path, who in stored.owners.items()})


def _refuse_conflicts(
    stored: Stored, wanted: Mapping[str, Any], found: Mapping[str, Any], manager: str, force: bool
) -> None:
    owners = {
        ".".join(path.split(SEPARATOR)): other
        for path, value in wanted.items()
        if path in found and found[path] != value
        for other in stored.owners.get(path, {})
        if other != manager
    }
    if owners and not force:
        named = ", ".join(f'"{who}" using v1: .{path}' for path, who in owners.items())
        raise FieldConflict(
            f"Apply failed with {len(owners)} conflict: conflicts with {named}", owners
        )


def _let_go(stored: Stored, path: str, manager: str) -> None:
    """A field its manager no longer names: gone, unless somebody else holds it too."""
    who = stored.owners[path]
    del who[manager]
    if not who:
        del stored.owners[path]
        _cut(stored.body, path.split(SEPARATOR))


def _put(body: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        body = body.setdefault(key, {})
    body[keys[-1]] = deepcopy(value)


def _cut(body: dict[str, Any], keys: list[str]) -> None:
    """Remove a leaf, and the branches it leaves empty."""
    if len(keys) > 1:
        inner = body.get(keys[0])
        if isinstance(inner, dict):
            _cut(inner, keys[1:])
            if inner:
                return
    body.pop(keys[0], None)


def managed(stored: Stored, stamp: Callable[[int], str]) -> list[dict[str, Any]]:
    """The `managedFields` of an object, one entry a manager."""
    trees: dict[str, dict[str, Any]] = {}
    times: dict[str, int] = {}
    for path, who in stored.owners.items():
        for manager, at in who.items():
            branch = trees.setdefault(manager, {})
            for key in path.split(SEPARATOR):
                branch = branch.setdefault(f"f:{key}", {})
            times[manager] = max(at, times.get(manager, at))
    return [
        {
            "manager": manager,
            "operation": "Apply",
            "time": stamp(times[manager]),
            "fieldsType": "FieldsV1",
            "fieldsV1": tree,
        }
        for manager, tree in sorted(trees.items())
    ]
