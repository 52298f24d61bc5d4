"""`manage.py collect`: read every cluster, or one, once, and exit."""

from django.conf import settings

from portal.common import clock, leases
from portal.inventory.models import Cluster
from portal.inventory.serving import ClusterCommand
from portal.kubernetes import services
from portal.kubernetes.port import ClusterError


class Command(ClusterCommand):
    """Prints what was seen."""

    help = "Read every cluster once and exit; with --dry-run only say what there is."

    def serve(self, row: Cluster) -> str:
        """Bring the rows in step with the cluster, under its lease."""
        with leases.holding(name=f"collect-{row.pk}", seconds=settings.LEASE_SECONDS) as lease:
            if lease is None and services.is_watched(row.pk):
                self.stdout.write(f"{row.name}: a watcher keeps its rows in step")
                return ""
            if lease is None:
                return "somebody else reads it now"
            found = services.collect(cluster_id=row.pk, now=clock.now(), lease=lease)
        if found.error:
            return found.error
        seen = found.observed
        if seen is not None:
            self.stdout.write(
                f"{row.name}: {seen.new} new, {seen.changed} changed, {seen.same} as they were, "
                f"{seen.forgotten} gone; {found.ledger_rows} lines in the ledger"
            )
        return ""

    def rehearse(self, row: Cluster) -> str:
        """Read, count, and write nothing."""
        try:
            found = services.look(cluster_id=row.pk, now=clock.now())
        except ClusterError as error:
            return str(error)
        for pool, gpus in found.pools.items():
            self.stdout.write(f"{row.name}: pool {pool}: {gpus} devices")
        for node in found.unplaced:
            self.stdout.write(f"{row.name}: node {node}: its pool is not known here")
        self.stdout.write(f"{row.name}: {found.workloads} jobs, {found.pods} pods with devices")
        return ""
