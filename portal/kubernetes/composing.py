"""A wish for a job → the manifest to hand in: Job, RayJob or Deployment, as the mode asks. Pure.

In every mode that writes, a device pod names its pool by node selector and carries one of the
pool's two classes. Where Evenshare decides starts, a job waits suspended and a Deployment's pods
behind our gate; the class of a suspended one is set when it is let in.
"""

from dataclasses import dataclass
from typing import Any

import yaml

from portal.inventory.models import ClusterMode
from portal.kubernetes import manifests
from portal.kubernetes.port import GATE, POOL
from portal.kubernetes.terms import PREFIX

JOB, RAYJOB, DEPLOYMENT = "Job", "RayJob", "Deployment"
KINDS = (JOB, RAYJOB, DEPLOYMENT)
LONGEST_NAME = {JOB: 63, RAYJOB: 47, DEPLOYMENT: 63}
"""Names of pods are made from it: a RayJob's cluster and services need room for more."""
GUARANTEED, BURST = "guaranteed", "burst"
SAVING_GRACE = 30
"""Seconds beyond a save that a pod needs to end."""
PLAIN_GRACE = 30
HEAD_CPU, HEAD_MEMORY_GIB = 2, 8


@dataclass(frozen=True, slots=True)
class Order:
    """A job as somebody fills it in; CPU cores, memory and GPUs are those of one pod."""

    kind: str
    name: str
    namespace: str
    pool: str
    resource: str
    mode: str
    job_class: str
    pods: int
    gpus: int
    cpu: int
    memory_gib: int
    image: str
    command: str
    charge: str = GUARANTEED
    duration_seconds: int | None = None
    save_seconds: int | None = None
    restore_seconds: int | None = None
    reservation_id: int | None = None
    user: str = ""
    runtime_class: str = ""


class _Dumper(yaml.SafeDumper):
    """Writes a text with unusual line ends in double quotes, where they survive as escapes."""


def _quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    plain = value.isprintable() or value.isascii()
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _quoted)


def manifest(order: Order) -> dict[str, Any]:
    """The object to hand in."""
    build = {JOB: _job, RAYJOB: _rayjob, DEPLOYMENT: _deployment}[order.kind]
    return build(order)


def text(order: Order) -> str:
    """The same as YAML."""
    return yaml.dump(
        manifest(order), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


def _metadata(order: Order) -> dict[str, Any]:
    return {
        "name": order.name, "namespace": order.namespace, "annotations": _annotations(order)
    }  # fmt: skip


def _annotations(order: Order) -> dict[str, str]:
    """What we read from an owner; numbers are texts there."""
    said: dict[str, Any] = {
        "class": order.job_class,
        "duration": order.duration_seconds,
        "save-seconds": order.save_seconds,
        "restore-seconds": order.restore_seconds,
        "reservation": f"R-{order.reservation_id}" if order.reservation_id else None,
        "user": order.user or None,
    }
    return {f"{PREFIX}{name}": str(value) for name, value in said.items() if value is not None}


def _waits(order: Order) -> bool:
    """Whether Evenshare decides when it starts."""
    return order.mode == ClusterMode.ADMISSION


def _suspended(order: Order) -> dict[str, Any]:
    return {"suspend": True} if _waits(order) else {}


def _job(order: Order) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": JOB,
        "metadata": _metadata(order),
        "spec": {
            "parallelism": order.pods,
            "completions": order.pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            **_suspended(order),
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    **_place(order, with_class=not _waits(order)),
                    "containers": [_container(order, "main", order.command)],
                }
            },
        },
    }


def _rayjob(order: Order) -> dict[str, Any]:
    head = {
        "name": "ray-head",
        "image": order.image,
        "resources": _amounts({"cpu": str(HEAD_CPU), "memory": f"{HEAD_MEMORY_GIB}Gi"}),
    }
    worker = {
        **_place(order, with_class=not _waits(order)),
        "containers": [_container(order, "ray-worker", "")],
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": RAYJOB,
        "metadata": _metadata(order),
        "spec": {
            "entrypoint": order.command or "python -c 'import ray; ray.init()'",
            "shutdownAfterJobFinishes": True,
            **_suspended(order),
            "rayClusterSpec": {
                "headGroupSpec": {
                    "rayStartParams": {"num-gpus": "0"},
                    "template": {"spec": {"containers": [head]}},
                },
                "workerGroupSpecs": [
                    {
                        "groupName": "gpu",
                        "replicas": order.pods,
                        "minReplicas": order.pods,
                        "maxReplicas": order.pods,
                        "rayStartParams": {"num-gpus": str(order.gpus)},
                        "template": {"spec": worker},
                    }
                ],
            },
        },
    }


def _deployment(order: Order) -> dict[str, Any]:
    labels = {"app": order.name}
    gate: dict[str, Any] = {}
    if _waits(order):
        # Of a pod its isolation never changes, so it must be said from the first.
        gate["schedulingGates"] = [{"name": GATE}]
        if order.runtime_class:
            gate["runtimeClassName"] = order.runtime_class
    return {
        "apiVersion": "apps/v1",
        "kind": DEPLOYMENT,
        "metadata": _metadata(order),
        "spec": {
            "replicas": order.pods,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    **gate,
                    **_place(order, with_class=True),
                    "containers": [_container(order, "main", order.command)],
                },
            },
        },
    }


def _place(order: Order, *, with_class: bool) -> dict[str, Any]:
    """Where and as what a device pod runs; an observed cluster has no labels and classes of ours."""
    grace = PLAIN_GRACE if order.save_seconds is None else order.save_seconds + SAVING_GRACE
    if order.mode == ClusterMode.OBSERVE:
        return {"terminationGracePeriodSeconds": grace}
    found: dict[str, Any] = {"nodeSelector": {POOL: order.pool}}
    if with_class:
        named = manifests.burst_class if order.charge == BURST else manifests.guaranteed_class
        found["priorityClassName"] = named(order.pool)
    return {**found, "terminationGracePeriodSeconds": grace}


def _container(order: Order, name: str, command: str) -> dict[str, Any]:
    amounts = {
        "cpu": str(order.cpu),
        "memory": f"{order.memory_gib}Gi",
        order.resource: str(order.gpus),
    }
    said = {"command": ["sh", "-c", command]} if command else {}
    return {"name": name, "image": order.image, **said, "resources": _amounts(amounts)}


def _amounts(amounts: dict[str, str]) -> dict[str, Any]:
    """Request and limit alike, as devices demand."""
    return {"requests": dict(amounts), "limits": dict(amounts)}
