"""The port of a simulated cluster, and what only a simulated one has: time, books, new jobs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from portal.kubernetes.port import (
    Gone,
    Listing,
    Manifest,
    NotFound,
    Refused,
    Right,
    StaleVersion,
)
from portal.kubernetes.simulated import (
    clockwork,
    lifecycle,
    objects,
    patching,
    records,
    tenants,
    workshop,
    writing,
)
from portal.kubernetes.simulated.file import File
from portal.kubernetes.simulated.records import Entry, Job, Pod, Spec, Stored
from portal.kubernetes.simulated.workshop import State

KEEP_DELETED_SECONDS = 2 * 86_400
DAY = 86_400


class SimulatedCluster:
    """A cluster in a file, as a `ClusterPort`. Every call is one whole step of the file."""

    def __init__(self, path: Path) -> None:
        self._file = File(path)
        self._kept: dict[str, tuple[int, dict[str, Any]]] = {}

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # -- time, books, jobs ---------------------------------------------------------------------

    @property
    def clock(self) -> datetime:
        """How far the cluster has come."""
        with self._file.reading() as state:
            return datetime.fromtimestamp(state.clock, tz=UTC)

    def advance(self, to: datetime, *, admits: bool | None = None) -> None:
        """Let everything happen up to this instant, whole seconds; an earlier one does nothing.

        `admits` says whether people hand in their jobs for somebody to let them start.
        """
        until = int(to.timestamp())
        with self._file.changing() as state:
            if admits is not None:
                state.admits = admits
            if until <= state.clock:
                return
            if until // DAY > state.clock // DAY:
                self._file.forget(state.clock - KEEP_DELETED_SECONDS)
            clockwork.advance(state, until)

    @contextmanager
    def _acting(self, *, keep: bool = True) -> Iterator[State]:
        """A change from outside, now; what follows from it at once has followed at the end."""
        with self._file.changing(keep=keep) as state:
            yield state
            clockwork.advance(state, state.clock)

    def submit(self, spec: Spec) -> str:
        """Hand in a job now; its uid."""
        with self._acting() as state:
            if spec.pool not in state.nodes_in:
                raise Refused(f"no node belongs to the pool {spec.pool}")
            if ("Namespace", "", spec.namespace) not in state.stored:
                raise NotFound(f'namespaces "{spec.namespace}" not found')
            return tenants.submit(state, spec, state.clock).uid

    def cordon(self, name: str, *, cordoned: bool = True) -> None:
        """Let no new pods onto a node, or let them again."""
        with self._acting() as state:
            node = state.nodes[name]
            node.cordoned = cordoned
            state.stirred.add(node.pool)
            state.touch(node)

    def lose(self, name: str) -> None:
        """A node is lost now, or a lost one comes back."""
        with self._acting() as state:
            lifecycle.change_node(state, state.nodes[name], state.clock)

    def books(self) -> list[Entry]:
        """Who held which devices from when to when, up to the clock; by start."""
        with self._file.reading() as state:
            still = [
                workshop.entry(pod, state.jobs[pod.job], state.clock)
                for pods in state.live.values()
                for pod in pods
                if pod.scheduled_at is not None and pod.scheduled_at < state.clock
            ]
            return sorted([*self._file.entries(), *still], key=lambda e: (e.from_s, e.pod_uid))

    # -- reading -------------------------------------------------------------------------------

    def nodes(self) -> Listing:
        """Return the machines."""
        with self._file.reading() as state:
            return _listing(state, [objects.node(node) for node in state.nodes.values()])

    def namespaces(self) -> Listing:
        """Return the namespaces."""
        return self._stored("Namespace")

    def quotas(self) -> Listing:
        """Return every quota with its status."""
        return self._stored("ResourceQuota")

    def priority_classes(self) -> Listing:
        """Return every priority class."""
        return self._stored("PriorityClass")

    def _stored(self, kind: str) -> Listing:
        with self._file.reading() as state:
            found = [objects.stored(state, s) for k, s in state.stored.items() if k[0] == kind]
            return _listing(state, found)

    def owners(self, *, since: str = "") -> Listing:
        """Return the jobs."""
        with self._file.reading() as state:
            found = [self._job(state, job) for job in state.jobs.values()]
            return _listing(state, found, self._deleted("Job", since))

    def pods(self, *, since: str = "") -> Listing:
        """Return the pods."""
        with self._file.reading() as state:
            found = [self._pod(state, pod) for pod in state.pods.values()]
            return _listing(state, found, self._deleted("Pod", since))

    def events(self) -> Listing:
        """Return the refusals that still stand."""
        with self._file.reading() as state:
            return _listing(state, [objects.refusal(j) for j in state.jobs.values() if j.refusal])

    def policies(self) -> Listing:
        """Return all there should be: its jobs name pool and class by themselves."""
        with self._file.reading() as state:
            return _listing(state, objects.policies())

    def device_classes(self) -> Listing:
        """Return none: its devices are extended resources."""
        return Listing((), "")

    def denied(self, rights: Iterable[Right]) -> list[Right]:
        """Return none: whoever has the file may do anything."""
        return []

    def _job(self, state: State, job: Job) -> dict[str, Any]:
        version, kept = self._kept.get(job.uid, (0, {}))
        if version != job.version:
            kept = objects.job(state, job)
            self._kept[job.uid] = (job.version, kept)
        return kept

    def _pod(self, state: State, pod: Pod) -> dict[str, Any]:
        version, kept = self._kept.get(pod.uid, (0, {}))
        if version != pod.version:
            kept = objects.pod(state, pod, state.jobs[pod.job])
            self._kept[pod.uid] = (pod.version, kept)
        return kept

    def _deleted(self, kind: str, since: str) -> list[dict[str, Any]]:
        if not since:
            return []
        found = self._file.deleted(kind, int(since))
        if found is None:
            raise Gone(f"too old resource version: {since}")
        for manifest in found:
            self._kept.pop(manifest["metadata"]["uid"], None)
        return found

    # -- writing -------------------------------------------------------------------------------

    def apply(
        self,
        manifest: Manifest,
        *,
        manager: str,
        fence: int | None = None,
        resource_version: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        """Make the fields of `manifest` so, as `manager`."""
        with self._acting(keep=not dry_run) as state:
            stored = writing.apply(
                state, manifest, manager=manager, fence=fence,
                resource_version=resource_version, force=force,
            )  # fmt: skip
            return objects.stored(state, stored)

    def get(self, kind: str, namespace: str, name: str) -> Manifest:
        """Return one object."""
        with self._file.reading() as state:
            return self._one(state, writing.find(state, kind, namespace, name))

    def _one(self, state: State, found: Job | Pod | Stored) -> Manifest:
        match found:
            case Job():
                return self._job(state, found)
            case Pod():
                return self._pod(state, found)
            case Stored():
                return objects.stored(state, found)

    def patch(
        self, kind: str, namespace: str, name: str, change: Manifest, *, manager: str,
        dry_run: bool = False,
    ) -> Manifest:  # fmt: skip
        """Suspend a job, let it start, or take a pod's gate away."""
        with self._acting(keep=not dry_run) as state:
            return self._one(state, patching.patch(state, kind, namespace, name, change))

    def delete(
        self, kind: str, namespace: str, name: str, *, uid: str = "",
        grace_seconds: int | None = None,
    ) -> None:  # fmt: skip
        """Delete an object."""
        with self._acting() as state:
            writing.delete(state, kind, namespace, name, uid, seconds=grace_seconds)

    def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Ask a pod to go; its gang goes with it and comes back through its job."""
        with self._acting() as state:
            pod = writing.find(state, "Pod", namespace, name)
            assert isinstance(pod, Pod)
            if uid and pod.uid != uid:
                raise StaleVersion(f'pods "{name}" is not {uid} any more')
            job = state.jobs[pod.job]
            lifecycle.stop(state, job, state.clock, records.EVICTED, seconds=grace_seconds)


def _listing(
    state: State, found: list[dict[str, Any]], deleted: list[dict[str, Any]] | None = None
) -> Listing:
    return Listing(items=tuple(found), version=str(state.version), deleted=tuple(deleted or ()))
