"""The loop around a cluster in sight: gather for a moment, write, and say that rows are in step.

A watcher works under the cluster's lease for reading, the one `collect` takes: while it holds it,
nobody lists the cluster as a whole, and when it cannot say that its rows are current it lets the
lease run out, so that `collect` looks again. Nothing it knows outlives it but the rows and the
version up to which they are in step; the next one goes on from there.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError, connection

from portal.common import clock, leases, logs
from portal.kubernetes.models import ReadMark
from portal.kubernetes.port import ClusterError
from portal.kubernetes.reach import Room
from portal.kubernetes.watching import recording, starting, streams
from portal.kubernetes.watching.recording import Place
from portal.kubernetes.watching.sight import Sight
from portal.kubernetes.watching.source import Source
from portal.workloads import selectors as of_workloads

log = logging.getLogger(__name__)

GATHER_SECONDS = 0.4
"""So long changes are gathered before they are written together."""
BATCH, CELLS = 100, 1000
"""Families, and pods whose use is written down, in one transaction: short enough that a change never waits two seconds behind others."""
BEAT_SECONDS = 2.0
RETRY_SECONDS = 1.0
KEEP_SECONDS = 2.0
NO_ROOM = Room(())
GRAVE = (leases.Fenced, OperationalError, InterfaceError)
"""What no object is to blame for."""


@dataclass(slots=True)
class Watcher:
    """Keeps one cluster's rows in step until it is told to stop."""

    cluster_id: int
    open_source: Callable[[], Source]
    stop: threading.Event = field(default_factory=threading.Event)
    watch_seconds: int = streams.WATCH_SECONDS
    gather_seconds: float = GATHER_SECONDS
    beat_seconds: float = BEAT_SECONDS
    lease_seconds: int = 0
    watch: "Watch | None" = None
    chance: Callable[[float, float], float] = random.uniform

    def run(self) -> None:
        """Watch whenever the lease is to be had."""
        while not self.stop.is_set():
            rest = RETRY_SECONDS
            try:
                if not self._once():
                    # Somebody who only lists may fare better; give them a turn.
                    rest = 2.0 * settings.TICK_SECONDS
            except leases.Fenced as fenced:
                log.warning("%s", fenced)
            except DatabaseError as error:
                log.warning("the database does not answer: %s", error)
                connection.close()
            self.stop.wait(rest * self.chance(0.5, 1.5))

    def _once(self) -> bool:
        """Hold the lease, if it is free, for as long as rows can be kept in step."""
        name = f"collect-{self.cluster_id}"
        seconds = self.lease_seconds or settings.LEASE_SECONDS
        holder = starting.HOLDER + leases.myself()
        with leases.holding(name=name, seconds=seconds, holder=holder) as lease:
            if lease is None:
                return True
            with logs.bound_to(cluster=self.cluster_id):
                return self._hold(Place(self.cluster_id, lease))

    def _hold(self, place: Place) -> bool:
        mark = ReadMark.objects.filter(cluster_id=self.cluster_id).first()
        sight = Sight(self.open_source(), mark.version if mark else "", self.watch_seconds)
        self.watch = watch = Watch(place, sight, self.beat_seconds)
        sight.open()
        try:
            while not self.stop.is_set() and watch.is_well():
                watch.turn(self.gather_seconds)
            watch.leave()
        finally:
            sight.close()
        return watch.is_well()


