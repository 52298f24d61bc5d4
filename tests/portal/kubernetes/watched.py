"""A watcher in a test's hands: turn after turn in the test's own thread, against the fake server."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from portal.common import leases
from portal.common.models import Lease
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind, NamespaceOwner, Pool
from portal.kubernetes import client
from portal.kubernetes.models import ReadMark
from portal.kubernetes.watching.recording import Place
from portal.kubernetes.watching.sight import Sight
from portal.kubernetes.watching.source import Source
from portal.kubernetes.watching.watcher import Watch
from portal.scheduling.models import Share, Tick, TickState
from portal.workloads.models import Workload
from tests import builders
from tests.api_server import controllers
from tests.api_server.controllers import at
from tests.api_server.serving import ApiServer
from tests.api_server.store import Manifest, Store

GPU = "nvidia.com/gpu"
PATIENCE_SECONDS = 20.0
GATHER_SECONDS = 0.02


def a_cluster(server: ApiServer, folder: Path, nodes: int = 2, gpus: int = 8) -> Cluster:
    """The fake with machines of one pool and a team's namespace, known to the portal."""
    for number in range(nodes):
        controllers.add_node(server.store, f"node-{number}", {GPU: gpus}, "a100")
    controllers.add_namespace(server.store, "vision", "vision")
    now = datetime.now(UTC)
    settings = {"kubeconfig": str(server.kubeconfig(folder)), "read_seconds": 2}
    cluster = inventory.register_cluster(
        name="lab", kind=ClusterKind.KUBERNETES, now=now, actor_id=None, settings=settings
    )
    inventory.register_pool(
        cluster_id=cluster.pk, name="a100", gpu_model="A100", position=0, now=now, actor_id=None
    )
    team = builders.a_team("vision")
    inventory.register_namespace(
        cluster_id=cluster.pk, name="vision", team_id=team.pk, now=now, actor_id=None
    )
    return cluster


def decide(cluster: Cluster, guaranteed: int, burst: int, fence: int = 1) -> Tick:
    """A tick that gives every team so many devices: guaranteed, and to borrow."""
    now = datetime.now(UTC)
    tick = Tick.objects.create(
        cluster=cluster, at=now, state=TickState.DONE, fence=fence, started_real_at=now
    )
    pool, milli = Pool.objects.get(cluster=cluster), 1000 * guaranteed
    owners = NamespaceOwner.objects.filter(namespace__cluster=cluster).order_by("team_id")
    for team_id in owners.values_list("team_id", flat=True).distinct():
        Share.objects.create(
            tick=tick, team_id=team_id, pool=pool, guaranteed=milli, reserved=0,
            fair_share=milli + 1000 * burst, allocated=0, borrowed=0, lent=0, available=milli,
            dominant_share=0.0, satisfaction=1.0, guaranteed_gpus=guaranteed, burst_gpus=burst,
        )  # fmt: skip
    return tick


def spec(gpus: int = 1) -> dict[str, Any]:
    """The spec of a pod of so many devices."""
    container = {"name": "main", "image": "work", "resources": {"limits": {GPU: str(gpus)}}}
    return {"nodeSelector": {"evenshare.io/pool": "a100"}, "containers": [container]}


def submit(store: Store, name: str, tasks: int = 1, gpus: int = 1, **more: Any) -> Manifest:
    """A job, handed in now."""
    body = {"spec": {"parallelism": tasks, "template": {"spec": spec(gpus)}, **more}}
    return store.create(at("Job", name, "vision"), body)


def bare(store: Store, name: str, gpus: int = 1, **more: Any) -> Manifest:
    """A pod without an owner."""
    return store.create(at("Pod", name, "vision"), {"spec": {**spec(gpus), **more}})


@dataclass
class Watched:
    """A watch that goes on only while the test lets it."""

    cluster: Cluster
    sight: Sight
    watch: Watch
    latest: Callable[[], int]
    gather_seconds: float = GATHER_SECONDS

    def turn(self, times: int = 1) -> None:
        """Let it work."""
        for _ in range(times):
            self.watch.turn(self.gather_seconds)

    def until(self, true: Callable[[], Any], what: str = "", seconds: float = 0.0) -> Any:
        """Let it work until something is so."""
        end = time.monotonic() + (seconds or PATIENCE_SECONDS)
        while not (found := true()):
            assert time.monotonic() < end, f"waited in vain for {what or true}"
            self.turn()
        return found

    def in_step(self) -> None:
        """Let it work until it has been told all there is and every row is in step."""
        self.until(lambda: self.watch.current, "the rows to be in step")
        version = self.latest()
        self.until(lambda: self._is_told(version), "every line to be told")
        self.until(lambda: not self.sight.store.dirty, "every row to be written")

    def _is_told(self, version: int) -> bool:
        mark = self.sight.mark()
        return bool(mark) and int(mark) >= version

    def kill(self) -> None:
        """End it as SIGKILL would: nothing more is written."""
        self.sight.close()

    def leave(self) -> None:
        """End it as SIGTERM does."""
        self.watch.leave()
        self.sight.close()


def begin(cluster: Cluster, server: ApiServer, **settings: Any) -> Watched:
    """A new watcher, as a process that was just started."""
    return begun(cluster, lambda: server.store.version, **settings)


def begun(cluster: Cluster, latest: Callable[[], int], **settings: Any) -> Watched:
    """The same of any cluster; `latest` gives the version everything must come up to."""
    lease = leases.take(name=f"collect-{cluster.pk}", holder="watch test", seconds=60)
    if lease is None:
        # The one before was killed and its lease has not run out.
        Lease.objects.filter(name=f"collect-{cluster.pk}").update(holder="")
        lease = leases.take(name=f"collect-{cluster.pk}", holder="watch test", seconds=60)
    assert lease is not None
    mark = ReadMark.objects.filter(cluster=cluster).first()
    way = Cluster.objects.get(pk=cluster.pk).settings
    sight = Sight(
        Source(lambda: client.connect(way)), mark.version if mark else "",
        settings.pop("watch_seconds", 300),
    )  # fmt: skip
    watch = Watch(Place(cluster.pk, lease), sight, settings.pop("beat_seconds", 0.1))
    sight.open()
    return Watched(cluster, sight, watch, latest=latest, **settings)


@contextmanager
def watching(cluster: Cluster, server: ApiServer, **settings: Any) -> Iterator[Watched]:
    """A watcher for a while, at first in step."""
    watched = begin(cluster, server, **settings)
    try:
        watched.in_step()
        yield watched
    finally:
        watched.kill()


def states() -> dict[str, str]:
    """Every job's state by name."""
    return dict(Workload.objects.values_list("name", "state"))


def background(act: Callable[[], object]) -> threading.Thread:
    """Something that happens meanwhile."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread
