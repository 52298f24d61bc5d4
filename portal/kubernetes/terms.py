"""What an owner says of itself in annotations; what cannot be read counts as not said. Pure."""

from collections.abc import Mapping
from typing import Any

from portal.kubernetes.port import Manifest
from portal.kubernetes.times import told_moment
from portal.workloads.models import Kind

PREFIX = "evenshare.io/"
WHOLE = frozenset({"RayCluster", "RayJob", "JobSet", "TrainJob"})
"""Kinds that start and stop whole: how many pods they have is theirs alone to say."""


def read(owner: Manifest, tasks: int) -> dict[str, Any]:
    """The terms of an owner of so many tasks, as fields of `SeenWorkload`."""
    given = {
        name.removeprefix(PREFIX): str(value).replace("\x00", "")
        for name, value in (owner["metadata"].get("annotations") or {}).items()
        if name.startswith(PREFIX)
    }
    terms = _terms(given, tasks)
    return {**terms, "min_tasks": None} if owner.get("kind") in WHOLE else terms


def _terms(given: Mapping[str, str], tasks: int) -> dict[str, Any]:
    kind = given.get("class", "")
    least = _amount(given.get("min-tasks"))
    return {
        "person": given.get("user", "")[:150],
        "kind": Kind(kind) if kind in Kind.values else Kind.BATCH,
        "reservation_id": _whole(given.get("reservation", "").removeprefix("R-")),
        "priority": _whole(given.get("priority")) or 0,
        "min_tasks": least if least and least <= tasks else None,
        "preemptible": given.get("preemptible", "true") != "false",
        "duration_seconds": _amount(given.get("duration")),
        "save_seconds": _amount(given.get("save-seconds")),
        "restore_seconds": _amount(given.get("restore-seconds")),
        "last_saved_at": told_moment(given.get("saved-at")),
        "first_step_at": told_moment(given.get("first-step-at")),
    }


def _whole(text: str | None) -> int | None:
    """A whole number a column can hold, or None."""
    written = (text or "").strip()
    negative = written.startswith("-")
    digits = written.lstrip("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        return None
    return -int(digits) if negative else int(digits)


def _amount(text: str | None) -> int | None:
    """The same, none below zero."""
    found = _whole(text)
    return None if found is None or found < 0 else found
