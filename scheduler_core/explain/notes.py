"""What the walk saw when a workload's turn came, which nothing else can measure afterwards."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Note:
    """Reasons found in a workload's turn, each with its numbers: word → detail."""

    found: dict[str, dict[str, object]] = field(default_factory=dict)

    def add(self, word: str, **detail: object) -> None:
        """Remember the word; the first detail of a word stays."""
        self.found.setdefault(word, detail)
