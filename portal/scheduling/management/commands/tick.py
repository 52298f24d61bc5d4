"""`manage.py tick`: decide once for every cluster, or one, and exit."""

from django.conf import settings

from portal.common import clock, leases
from portal.inventory.models import Cluster
from portal.inventory.serving import ClusterCommand
from portal.scheduling import rehearsing, services
from portal.scheduling.models import TickState


class Command(ClusterCommand):
    """Prints what was decided; a cluster whose state is too old is one that was not served."""

    help = "Run one tick of every cluster and exit; with --dry-run only say what it would decide."

    def serve(self, row: Cluster) -> str:
        """Run a tick under the cluster's lease."""
        with leases.holding(name=f"tick-{row.pk}", seconds=settings.LEASE_SECONDS) as lease:
            if lease is None:
                return "somebody else runs a tick of it now"
            try:
                tick = services.run_tick(cluster_id=row.pk, now=clock.now(), lease=lease)
            except Exception as error:  # noqa: BLE001 -- the next cluster still gets its tick
                return f"{type(error).__name__}: {error}"
        if tick.state != TickState.DONE:
            return tick.message
        self.stdout.write(
            f"{row.name}: {tick.starts} start, {tick.preemptions} make room, "
            f"{tick.running} run, {tick.waiting} wait"
        )
        return ""

    def rehearse(self, row: Cluster) -> str:
        """Decide on what is known now, and write nothing; on what is too old, as a tick, nothing."""
        late = services.too_old(row, clock.real_now())
        if late:
            return late
        for line in rehearsing.rehearse(cluster_id=row.pk, now=clock.now()):
            self.stdout.write(f"{row.name}: {line}")
        return ""
