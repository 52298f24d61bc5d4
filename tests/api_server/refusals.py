"""What the server answers instead of doing as asked: a `Status` with a code and a reason."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.api_server.places import Target

REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict",
    410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
    503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(
        self, code: int, message: str, *, reason: str = "", causes: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.reason = reason or REASONS.get(code, "")
        self.causes = list(causes)

    def status(self) -> dict[str, Any]:
        """The object the answer carries."""
        details = {"causes": self.causes} if self.causes else {}
        return {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "details": details, "code": self.code,
        }  # fmt: skip


def missing(target: Target, name: str = "") -> Refused:
    """There is no such object."""
    return Refused(404, f'{target.resource} "{name or target.name}" not found')


def stale(target: Target) -> Refused:
    """It has moved on since it was read."""
    return Refused(
        409, f'Operation cannot be fulfilled on {target.resource} "{target.name}": the object has '
        "been modified; please apply your changes to the latest version and try again",
    )  # fmt: skip


def another(target: Target) -> Refused:
    """It was deleted and made anew."""
    return Refused(
        409, f'Operation cannot be fulfilled on {target.resource} "{target.name}": StorageError: '
        "invalid object: Precondition failed: UID in precondition and in object meta differ",
    )  # fmt: skip


def invalid(target: Target, said: str) -> Refused:
    """Its own rules say no."""
    group = f".{target.place.group}" if target.place.group else ""
    return Refused(422, f'{target.kind}{group} "{target.name}" is invalid: {said}')


def forbidden(target: Target, said: str) -> Refused:
    """A rule of the cluster says no."""
    return Refused(403, f'{target.resource} "{target.name}" is forbidden: {said}')


def conflict(owners: Mapping[str, str]) -> Refused:
    """Fields belong to other managers."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{who}"', "field": f".{name}"}
        for name, who in owners.items()
    ]
    named = "; ".join(f'conflict with "{who}": .{name}' for name, who in owners.items())
    word = "conflict" if len(owners) == 1 else "conflicts"
    return Refused(409, f"Apply failed with {len(owners)} {word}: {named}", causes=causes)


def expired(since: int, oldest: int) -> Refused:
    """What happened since is not known any more."""
    return Refused(410, f"too old resource version: {since} ({oldest})")
