"""Which port stands for which cluster. A simulated one is brought up to the asked instant."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from portal.inventory.models import Cluster, ClusterKind, ClusterMode
from portal.kubernetes.port import ClusterPort, Unreachable
from portal.kubernetes.simulated.cluster import SimulatedCluster

_open: dict[Path, tuple[tuple[int, int], SimulatedCluster]] = {}


def simulated_file(cluster: Cluster) -> Path:
    """Where a simulated cluster keeps itself: a file beside the portal's own data."""
    return Path(settings.VAR_DIR) / str(cluster.settings.get("file", f"{cluster.name}.cluster"))


def open_simulated(path: Path) -> SimulatedCluster:
    """The cluster of a file, kept open in this process for as long as it is the same file."""
    try:
        mark = (os.getpid(), path.stat().st_ino)
    except FileNotFoundError as error:
        raise Unreachable(
            _("There is no simulated cluster at %(path)s.") % {"path": path}
        ) from error
    kept = _open.get(path)
    if kept is not None and kept[0] == mark:
        return kept[1]
    forget(path)
    _open[path] = (mark, SimulatedCluster(path))
    return _open[path][1]


def forget(path: Path) -> None:
    """Close the cluster of a file in this process, if it is open."""
    kept = _open.pop(path, None)
    # What a parent process opened is the parent's to close.
    if kept is not None and kept[0][0] == os.getpid():
        kept[1].close()


def _simulated(cluster: Cluster, now: datetime) -> ClusterPort:
    port = open_simulated(simulated_file(cluster))
    port.advance(now, admits=cluster.mode == ClusterMode.ADMISSION)
    return port


def _kubernetes(cluster: Cluster, _now: datetime) -> ClusterPort:
    # The library takes 50 MB: only a process that talks to a real cluster loads it.
    from portal.kubernetes import client, real

    return real.KubernetesCluster(client.connect(cluster.settings))


OPENERS: dict[str, Callable[[Cluster, datetime], ClusterPort]] = {
    ClusterKind.SIMULATED: _simulated,
    ClusterKind.KUBERNETES: _kubernetes,
}


def port_for(cluster: Cluster, *, now: datetime) -> ClusterPort:
    """The port of a cluster. Raises `Unreachable`."""
    opener = OPENERS.get(cluster.kind)
    if opener is None:
        raise Unreachable(
            _("This portal has no way to clusters of the kind %(kind)s.") % {"kind": cluster.kind}
        )
    return opener(cluster, now)
