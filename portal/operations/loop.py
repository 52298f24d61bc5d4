"""The live loop of an embedded installation: each round serves every cluster, then the slow chores."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.common import clock
from portal.finance import services as finance
from portal.operations import cycle, tenants
from portal.requests import services as requests

CHORES_EVERY = timedelta(seconds=60)


@dataclass(slots=True)
class Loop:
    """One round at a time; remembers only when the chores were last done."""

    simulated: bool
    chores_at: datetime | None = None

    def round(self) -> None:
        """Serve every cluster once, at the organisation's time."""
        now = clock.now()
        cycle.turn_all(now=now)
        if self.simulated:
            tenants.use_open_reservations(now=now)
        self._chores(now)

    def _chores(self, now: datetime) -> None:
        real = clock.real_now()
        if self.chores_at is not None and real - self.chores_at < CHORES_EVERY:
            return
        self.chores_at = real
        requests.expire_due(now=now)
        finance.compute_month(month_start=now, now=now)
