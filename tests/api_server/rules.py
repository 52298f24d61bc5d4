"""What a server defaults and refuses of the kinds we touch, as the recordings have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from portal.kubernetes.pods import ENDED, requests
from portal.kubernetes.port import POOL, TEAM
from portal.kubernetes.quantities import amount
from tests.api_server import refusals
from tests.api_server.places import Target

if TYPE_CHECKING:
    from tests.api_server.store import Store

Manifest = Mapping[str, Any]
MOST_PRIORITY = 10**9
DEFAULT_GRACE = 30


def default(target: Target, body: dict[str, Any]) -> None:
    """Fill in what is left out."""
    if target.kind == "Pod":
        _default_pod(body)
        body.setdefault("status", {}).setdefault("phase", "Pending")
    elif target.kind == "Job":
        spec = body.setdefault("spec", {})
        spec.setdefault("suspend", False)
        spec.setdefault("parallelism", 1)
        spec.setdefault("completions", spec["parallelism"])
    elif target.kind == "PriorityClass":
        body.setdefault("preemptionPolicy", "PreemptLowerPriority")
        body.setdefault("value", 0)
    elif target.kind == "Namespace":
        labels = body.setdefault("metadata", {}).setdefault("labels", {})
        labels.setdefault("kubernetes.io/metadata.name", target.name)


def _default_pod(body: dict[str, Any]) -> None:
    body["spec"].setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE)
    body["spec"].setdefault("schedulerName", "default-scheduler")
    for container in body["spec"].get("containers", []):
        resources = container.setdefault("resources", {})
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def grace(item: Manifest) -> int:
    """How long an object may take to go."""
    if item["kind"] != "Pod":
        return 0
    return int(item["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE))


def check_new(store: Store, target: Target, body: Manifest) -> None:
    """Refuse what may not be."""
    match target.kind:
        case "ResourceQuota":
            _check_quota(target, body)
        case "PriorityClass":
            _check_class(target, body)
        case "Pod":
            _check_devices(target, body)
            _check_policy(store, target, body)
            _check_priority(store, target, body)
            _check_quotas(store, target, body)
        case _:
            """Everything else may be."""


def check_change(target: Target, before: Manifest, after: Manifest) -> None:
    """Refuse what may not become."""
    match target.kind:
        case "ResourceQuota":
            _check_quota(target, after)
        case "PriorityClass":
            for name, said in (
                ("value", "Forbidden: may not be changed in an update."),
                ("preemptionPolicy", 'Invalid value: "{}": field is immutable'),
            ):
                if before.get(name) != after.get(name):
                    raise refusals.invalid(target, f"{name}: {said.format(after.get(name))}")
        case "Job":
            was, now = before["spec"], after["spec"]
            if was.get("template") != now.get("template") and not was.get("suspend"):
                raise refusals.invalid(target, "spec.template: Invalid value: field is immutable")
        case _:
            """Everything else may become anything."""


def _check_quota(target: Target, body: Manifest) -> None:
    for name, value in body.get("spec", {}).get("hard", {}).items():
        if str(value).startswith("-"):
            raise refusals.invalid(
                target, f'spec.hard[{name}]: Invalid value: "{value}": must be greater than or '
                "equal to 0",
            )  # fmt: skip


def _check_class(target: Target, body: Manifest) -> None:
    if target.name.startswith("system-"):
        raise refusals.invalid(
            target, "metadata.name: Forbidden: priority class names with 'system-' prefix are "
            "reserved for system use only.",
        )  # fmt: skip
    if int(body["value"]) > MOST_PRIORITY:
        raise refusals.invalid(
            target, f"value: Forbidden: maximum allowed value of a user defined priority is "
            f"{MOST_PRIORITY}",
        )  # fmt: skip


def _check_devices(target: Target, body: Manifest) -> None:
    for number, container in enumerate(body["spec"].get("containers", [])):
        limits = container["resources"].get("limits", {})
        asked = container["resources"].get("requests", {})
        where = f"spec.containers[{number}].resources"
        for name in (n for n in limits | asked if "/" in n):
            if amount(asked.get(name, 0)).denominator != 1:
                raise refusals.invalid(
                    target, f'[{where}.limits[{name}]: Invalid value: "{asked[name]}": must be an '
                    "integer]",
                )  # fmt: skip
            if asked.get(name) != limits.get(name):
                raise refusals.invalid(
                    target, f'{where}.requests: Invalid value: "{asked.get(name)}": must be equal '
                    f"to {name} limit of {limits.get(name)}",
                )  # fmt: skip


def _check_policy(store: Store, target: Target, body: Manifest) -> None:
    """The gist of our policies, once they are installed."""
    policies = store.all("ValidatingAdmissionPolicy")
    if not (policies and demand(body)):
        return
    name = policies[0]["metadata"]["name"]
    namespace = store.find("Namespace", "", target.namespace)
    labels = namespace.item["metadata"].get("labels", {}) if namespace else {}
    pool = body["spec"].get("nodeSelector", {}).get(POOL, "")
    ours = (f"evenshare-guaranteed-{pool}", f"evenshare-burst-{pool}")
    said = ""
    if not pool or body["spec"].get("priorityClassName") not in ours:
        said = "a GPU pod names its pool (node selector) and carries one of that pool's classes"
    if TEAM not in labels:
        said = "GPU pods run only in namespaces of a team"
    if said:
        raise refusals.Refused(
            422, f"pods \"{target.name}\" is forbidden: ValidatingAdmissionPolicy '{name}' with "
            f"binding '{name}' denied request: {said}",
        )  # fmt: skip


def _check_priority(store: Store, target: Target, body: Manifest) -> None:
    name = body["spec"].get("priorityClassName", "")
    if name and store.find("PriorityClass", "", name) is None:
        raise refusals.forbidden(target, f"no PriorityClass with name {name} was found")


def _check_quotas(store: Store, target: Target, body: Manifest) -> None:
    asked = demand(body)
    for quota in store.all("ResourceQuota", target.namespace):
        if not covers(quota, body):
            continue
        hard, used = quota["spec"].get("hard", {}), usage(store, quota)
        for name, value in asked.items():
            if name in hard and used.get(name, 0) + value > amount(hard[name]):
                raise refusals.forbidden(
                    target, f"exceeded quota: {quota['metadata']['name']}, requested: "
                    f"{name}={value}, used: {name}={used.get(name, 0)}, limited: "
                    f"{name}={hard[name]}",
                )  # fmt: skip


def demand(pod: Manifest) -> dict[str, int]:
    """What a quota counts of a pod."""
    return {
        f"requests.{name}": int(amount(value))
        for name, value in requests(pod["spec"]).items()
        if "/" in name
    }


def covers(quota: Manifest, pod: Manifest) -> bool:
    """Whether a quota is about a pod of this priority class."""
    selector = quota["spec"].get("scopeSelector", {}).get("matchExpressions", [])
    name = pod["spec"].get("priorityClassName", "")
    return all(
        name in one.get("values", []) if one.get("operator") == "In" else bool(name)
        for one in selector
        if one.get("scopeName") == "PriorityClass"
    )


def counted(store: Store, quota: Manifest) -> Iterator[Manifest]:
    """The pods a quota counts now."""
    for pod in store.all("Pod", quota["metadata"]["namespace"]):
        if covers(quota, pod) and pod.get("status", {}).get("phase") not in ENDED:
            yield pod


def usage(store: Store, quota: Manifest) -> dict[str, int]:
    """What is used of a quota."""
    total: dict[str, int] = {}
    for pod in counted(store, quota):
        for name, value in demand(pod).items():
            total[name] = total.get(name, 0) + value
    return total
