"""Reservations and maintenance on the timeline, and which work a reservation need not fear."""

from scheduler_core.backfill.profile import Change
from scheduler_core.backfill.timeline import Timeline
from scheduler_core.model import PerTask, Reservation
from scheduler_core.resources import DEVICE, NOTHING, Amount, gpus_up
from scheduler_core.scratch import Need, State

_EVERYTHING = 10**12
"""More CPU and memory than a node has."""


def block(state: State, timeline: Timeline) -> None:
    """Take for later what maintenance and reservations need, on nodes chosen here and now."""
    for entry in state.snapshot.maintenance:
        if entry.ends_at > state.now:
            _close(state, timeline, entry.node, max(entry.starts_at, state.now), entry.ends_at)
    for reservation in sorted(
        state.snapshot.reservations, key=lambda entry: (entry.starts_at, entry.id)
    ):
        if reservation.ends_at > state.now:
            _Holding(state, timeline, reservation).hold()


def _close(state: State, timeline: Timeline, name: str, start: int, end: int) -> None:
    node = state.nodes.index[name]
    count = state.nodes.nodes[node].gpus
    gpus = tuple((device, 2 * DEVICE) for device in range(count))
    everything = Amount(0, _EVERYTHING, _EVERYTHING)
    timeline.take(
        node, Change(start, end, -1, 2 * count + 1, everything, gpus), ("maintenance", name)
    )


class _Holding:
    """Chooses the nodes on which one reservation finds its GPUs when it opens.

    In its shape where it has one, tightest node first; else the fullest nodes first, so that whole
    nodes stay free. What cannot be free by then is expected back from those who borrow it.
    """

    def __init__(self, state: State, timeline: Timeline, reservation: Reservation) -> None:
        self._timeline = timeline
        self._entry = reservation
        self._start = max(reservation.starts_at, state.now)
        self._end = reservation.ends_at
        where = state.nodes.slices[state.pool_index[reservation.pool]]
        self._nodes = [
            (bool(node.taints), number, node.gpus)
            for number, node in enumerate(state.nodes.nodes[where], start=where.start)
            if node.schedulable
        ]
        self._left = gpus_up(_unused(state, reservation))
        self._held: dict[int, int] = {}

    def hold(self) -> None:
        """Hold what is free by then; then, of what is not, the nodes that hold most."""
        size = self._entry.gpus_per_node or 1
        need = _devices(size)
        free = sorted(
            (tainted, self._timeline.profile(node).tasks(need, self._start, self._end), node)
            for tainted, node, _ in self._nodes
        )
        for _, blocks, node in free:
            self._hold_on(node, size, blocks)
        for _, node, gpus in self._nodes:
            self._hold_on(node, size, self._not_reserved(node, gpus) // size)
        for node, count in self._held.items():
            self._take(node, count)

    def _hold_on(self, node: int, size: int, blocks: int) -> None:
        count = min(blocks, -(-self._left // size)) * size
        if count > 0:
            self._held[node] = self._held.get(node, 0) + min(count, self._left)
            self._left -= min(count, self._left)

    def _not_reserved(self, node: int, gpus: int) -> int:
        """Return the devices no other reservation holds at that time."""
        reserved = sum(
            take.change.whole
            for take in self._timeline.takes.get(node, ())
            if take.change.start < self._end and self._start < take.change.end
        )
        return max(0, gpus - reserved - self._held.get(node, 0))

    def _take(self, node: int, count: int) -> None:
        profile = self._timeline.profile(node)
        need = _devices(1)
        fits = profile.tasks(need, self._start, self._end) >= count
        gpus = tuple((device, DEVICE) for device in range(count))
        if fits:
            gpus = profile.devices(need, count, self._start, self._end)
        change = Change(self._start, self._end, -1, count, NOTHING, gpus)
        self._timeline.take(node, change, ("reservation", self._entry.id))


def _devices(count: int) -> Need:
    return Need(PerTask(count * DEVICE), (), frozenset(), None)


def _unused(state: State, reservation: Reservation) -> int:
    """Return what of the reservation no running work that names it holds already."""
    used = sum(
        held.gpu_milli
        for held in state.running.values()
        if held.workload.reservation == reservation.id
    )
    return max(0, reservation.gpu_milli - used)


def of_pool(state: State, pool: int) -> list[Reservation]:
    """Return the reservations of a pool that are open or will be."""
    name = state.snapshot.pools[pool].name
    return [
        entry
        for entry in state.snapshot.reservations
        if entry.pool == name and entry.ends_at > state.now
    ]
