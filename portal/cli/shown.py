"""What a command gives back: the same answer for people and for programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` goes where people look, `notes` beside it (stderr), `data` is all of it as JSON.

    `ends_with` is the number the command ends with.
    """

    text: str
    data: Mapping[str, Any]
    notes: str = ""
    ends_with: int = 0
