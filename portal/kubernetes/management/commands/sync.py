"""`manage.py sync`: make every cluster, or one, as its last tick says, once, and exit."""

import json

from django.conf import settings

from portal.common import clock, leases
from portal.inventory.models import Cluster, ClusterMode
from portal.inventory.serving import ClusterCommand
from portal.kubernetes import services
from portal.kubernetes.models import SyncState
from portal.kubernetes.port import ClusterError


class Command(ClusterCommand):
    """Prints kind, name, field, from → to of every field written, or to be written."""

    help = "Write what the last tick decided and exit; with --dry-run only say what that is."

    def serve(self, row: Cluster) -> str:
        """Write under the cluster's lease."""
        with leases.holding(name=f"sync-{row.pk}", seconds=settings.LEASE_SECONDS) as lease:
            if lease is None:
                return "somebody else writes to it now"
            run = services.sync_cluster(cluster_id=row.pk, now=clock.now(), lease=lease)
            carried = services.carry_out(cluster_id=row.pk, now=clock.now(), lease=lease)
        if run is None and not carried.asked:
            quiet = row.mode == ClusterMode.OBSERVE
            says = "observe mode writes nothing" if quiet else "nothing to write"
            self.stdout.write(f"{row.name}: {says}")
        for change in run.changes.all() if run else ():
            self._line(change.kind, change.namespace, change.name, change.field, change.was,
                       change.now)  # fmt: skip
        for line in carried.lines:
            self._line(line.kind, line.namespace, line.name, line.field, line.was, line.now)
        failed = run.message if run and run.state != SyncState.DONE else ""
        return "\n".join(filter(None, [failed, carried.error]))

    def rehearse(self, row: Cluster) -> str:
        """Compare, and write nothing."""
        try:
            difference = services.dry_run(cluster_id=row.pk, now=clock.now())
            lines = services.rehearse(cluster_id=row.pk, now=clock.now())
        except ClusterError as error:
            return str(error)
        for write in difference.writes:
            for change in write.changes:
                self._line(write.kind, write.namespace, write.name, change.field, change.was,
                           change.now)  # fmt: skip
        for drift in difference.drifts:
            of = f" of {drift.manager}" if drift.manager else ""
            self.stdout.write(
                f"{drift.kind} {_named(drift.namespace, drift.name)} {drift.field}: "
                f"{_said(drift.found)}{of}, not {_said(drift.wanted)}"
            )
        for line in lines:
            self._line(line.kind, line.namespace, line.name, line.field, line.was, line.now)
        if not (difference.writes or difference.drifts or lines):
            self.stdout.write(f"{row.name}: nothing to write")
        return ""

    def _line(
        self, kind: str, namespace: str, name: str, field: str, was: object, now: object
    ) -> None:
        self.stdout.write(f"{kind} {_named(namespace, name)} {field}: {_said(was)} → {_said(now)}")


def _named(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _said(value: object) -> str:
    """In one spelling, whichever order a database gives keys back in."""
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return "–" if value is None else str(value)
