"""Two teams on two machines, in a mode that stops and starts jobs; each turn sees, decides, writes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from portal.inventory.models import ClusterMode, Pool
from portal.kubernetes.models import Ask
from portal.operations import cycle
from portal.quotas import services as quotas
from portal.workloads.models import Workload
from tests.cluster import kubelet
from tests.cluster.admitting import GATE
from tests.cluster.kit import Manifest, wait_for
from tests.cluster.worlds import H100, NVIDIA, Team, World, device_pod, job


class Lab:
    """Two machines of eight H100s; vision and speech are promised eight each."""

    def __init__(self, world: World, mode: ClusterMode = ClusterMode.ADMISSION) -> None:
        self.world, self.kit = world, world.kit
        self.ahead = timedelta(0)
        self.vision, self.speech = world.team("vision"), world.team("speech")
        for name in ("h100-a", "h100-b"):
            kubelet.add_node(world.kit, name, {NVIDIA: 8}, H100)
        self.cluster = world.add(mode)
        for team in (self.vision, self.speech):
            self.promise(team, 8)
        self.turn()

    def promise(self, team: Team, gpus: int) -> None:
        """Promise a team so many H100s from now on."""
        quotas.change(
            team_id=team.row.pk, pool_id=Pool.objects.get(name="h100").pk, guaranteed=gpus,
            limit=None, valid_from=self.now, now=self.now, actor_id=None,
        )  # fmt: skip

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def turn(self) -> None:
        """Look, decide and write."""
        assert cycle.turn(cluster_id=self.cluster.pk, now=self.now) == ""

    def until(self, look: Any, what: str) -> Any:
        """Turn until something is so."""

        def turned() -> Any:
            self.turn()
            return look()

        return wait_for(turned, what)

    def submit(self, team: Team, name: str, gpus: int, tasks: int = 1, **more: Any) -> Manifest:
        """A suspended Job that names neither pool nor class, as the tenant."""
        annotations = more.pop("annotations", {})
        asked = job(team.namespace, name, tasks, suspend=True, devices={NVIDIA: gpus}, **more)
        spec = asked["spec"]["template"]["spec"]
        del spec["priorityClassName"], spec["nodeSelector"]
        asked["metadata"]["annotations"] = annotations
        return self.kit.create(asked, self.world.tenant)

    def job(self, team: Team, name: str) -> Manifest:
        return self.kit.get("Job", name, team.namespace)

    def pods(self, team: Team, name: str) -> list[Manifest]:
        """The pods of a job by its name's beginning."""
        found = self.kit.find("Pod", team.namespace)
        return [pod for pod in found if pod["metadata"]["name"].startswith(name)]

    def runs(self, team: Team, name: str, count: int = 1) -> list[Manifest]:
        """Wait for a job's pods, bound by the scheduler, and let them run."""
        wait_for(lambda: len(self.pods(team, name)) == count, f"the pods of {name}")
        for pod in self.pods(team, name):
            kubelet.run(self.kit, team.namespace, pod["metadata"]["name"])
        # The cluster tells whole seconds: what starts later must start in a later one.
        begun = self.now.replace(microsecond=0)
        wait_for(lambda: self.now.replace(microsecond=0) > begun, "the next second")
        return self.pods(team, name)

    def gone(self, team: Team, pod: Manifest) -> None:
        """The kubelet has ended a pod that was told to go."""
        assert (
            "deletionTimestamp"
            in self.kit.get("Pod", pod["metadata"]["name"], team.namespace)["metadata"]
        )
        self.kit.delete("Pod", pod["metadata"]["name"], team.namespace)

    def row(self, name: str) -> Workload:
        return Workload.objects.get(name=name)

    def submit_service(self, team: Team, name: str, gpus: int, replicas: int) -> Manifest:
        """A Deployment whose pods wait by the gate, as the tenant."""
        labels = {"app": name}
        pod = device_pod(team.namespace, "x", devices={NVIDIA: gpus}, schedulingGates=[GATE])
        spec = {**pod["spec"], "restartPolicy": "Always"}
        body = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        }
        metadata = {"name": name, "namespace": team.namespace}
        made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}
        return self.kit.create(made, self.world.tenant)

    def gated(self, team: Team, name: str) -> list[Manifest]:
        """The pods of a job that wait by the gate."""
        return [pod for pod in self.pods(team, name) if pod["spec"].get("schedulingGates")]

    def asked(self, name: str) -> Mapping[str, str]:
        """What was asked of a cluster for a job, newest answer by verb."""
        rows = Ask.objects.filter(workload__name=name).order_by("id")
        return dict(rows.values_list("verb", "answer"))
