"""What is asked of a cluster for one job: each ask is a row with its answer, under the lease.

A rehearsal asks nothing and writes nothing. Either way `lines` are what changes, field by field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import F

from portal.common import leases
from portal.kubernetes.admitting import shaping
from portal.kubernetes.diff import Change
from portal.kubernetes.models import Ask, Verb
from portal.kubernetes.port import (
    MANAGER,
    ClusterError,
    ClusterPort,
    Manifest,
    NotFound,
    TooMany,
    Unreachable,
)
from portal.workloads.models import Workload

BUDGET = "disruption budget"
"""In what a server says when a budget forbids an eviction; other 429s mean it is busy."""
KINDS = frozenset({"", "Pod"})
"""Owners that are their own pods: a bare pod, and pods whose owner is gone."""


@dataclass(frozen=True, slots=True)
class Line:
    """One field of one object: what it was and what it becomes."""

    kind: str
    namespace: str
    name: str
    field: str
    was: object
    now: object


@dataclass(slots=True)
class Asker:
    """The way to one cluster for one tick, for as long as the lease holds.

    Unless it `admits` jobs start by themselves there, where the cluster places them.
    """

    port: ClusterPort
    tick_id: int
    fence: int
    now: datetime
    lease: leases.Held | None = None
    rehearses: bool = False
    admits: bool = True
    lines: list[Line] = field(default_factory=list)
    _classes: Mapping[str, Manifest] | None = None

    def classes(self) -> Mapping[str, Manifest]:
        """The priority classes there are, by name; read once."""
        if self._classes is None:
            found = self.port.priority_classes().items
            self._classes = {item["metadata"]["name"]: item for item in found}
        return self._classes

    def find(self, kind: str, namespace: str, name: str, uid: str) -> Manifest | None:
        """An object as it is now; None when it is gone or another took its name."""
        try:
            found = self.port.get(kind, namespace, name)
        except NotFound:
            return None
        return found if found["metadata"]["uid"] == uid else None

    def owner(self, workload: Workload) -> Manifest | None:
        """A job's object as it is now; None when it is gone, or the job is bare pods."""
        if workload.owner_kind in KINDS:
            return None
        return self.find(workload.owner_kind, workload.namespace, workload.name, workload.uid)

    def change(
        self, workload: Workload, verb: Verb, before: Manifest, after: Mapping[str, Any]
    ) -> str:
        """Make an object so; the cluster's refusal in its words, empty when it is done."""
        metadata, kind = before["metadata"], str(before["kind"])
        key = (kind, str(metadata.get("namespace", "")), str(metadata["name"]))
        body = shaping.patch(before, after, fence=self.fence)

        def send() -> None:
            self.port.patch(*key, body, manager=MANAGER)

        return self._ask(workload, verb, key, shaping.changes(before, after), send)

    def evict(self, workload: Workload, name: str, uid: str, grace_seconds: int | None) -> str:
        """Ask a pod to go; empty when it goes, else why not: a disruption budget for one."""
        key = ("Pod", workload.namespace, name)

        def send() -> None:
            self.port.evict(workload.namespace, name, uid=uid, grace_seconds=grace_seconds)

        return self._ask(
            workload, Verb.EVICT, key, [Change("metadata.deletionTimestamp", None, "now")], send
        )

    def delete(self, workload: Workload, name: str, uid: str, grace_seconds: int) -> str:
        """Delete a pod with so much grace; empty when the cluster took it."""
        key = ("Pod", workload.namespace, name)
        field_name = "metadata.deletionGracePeriodSeconds"

        def send() -> None:
            self.port.delete(*key, uid=uid, grace_seconds=grace_seconds)

        return self._ask(
            workload, Verb.DELETE, key, [Change(field_name, None, grace_seconds)], send
        )

    def note(self, workload: Workload, verb: Verb, answer: str) -> None:
        """Keep why a job was not asked for."""
        if not self.rehearses:
            key = (workload.owner_kind or "Pod", workload.namespace, workload.name)
            self._record(workload, verb, key, [], answer)

    def _ask(
        self,
        workload: Workload,
        verb: Verb,
        key: tuple[str, str, str],
        changes: list[Change],
        send: Any,
    ) -> str:
        lines = [Line(*key, one.field, one.was, one.now) for one in changes]
        if self.rehearses:
            self.lines += lines
            return ""
        if self.lease is not None:
            leases.keep(self.lease)
        answer = ""
        try:
            send()
        except Unreachable:
            raise
        except TooMany as error:
            if BUDGET not in str(error):
                raise
            answer = str(error)
        except ClusterError as error:
            answer = str(error)
        self.lines += [] if answer else lines
        self._record(workload, verb, key, [[c.field, c.was, c.now] for c in changes], answer)
        return answer

    def _record(
        self,
        workload: Workload,
        verb: Verb,
        key: tuple[str, str, str],
        changes: list[list[Any]],
        answer: str,
    ) -> None:
        """A row; what was answered the same the last time is counted there."""
        kind, namespace, name = key
        last = Ask.objects.filter(workload=workload).order_by("-id")
        row = last.filter(verb=verb, kind=kind, name=name).first()
        if row is not None and answer and row.answer == answer:
            Ask.objects.filter(pk=row.pk).update(last_at=self.now, times=F("times") + 1)
            return
        Ask.objects.create(
            workload=workload, tick_id=self.tick_id, verb=verb, kind=kind, namespace=namespace,
            name=name, changes=changes, at=self.now, last_at=self.now, answer=answer,
        )  # fmt: skip
