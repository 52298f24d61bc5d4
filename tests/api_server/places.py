"""Where the fake keeps each kind, and how a request's path names it."""

from dataclasses import dataclass
from urllib.parse import unquote

from portal.kubernetes.places import PLACES, Place

OTHERS = {
    "PodDisruptionBudget": Place("policy/v1", "poddisruptionbudgets"),
    "ServiceAccount": Place("v1", "serviceaccounts"),
}
KINDS: dict[tuple[str, str], tuple[str, Place]] = {
    (place.version, place.plural): (kind, place) for kind, place in (PLACES | OTHERS).items()
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at; a name is missing where all objects are meant."""

    kind: str
    place: Place
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def resource(self) -> str:
        """The plural with its group, as messages have it."""
        group = self.place.group
        return f"{self.place.plural}.{group}" if group else self.place.plural


def target(path: str) -> Target | None:
    """What a path points at; None for what is not kept here."""
    steps = [unquote(step) for step in path.strip("/").split("/")]
    if steps[:1] == ["api"] and len(steps) > 2:
        version, rest = steps[1], steps[2:]
    elif steps[:1] == ["apis"] and len(steps) > 3:
        version, rest = f"{steps[1]}/{steps[2]}", steps[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    found = KINDS.get((version, rest[0]))
    if found is None:
        return None
    name, part = (*rest[1:3], "", "")[:2]
    return Target(found[0], found[1], namespace, name, part)
