"""Small studies for tests: three jobs worked out by hand, and a world to run them in."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from portal.studies import services, working
from portal.studies.checking import Asked
from portal.studies.models import Draw, Study, Trace

# One machine of eight GPUs, and three jobs that each want all of it:
#   A comes at 0 and takes 100 s, B at 10 and 1000 s, C at 20 and 10 s.
# First come, first served:  A 0-100, B 100-1100, C 1100-1110; waits 0, 90, 1080.
# Shortest first:            A 0-100, C 100-110,  B 110-1110;  waits 0, 80, 100.
TEXT = "job_id,submit_s,duration_s,num_gpus,vc\na,0,100,8,red\nb,10,1000,8,blue\nc,20,10,8,red\n"
FIFO = {"order": "fifo", "backfill": "off"}


def a_trace(now: datetime, text: str = TEXT, name: str = "three jobs") -> Trace:
    """An uploaded trace."""
    return services.upload(
        name=name, form="philly", pieces=[text.encode()], actor_id=None, real_now=now
    )


def asked(trace: Trace | None, **more: Any) -> Asked:
    """Fifo against shortest first on one machine, until 2,000 s, exactly as the jobs came."""
    given: dict[str, Any] = {
        "name": "Shortest first?", "trace_id": trace.pk if trace else None, "nodes": "1x8",
        "until_second": 2000, "draw": Draw.AS_IT_WAS, "rules": FIFO,
        "change": {"kind": "rules", "rules": {"order": "sjf"}},
    }  # fmt: skip
    return Asked(**(given | more))


def a_study(now: datetime, **more: Any) -> Study:
    """Such a study in the queue."""
    trace = a_trace(now)
    return services.ask(asked=asked(trace, **more), actor_id=None, now=now, real_now=now)


class Surroundings:
    """A process's surroundings in a test: time stands, and leaving is noted."""

    def __init__(self, now: datetime) -> None:
        self.left = 0
        self.world = working.World(now=lambda: now, real_now=lambda: now, leave=self._leave)

    def _leave(self) -> None:
        self.left += 1


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    """A file as it comes in."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
