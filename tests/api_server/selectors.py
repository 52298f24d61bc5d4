"""Field selectors: `reason=FailedCreate,involvedObject.kind!=Pod`."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.api_server.places import Target

Fits = Callable[[str, str, Mapping[str, Any]], bool]


def of(where: Target, selector: str) -> Fits:
    """Whether an object is of the kind, the namespace and the fields asked for."""
    terms = [_term(part) for part in selector.split(",") if part]

    def fits(kind: str, namespace: str, item: Mapping[str, Any]) -> bool:
        return (
            kind == where.kind
            and (not namespace or where.namespace in ("", namespace))
            and all((_value(item, path) == value) == wanted for path, value, wanted in terms)
        )

    return fits


def _term(part: str) -> tuple[str, str, bool]:
    name, _, value = part.partition("=")
    return name.rstrip("!="), value.lstrip("="), not name.endswith("!")


def _value(item: Mapping[str, Any], path: str) -> str:
    found: Any = item
    for step in path.split("."):
        found = found.get(step, "") if isinstance(found, Mapping) else ""
    return str(found)