@dataclass(slots=True)
class Watch:
    """One holding of the lease."""

    place: Place
    sight: Sight
    beat_seconds: float
    review: set[str] = field(default_factory=set)
    current: bool = False
    flushes: int = 0
    _well_at: float = field(default_factory=time.monotonic)
    _beat_at: float = 0.0
    _kept_at: float = field(default_factory=time.monotonic)
    _failed: bool = False
    _unsettled: bool = False
    _retry_at: float = 0.0

    def is_well(self) -> bool:
        """Whether this watcher got on lately; else it had better let somebody else look.

        What is known of a cluster that went back in time is of no use: the next one begins anew.
        """
        return (
            not self.sight.went_back and time.monotonic() - self._well_at < self.place.lease.seconds
        )

    def turn(self, gather_seconds: float) -> None:
        """Listen for a moment, write what changed, look at some of the rest, say where we are."""
        heard = self.sight.listen(gather_seconds if self.current else 0.1)
        if not self.sight.is_whole:
            self._keep(got_on=bool(heard))
            self._tell_trouble()
            return
        store = self.sight.store
        if not self.current and not self.flushes:
            self._look_at_everything()
        if (store.dirty or store.nodes_changed) and time.monotonic() >= self._retry_at:
            self._flush()
        self._settle()
        self._review()
        self._keep(got_on=bool(heard) and not self.sight.broken()[0])
        if time.monotonic() - self._beat_at >= self.beat_seconds:
            self._beat()

    def leave(self) -> None:
        """Write what was told, so that the next one has less to ask for."""
        if self.current and self.is_well() and not self.sight.broken()[0]:
            self.sight.drain()
            self._flush()
            if not self.sight.store.dirty:
                self._say_in_step()

    # -- writing -------------------------------------------------------------------------------

    def _look_at_everything(self) -> None:
        """At first every family there is, and every job whose rows say that it is open."""
        store = self.sight.store
        store.dirty |= store.roots() | of_workloads.list_open(self.place.cluster_id)
        store.nodes_changed = True

    def _flush(self) -> None:
        """Bring the rows of all families that changed in step. What fails is done again."""
        self.flushes += 1
        self._write(self.sight.store.take())

    def _write(self, roots: Sequence[str]) -> None:
        store = self.sight.store
        try:
            self.sight.find_missing(roots)
        except ClusterError as error:
            store.dirty |= set(roots)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            log.warning("what a change names cannot be asked for: %s", error)
            return
        if store.nodes_changed:
            store.nodes_changed = False
            self._record_machines()
        done: set[str] = set()
        try:
            for begin in range(0, len(roots), BATCH):
                batch = roots[begin : begin + BATCH]
                self._record(batch)
                done.update(batch)
        except BaseException:
            store.dirty |= set(roots) - done
            raise

    def _record_machines(self) -> None:
        """All machines at once; where one cannot be read, jobs are still followed."""
        try:
            recording.machines(self.place, list(self.sight.store.nodes.values()), clock.now())
        except GRAVE:
            raise
        except Exception:
            log.exception("the rows of nodes stay as they are")

    def _record(self, roots: Sequence[str]) -> None:
        """One transaction's worth of families; one that cannot be read keeps no other waiting."""
        try:
            self._record_together(roots)
        except GRAVE:
            raise
        except Exception:
            if len(roots) == 1:
                log.exception("the rows of %s stay as they are", roots[0])
                return
            for part in (roots[: len(roots) // 2], roots[len(roots) // 2 :]):
                self._record(part)

    def _record_together(self, roots: Sequence[str]) -> None:
        store = self.sight.store
        found = store.families({store.root(root) for root in roots} | set(roots))
        waits = any(not item.get("spec", {}).get("nodeName") for item in found.read.pods.items)
        room = self.sight.room() if waits else NO_ROOM
        recording.families(self.place, found, room, clock.now())
        store.settled(found.roots)
        self._keep(got_on=True)

    def _settle(self) -> None:
        """A part of what the ledger does not have yet: a grid line passes for all pods at once."""
        if self._unsettled and not self.sight.store.dirty:
            self._unsettled = recording.ledger(self.place, clock.now(), CELLS)

    def _review(self) -> None:
        """A part of what is to be looked at again though nothing told us so."""
        if self.review and not self.sight.store.dirty:
            some = sorted(self.review)[:BATCH]
            self.review.difference_update(some)
            self._write(some)

    # -- saying where we are -------------------------------------------------------------------

    def _keep(self, got_on: bool) -> None:
        """Hold the lease on; whoever gets nowhere for long leaves by itself."""
        now = time.monotonic()
        if got_on:
            self._well_at = now
        if now - self._kept_at > KEEP_SECONDS:
            leases.keep(self.place.lease)
            self._kept_at = now

    def _beat(self) -> None:
        """In step: say so, and settle the ledger. Else say what is in the way."""
        self._beat_at = time.monotonic()
        if self._tell_trouble() or self.sight.store.dirty:
            return
        self._say_in_step()
        self._unsettled = True
        self._settle()
        self.current, self._well_at = True, time.monotonic()
        self.review |= self.sight.store.waiting()
        self.review |= of_workloads.list_strayed(self.place.cluster_id, clock.now())

    def _say_in_step(self) -> None:
        recording.in_step(self.place, self.sight.mark(), clock.now(), clock.real_now())
        self._failed = False

    def _tell_trouble(self) -> bool:
        """Whether a stream is broken; what is so for a while stands on the cluster's row."""
        seconds, error = self.sight.broken()
        if not seconds:
            return False
        if seconds > self.beat_seconds and not self._failed:
            log.warning("out of sight for %.0f s: %s", seconds, error)
            recording.out_of_sight(self.place, error)
            self._failed = True
        return True
