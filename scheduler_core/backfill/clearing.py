"""What a task would find now if some running work were gone, node by node."""

from scheduler_core.backfill.profile import Change, Profile
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.backfill.timeline import Timeline
from scheduler_core.resources import Amount
from scheduler_core.scratch import Devices, Need


class Clearing:
    """How many tasks of a need each node takes from now on, while work is imagined away.

    Neither the state nor the timeline is touched. Only nodes on which something is imagined away
    are looked at again.
    """

    def __init__(
        self, timeline: Timeline, pool: int, need: Need, duration: int, exempt: frozenset[str]
    ) -> None:
        self._timeline = timeline
        self._need = need
        self._exempt = exempt
        self._now = timeline.state.now
        self._end = min(FOREVER, self._now + duration)
        where = timeline.state.nodes.slices[pool]
        self._low = where.start
        self._able = timeline.state.column(pool, need).allowed
        if duration >= FOREVER and timeline.has_kept:
            self._able = self._able & ~timeline.kept[where]
        self.tasks = timeline.tasks_now(pool, need, duration, exempt).copy()
        self.total = int(self.tasks.sum())
        self._imagined: dict[int, Profile] = {}

    def change(self, node: int, end: int | None, sign: int, gpus: Devices, amount: Amount) -> None:
        """Imagine away what would stand on the node until its end; with sign -1, put it back."""
        row = node - self._low
        if not self._able[row]:
            return
        profile = self._imagined.get(node)
        if profile is None:
            profile = self._imagined[node] = self._timeline.profile(node, self._exempt).copy()
        until = FOREVER if end is None else end
        profile.apply([Change(self._now, until, sign, len(gpus), amount, gpus)])
        tasks = profile.tasks(self._need, self._now, self._end)
        self.total += tasks - int(self.tasks[row])
        self.tasks[row] = tasks
