"""Does something and takes all of it back, to see what would come of it."""

from collections.abc import Callable
from typing import TypeVar

from django.db import transaction

Found = TypeVar("Found")


class _TakenBackError(Exception):
    """Ends the attempt, so that nothing of it stays."""


def taken_back(act: Callable[[], Found]) -> Found:
    """What `act` gives, once everything it wrote is gone again; its refusals are raised."""
    found: list[Found] = []
    try:
        with transaction.atomic():
            found.append(act())
            raise _TakenBackError
    except _TakenBackError:
        return found[0]
