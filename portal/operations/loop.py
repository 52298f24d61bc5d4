"""The live loop of an embedded installation: the periodic table that workers run, in one process.

Without a broker a task asked for runs at once, so a round is: everything that is due, in the
table's order. What fails is logged and due again at its next time.
"""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from celery import current_app

from portal.common import clock
from portal.operations import tenants

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Loop:
    """Remembers when each entry of the table ran last; `simulated` brings the cluster's people."""

    simulated: bool
    ran_at: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know every room's tasks and the table, as a worker does when it starts."""
        current_app.loader.import_default_modules()
        current_app.finalize()

    def round(self) -> None:
        """Run what is due; reservations that opened are then put to use."""
        for name, entry in current_app.conf.beat_schedule.items():
            self._run_if_due(name, entry)
        if self.simulated:
            tenants.use_open_reservations(now=clock.now())

    def _run_if_due(self, name: str, entry: dict[str, Any]) -> None:
        last, seconds = self.ran_at.get(name), float(entry["schedule"])
        # Half a second early is on time: a round never falls on the instant.
        if last is not None and time.monotonic() - last < seconds - 0.5:
            return
        self.ran_at[name] = time.monotonic()
        try:
            current_app.tasks[entry["task"]].apply(kwargs=entry.get("kwargs"), throw=True)
        except Exception:
            log.exception("%s failed; it is tried again in %s s", name, seconds)
