"""Where a storm takes place: a real control plane where there is one, else the fake API server."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from portal.kubernetes.client import connect
from portal.kubernetes.places import PLACES
from tests.api_server import controllers
from tests.api_server.controllers import at
from tests.api_server.serving import ApiServer
from tests.cluster import kubelet
from tests.cluster.kit import Kit
from tests.cluster.server import Server, assets

GPU = "nvidia.com/gpu"
GPUS = 8
POOL = "h100"
PATIENCE_SECONDS = 600.0
Manifest = dict[str, Any]


def a_job(namespace: str, name: str) -> Manifest:
    """One device within the guarantee, for as long as nobody ends it."""
    limits = {"limits": {GPU: "1"}}
    spec = {
        "nodeSelector": {"evenshare.io/pool": POOL}, "restartPolicy": "Never",
        "priorityClassName": f"evenshare-guaranteed-{POOL}",
        "containers": [{"name": "main", "image": "work", "resources": limits}],
    }  # fmt: skip
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": 1, "completions": 1, "template": {"spec": spec}},
    }  # fmt: skip


def active(pods: Iterable[Manifest]) -> Counter[str]:
    """How many pods hold or ask for a device in each namespace."""
    return Counter(
        pod["metadata"]["namespace"]
        for pod in pods
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        and not pod["metadata"].get("deletionTimestamp")
    )


class Ground(Protocol):
    """A cluster that can be made, looked at, and killed."""

    kubeconfig: Path

    def fill(self, namespaces: Sequence[str], nodes: int) -> None:
        """Make machines and namespaces."""
        ...

    def submit(self, jobs: Sequence[tuple[str, str]]) -> None:
        """Hand in jobs, each by namespace and name."""
        ...

    def all(self, kind: str) -> list[Manifest]:
        """Every object of a kind."""
        ...

    def follow(self) -> None:
        """Let what follows from what is there happen."""
        ...

    def kill(self) -> None:
        """The API server dies."""
        ...

    def revive(self) -> None:
        """It is back on the same objects."""
        ...

    def vain(self) -> int | None:
        """How many writes changed nothing; None where the server does not tell."""
        ...

    def close(self) -> None:
        """The end of it."""
        ...


@dataclass
class Fake:
    """The fake API server."""

    home: Path
    server: ApiServer = field(default_factory=lambda: ApiServer(bookmark_seconds=0.5))

    def __post_init__(self) -> None:
        self.server.start()
        self.kubeconfig = self.server.kubeconfig(self.home)

    def fill(self, namespaces: Sequence[str], nodes: int) -> None:
        """Make machines and namespaces."""
        for number in range(nodes):
            controllers.add_node(self.server.store, f"node-{number}", {GPU: GPUS}, POOL)
        for name in namespaces:
            controllers.add_namespace(self.server.store, name)

    def submit(self, jobs: Sequence[tuple[str, str]]) -> None:
        """Hand in jobs."""
        for namespace, name in jobs:
            self.server.store.create(at("Job", name, namespace), a_job(namespace, name))

    def all(self, kind: str) -> list[Manifest]:
        """Every object of a kind."""
        return self.server.store.all(kind)

    def follow(self) -> None:
        """Controllers, scheduler and kubelets do what there is to do."""
        controllers.settle(self.server.store)

    def kill(self) -> None:
        """Every connection breaks."""
        self.server.stop()

    def revive(self) -> None:
        """On the same port."""
        self.server.start()

    def vain(self) -> int | None:
        """The store counts them."""
        return len(self.server.store.vain)

    def close(self) -> None:
        """The end of it."""
        self.server.stop()


@dataclass
class Real:
    """etcd, API server, scheduler and controllers; no kubelet, so bound pods stay as they are."""

    home: Path
    binaries: Path

    def __post_init__(self) -> None:
        brisk = ("--kube-api-qps", "300", "--kube-api-burst", "600")
        self._server = Server(self.home / "server", self.binaries, more=brisk)
        self._server.start()
        self.kit = Kit(self._server.kubeconfig, self.home)
        self.kubeconfig = self._server.kubeconfig

    def fill(self, namespaces: Sequence[str], nodes: int) -> None:
        """Make machines and namespaces."""
        labels = {"evenshare.io/pool": POOL}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: kubelet.add_node(self.kit, f"node-{n}", {GPU: GPUS}, labels),
                          range(nodes)))  # fmt: skip
            spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                      for name in namespaces]  # fmt: skip
            list(pool.map(self.kit.create, spaces))

    def submit(self, jobs: Sequence[tuple[str, str]]) -> None:
        """Hand in jobs."""
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda job: self.kit.create(a_job(*job)), jobs))

    def all(self, kind: str) -> list[Manifest]:
        """Every object of a kind, page by page."""
        found: list[Manifest] = []
        token = ""
        while True:
            query = [("limit", "500"), *([("continue", token)] if token else [])]
            page = self.kit.admin.ask("GET", PLACES[kind].path(), query)
            found += [{**item, "kind": kind} for item in page["items"] or []]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def follow(self) -> None:
        """Its own controllers are at work."""
        time.sleep(0.5)

    def kill(self) -> None:
        """SIGKILL."""
        self._server.kill("kube-apiserver")

    def revive(self) -> None:
        """On the same port and store."""
        self._server.start_api()
        self.kit.admin = connect({"kubeconfig": str(self.kubeconfig)})

    def vain(self) -> int | None:
        """It does not tell; what was told of every write must do."""
        return None

    def close(self) -> None:
        """The end of it."""
        self._server.stop()


def a_ground(home: Path, *, real: bool) -> Ground:
    """A new one; a real one where that is asked for and there is one."""
    home.mkdir()
    binaries = assets() if real else None
    whole = ("kube-scheduler", "kube-controller-manager")
    if binaries and all((binaries / name).exists() for name in whole):
        return Real(home, binaries)
    return Fake(home)


@dataclass
class Guard:
    """Looks all the time whether more was let in than any policy so far approved."""

    ground: Ground
    approved: Callable[[], dict[str, int]]
    team_of: dict[str, str]
    looks: int = 0
    wrong: list[str] = field(default_factory=list)
    _most: Counter[str] = field(default_factory=Counter)
    _stop: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """One look; what is granted is read before what is there, since it only takes effect after."""
        approved = self.approved()
        granted: Counter[str] = Counter()
        for quota in self.ground.all("ResourceQuota"):
            name, space = quota["metadata"]["name"], quota["metadata"]["namespace"]
            hard = int(quota["spec"]["hard"].get(f"requests.{GPU}", 0))
            if name == f"evenshare-guaranteed-{POOL}":
                granted[self.team_of[space]] += hard
                self._most[space] = max(self._most[space], hard)
        for team, gpus in granted.items():
            if gpus > approved[team]:
                self.wrong.append(f"{team} is granted {gpus} of {approved[team]}")
        self.looks += 1

    def at_last(self) -> None:
        """No namespace ever let in more than a quota that was seen said."""
        for space, count in active(self.ground.all("Pod")).items():
            if count > self._most[space]:
                self.wrong.append(
                    f"{space} has {count} pods, and never more than {self._most[space]}"
                )
