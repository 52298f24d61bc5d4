"""The scheduler's sentence on a pod it could not place, taken apart. Pure, and never raises.

    0/<nodes> nodes are available: [<before>.] <count> <reason>[, …]. [<preemption>]

What does not follow this is kept as the sentence it is, without reasons. Counts may add up to more
than the nodes: one node can fail for several reasons.
"""

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum

LONGEST = 4096
"""So much of a sentence is read; all of it is kept."""
_HEAD = re.compile(r"\s*0/(?P<nodes>[0-9]{1,7}) nodes are available[:.]?\s*")
_REASON = re.compile(
    r"(?:^|, |\. )(?P<count>[0-9]{1,6}) (?P<text>[^,]{1,300}?)(?=, [0-9]|\. |\.?$)"
)
_PREEMPTION = "preemption: "


class Kind(Enum):
    """What a reason is about."""

    DEVICES = "devices"
    CPU_MEMORY = "cpu_memory"
    TAINT = "taint"
    CORDON = "cordon"
    LABELS = "labels"
    NEIGHBOURS = "neighbours"
    STORAGE = "storage"
    TOPOLOGY = "topology"
    OTHER = "other"


# The first that is found in a reason counts; volumes speak of affinity too.
FRAGMENTS: tuple[tuple[str, Kind], ...] = (
    ("persistentvolume", Kind.STORAGE),
    ("persistent volume", Kind.STORAGE),
    ("volume", Kind.STORAGE),
    ("ephemeral-storage", Kind.STORAGE),
    ("topology spread", Kind.TOPOLOGY),
    ("insufficient cpu", Kind.CPU_MEMORY),
    ("insufficient memory", Kind.CPU_MEMORY),
    ("insufficient hugepages", Kind.CPU_MEMORY),
    ("too many pods", Kind.CPU_MEMORY),
    ("insufficient ", Kind.DEVICES),
    ("allocate all claims", Kind.DEVICES),
    ("resourceclaim", Kind.DEVICES),
    ("untolerated taint", Kind.TAINT),
    ("had taint", Kind.TAINT),
    ("were unschedulable", Kind.CORDON),
    ("affinity rules", Kind.NEIGHBOURS),
    ("node affinity", Kind.LABELS),
    ("node selector", Kind.LABELS),
    ("requested node name", Kind.LABELS),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence in its parts; `before` was found before any node was looked at."""

    sentence: str
    nodes: int | None = None
    before: str = ""
    reasons: tuple[tuple[int, str], ...] = ()
    preemption: str = ""

    def counted(self) -> Counter[Kind]:
        """Nodes by what stands in the way there; more than the sentence has is cut to that."""
        found: Counter[Kind] = Counter()
        for count, text in self.reasons:
            found[kind_of(text)] += count
        if self.before:
            found[kind_of(self.before)] += self.nodes or 1
        return found

    @property
    def makes_room(self) -> bool:
        """Whether others are on their way out to make room for it."""
        return "terminating pod on the nominated node" in self.preemption


def parse(sentence: object) -> Verdict:
    """Take a sentence apart, as far as it follows the scheduler's grammar."""
    whole = str(sentence or "")
    read = whole[:LONGEST]
    head = _HEAD.match(read)
    if head is None:
        return Verdict(whole)
    said, _, after = read[head.end() :].partition(_PREEMPTION)
    found = list(_REASON.finditer(said))
    first = found[0].start() if found else len(said)
    return Verdict(
        sentence=whole,
        nodes=int(head["nodes"]),
        before=said[:first].strip(" .,"),
        reasons=tuple((int(one["count"]), one["text"].strip()) for one in found),
        preemption=after.strip(),
    )


def kind_of(reason: str) -> Kind:
    """What a reason is about."""
    small = reason.lower()
    return next((kind for part, kind in FRAGMENTS if part in small), Kind.OTHER)
