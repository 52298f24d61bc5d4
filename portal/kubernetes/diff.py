"""What is wanted against what is there → writes, and drift that is not ours to write. Pure.

Fields are compared leaf by leaf; lists are leaves. A field that differs and belongs to another
manager alone is drift, and its object is left as it is; all other differences make one write of
the whole object. Fields we own and do not want any more go with the next write.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.kubernetes.port import FENCE, MANAGER, Manifest

Path = tuple[str, ...]
SKIPPED: frozenset[Path] = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        ("status",),
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "annotations", FENCE),
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """One field: what it is and what it shall be; None is "not there"."""

    field: str
    was: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Write:
    """One object to apply, made for one version of it ("" where there is none yet)."""

    manifest: Manifest
    resource_version: str
    changes: tuple[Change, ...]

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for one of the whole cluster."""
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def growth(self) -> int:
        """By how much limits grow in sum; shrinking goes first."""
        return sum(_number(change.now) - _number(change.was) for change in self.changes)


@dataclass(frozen=True, slots=True)
class Drifted:
    """A field that is not as wanted and belongs to another manager."""

    kind: str
    namespace: str
    name: str
    field: str
    wanted: Any
    found: Any
    manager: str


@dataclass(slots=True)
class Difference:
    """What a comparison found."""

    writes: list[Write] = field(default_factory=list)
    drifts: list[Drifted] = field(default_factory=list)


def compare(
    wanted: Iterable[Manifest], found: Iterable[Manifest], *, manager: str = MANAGER
) -> Difference:
    """Compare every wanted object with the one of its kind, namespace and name."""
    there = {identity(item): item for item in found}
    result = Difference()
    for manifest in wanted:
        item = there.get(identity(manifest))
        changes, drifts = _object(manifest, item, manager)
        result.drifts += drifts
        if changes and not drifts:
            version = str(item["metadata"]["resourceVersion"]) if item else ""
            result.writes.append(Write(manifest, version, tuple(changes)))
    return result


def identity(item: Manifest) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    metadata = item["metadata"]
    return str(item["kind"]), str(metadata.get("namespace", "")), str(metadata["name"])


def _object(
    manifest: Manifest, item: Manifest | None, manager: str
) -> tuple[list[Change], list[Drifted]]:
    wanted = dict(leaves(manifest))
    if item is None:
        return [Change(spelled(path), None, value) for path, value in wanted.items()] or [
            Change("metadata.name", None, manifest["metadata"]["name"])
        ], []
    found = dict(leaves(item))
    owners = owned(item)
    changes: list[Change] = []
    drifts: list[Drifted] = []
    for path, value in wanted.items():
        if path in found and found[path] == value:
            continue
        others = sorted(m for m, paths in owners.items() if m != manager and _holds(paths, path))
        if others and path in found and not _holds(owners.get(manager, ()), path):
            kind, namespace, name = identity(manifest)
            drifts.append(
                Drifted(kind, namespace, name, spelled(path), value, found[path], others[0])
            )
        else:
            changes.append(Change(spelled(path), found.get(path), value))
    ours = owned_leaves(owned(item, "Apply").get(manager, ()), found)
    changes += [Change(spelled(path), found[path], None) for path in ours if path not in wanted]
    return changes, drifts


def leaves(item: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of every field we may write."""
    for key, value in item.items():
        path = (*above, key)
        if path in SKIPPED:
            continue
        if isinstance(value, Mapping) and value:
            yield from leaves(value, path)
        else:
            yield path, value


def owned(item: Manifest, operation: str = "") -> dict[str, list[Path]]:
    """The fields each manager owns, from `managedFields`; status fields left out.

    With an operation only those held by it: an apply takes away what an apply gave, and nothing else.
    """
    found: dict[str, list[Path]] = {}
    for entry in item["metadata"].get("managedFields", []):
        if entry.get("subresource") or operation not in ("", entry.get("operation")):
            continue
        paths = list(_tree(entry.get("fieldsV1", {}), ()))
        found.setdefault(str(entry.get("manager", "")), []).extend(paths)
    return found


def _tree(tree: Mapping[str, Any], above: Path) -> Iterator[Path]:
    """Paths of a FieldsV1 tree: `f:` names a key; sets and list items end the path."""
    inner = {key: value for key, value in tree.items() if key.startswith("f:")}
    if not inner and above:
        yield above
    for key, value in inner.items():
        yield from _tree(value, (*above, key.removeprefix("f:")))


def _holds(paths: Iterable[Path], path: Path) -> bool:
    """Whether a field lies at or below one that is owned as a whole."""
    return any(path[: len(owned_path)] == owned_path for owned_path in paths)


def owned_leaves(paths: Iterable[Path], found: Mapping[Path, Any]) -> list[Path]:
    """The leaves that are there and owned."""
    held = list(paths)
    return [path for path in found if _holds(held, path)]


def fields(item: Manifest) -> dict[str, Any]:
    """Every field we may write, as people read its name, and its value."""
    return {spelled(path): value for path, value in leaves(item)}


def spelled(path: Path) -> str:
    """A path as people read it: `spec.hard[requests.nvidia.com/gpu]`."""
    text = ""
    for key in path:
        text += f"[{key}]" if "." in key or "/" in key else f".{key}"
    return text.removeprefix(".")


def _number(value: Any) -> int:
    return int(value) if isinstance(value, str) and value.isdigit() else 0
