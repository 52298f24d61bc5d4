"""A request that is no list and no watch → what the store does, and the answer."""

from collections.abc import Callable
from typing import Any

from tests.api_server import refusals
from tests.api_server.faults import Request
from tests.api_server.places import Target
from tests.api_server.store import Manifest, Store

Answer = tuple[int, dict[str, Any]]
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def do(store: Store, request: Request, where: Target, content_type: str) -> Answer:
    """Do as asked. Refused where a server would refuse."""
    if request.method == "PATCH" and content_type == APPLY:
        return _apply(store, request, where)
    verb = _VERBS.get((request.method, where.part))
    if verb is None:
        raise refusals.Refused(405, "the server does not allow this method", reason="NotAllowed")
    return verb(store, request, where)


def _apply(store: Store, request: Request, where: Target) -> Answer:
    body = request.body or {}
    if store.find("Namespace", "", where.namespace) is None and where.namespace:
        raise refusals.Refused(404, f'namespaces "{where.namespace}" not found')
    there = store.find(where.kind, where.namespace, where.name) is not None
    query = request.query
    found = store.apply(
        where, body, query["fieldManager"], force=query.get("force") == "true",
        dry=query.get("dryRun") == "All",
    )  # fmt: skip
    return 200 if there else 201, found


def _get(store: Store, _request: Request, where: Target) -> Answer:
    return 200, store.get(where)


def _create(store: Store, request: Request, where: Target) -> Answer:
    body = request.body or {}
    metadata = body.get("metadata", {})
    name = str(metadata.get("name") or f"{metadata.get('generateName', '')}{store.version}")
    named = Target(where.kind, where.place, where.namespace, name)
    return 201, store.create(named, body, _manager(request))


def _replace(store: Store, request: Request, where: Target) -> Answer:
    return 200, store.replace(where, request.body or {}, _manager(request))


def _merge(store: Store, request: Request, where: Target) -> Answer:
    return 200, store.merge(where, request.body or {}, _manager(request))


def _status(store: Store, request: Request, where: Target) -> Answer:
    return 200, store.set_status(where, (request.body or {}).get("status", {}))


def _delete(store: Store, request: Request, where: Target) -> Answer:
    options = request.body or {}
    uid = str((options.get("preconditions") or {}).get("uid", ""))
    return 200, store.delete(where, uid=uid, grace=options.get("gracePeriodSeconds"))


def _evict(store: Store, request: Request, where: Target) -> Answer:
    """Ask a pod to go; a budget without room says when to come back."""
    pod = store.get(Target("Pod", where.place, where.namespace, where.name))
    if _is_ready(pod):
        for budget in store.all("PodDisruptionBudget", where.namespace):
            if _is_about(budget, pod) and not budget.get("status", {}).get("disruptionsAllowed"):
                raise refusals.Refused(
                    429, "Cannot evict pod as it would violate the pod's disruption budget.",
                    causes=[{"reason": "DisruptionBudget", "message": "The budget needs more."}],
                )  # fmt: skip
    options = (request.body or {}).get("deleteOptions") or {}
    store.delete(where, grace=options.get("gracePeriodSeconds"))
    return 201, dict(DONE)


def _is_ready(pod: Manifest) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _is_about(budget: Manifest, pod: Manifest) -> bool:
    wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
    labels = pod["metadata"].get("labels", {})
    return all(labels.get(name) == value for name, value in wanted.items())


def _manager(request: Request) -> str:
    return request.query.get("fieldManager") or request.agent.partition("/")[0] or "unknown"


_VERBS: dict[tuple[str, str], Callable[[Store, Request, Target], Answer]] = {
    ("GET", ""): _get,
    ("GET", "status"): _get,
    ("POST", ""): _create,
    ("PUT", ""): _replace,
    ("PATCH", ""): _merge,
    ("PATCH", "status"): _status,
    ("DELETE", ""): _delete,
    ("POST", "eviction"): _evict,
}
