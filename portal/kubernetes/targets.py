"""The newest tick's shares → what each namespace of a cluster may hold, in whole devices."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import F, Q, Sum

from portal.inventory.models import NamespaceOwner, Pool
from portal.kubernetes import manifests, placing, pods, quantities, splitting, widths
from portal.kubernetes.manifests import PoolShape, Target
from portal.kubernetes.port import MANAGER, POOL, TEAM, Listing, Manifest
from portal.kubernetes.splitting import Borrowing
from portal.scheduling.models import Share, Tick
from portal.workloads.models import OPEN_STATES, Workload

MILLI = 1000
FREE_CLASSES = "free-device-classes"
NOTHING_LISTED = Listing((), "")
Used = dict[tuple[str, str], int]
"""(namespace, quota or pool) → devices."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is there before a sync."""

    nodes: Listing
    namespaces: Listing
    classes: Listing
    quotas: Listing
    device_classes: Listing = NOTHING_LISTED
    limits: Manifest = field(default_factory=dict)

    @property
    def objects(self) -> list[Manifest]:
        """Everything we may write."""
        return [
            *self.nodes.items, *self.namespaces.items, *self.classes.items, *self.quotas.items
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Team:
    """A team with its namespaces that exist, and its shares by pool name."""

    id: int
    slug: str
    namespaces: tuple[str, ...]
    shares: Mapping[str, Share]


def wanted(*, cluster_id: int, tick: Tick, found: Found, now: datetime) -> list[dict[str, Any]]:
    """Every object quota mode wants in the cluster: classes, labels, quotas."""
    known = Pool.objects.filter(cluster_id=cluster_id).values_list("id", "name", "resource_name")
    pools = [PoolShape(name, resource) for _id, name, resource in known]
    there = {item["metadata"]["name"] for item in found.namespaces.items}
    teams = _teams(cluster_id, tick, there, now)
    resources = device_resources(found.nodes, {pool.resource for pool in pools})
    classes = {item["metadata"]["name"]: item for item in found.classes.items}
    claims = device_classes(found)
    result = [*manifests.priority_classes(pools, classes), *_node_labels(found.nodes, pools)]
    if widths.apply_in(cluster_id):
        targets = widths.targets(
            [(team.id, team.namespaces) for team in teams],
            [(pool_id, name) for pool_id, name, _resource in known],
            usable(found.nodes, pools), widths.limits(now=now),
        )  # fmt: skip
    else:
        targets = _targets(teams, pools, found, _demand(cluster_id))
    for team in teams:
        for name in team.namespaces:
            result.append(manifests.namespace(name, team.slug))
            result += manifests.quotas(name, targets[name], pools, resources, classes, claims)
    return result + _left_behind(found, {n for team in teams for n in team.namespaces})


def _teams(cluster_id: int, tick: Tick, there: set[str], now: datetime) -> list[Team]:
    owners = NamespaceOwner.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=now),
        namespace__cluster_id=cluster_id, valid_from__lte=now,
    )  # fmt: skip
    names: dict[tuple[int, str], list[str]] = defaultdict(list)
    for team_id, slug, name in owners.values_list("team_id", "team__slug", "namespace__name"):
        if name in there:
            names[team_id, slug].append(name)
    shares: dict[int, dict[str, Share]] = defaultdict(dict)
    for share in Share.objects.filter(tick=tick).select_related("pool"):
        shares[share.team_id][share.pool.name] = share
    return [
        Team(team_id, slug, tuple(sorted(found)), shares[team_id])
        for (team_id, slug), found in sorted(names.items())
    ]


def device_resources(nodes: Listing, known: set[str]) -> set[str]:
    """Every device resource any node offers, also one that offers none of it now."""
    offered = {
        name
        for item in nodes.items
        for name in item.get("status", {}).get("allocatable", {})
        if placing.is_device(name)
    }
    return offered | known


def device_classes(found: Found) -> dict[str, str]:
    """Every device class but those the cluster's limits call free, and the resource it serves."""
    free = str(found.limits.get("data", {}).get(FREE_CLASSES, "")).split(",")
    return {
        item["metadata"]["name"]: str(item.get("spec", {}).get("extendedResourceName", ""))
        for item in found.device_classes.items
        if item["metadata"]["name"] not in free
    }


def _node_labels(nodes: Listing, pools: Sequence[PoolShape]) -> list[dict[str, Any]]:
    """The pool's label for nodes without one, and for those that changed since we wrote it."""
    known = {pool.name for pool in pools}
    result: list[dict[str, Any]] = []
    for item in nodes.items:
        labels = item["metadata"].get("labels") or {}
        place = placing.derived(item) if POOL not in labels or _ours(item) else None
        if place is not None and place.pool in known and labels.get(POOL) != place.pool:
            result.append(manifests.node(item["metadata"]["name"], place.pool))
    return result


def _demand(cluster_id: int) -> Used:
    """(namespace, pool) → devices that open jobs of a namespace ask for, in use or not."""
    asked = F("tasks") * F("gpu_milli")
    rows = Workload.objects.filter(
        cluster_id=cluster_id, state__in=OPEN_STATES, pool__isnull=False
    ).order_by()
    sums = rows.values_list("namespace", "pool__name").annotate(milli=Sum(asked))
    return {(namespace, pool): -(-milli // MILLI) for namespace, pool, milli in sums}


def _targets(
    teams: Sequence[Team], pools: Sequence[PoolShape], found: Found, demand: Used
) -> dict[str, dict[str, Target]]:
    """Namespace → pool → target."""
    hard, used = _read_quotas(found.quotas)
    capacity = usable(found.nodes, pools)
    result: dict[str, dict[str, Target]] = {n: {} for team in teams for n in team.namespaces}
    for pool in pools:
        burst = _burst(teams, pool.name, capacity.get(pool.name, 0), hard, used)
        for team in teams:
            for name, target in _split(team, pool.name, burst[team.slug], used, demand).items():
                result[name][pool.name] = target
    return result


def _burst(
    teams: Sequence[Team], pool: str, capacity: int, hard: Used, used: Used
) -> dict[str, int]:
    """What each team may use of a pool in the burst class now.

    A pod carries one class, so a job larger than what the guarantee has left fits in neither part
    alone. Therefore the burst quota is wished to be no less than the team's fair share less what its
    pods of the guaranteed class use; both classes together still stay within the fair share. What
    of this wish the guarantee has room for takes nothing from other teams' wishes.
    """
    klass = manifests.burst_class(pool)
    within = {t.slug: _of_team(t, manifests.guaranteed_class(pool), used) for t in teams}
    everywhere = sum(
        devices for (_, quota), devices in used.items() if quota == manifests.guaranteed_class(pool)
    )
    return splitting.grant_burst(
        capacity,
        everywhere,
        {
            team.slug: _borrowing(
                team.shares.get(pool),
                within[team.slug],
                hard=_of_team(team, klass, hard),
                used=_of_team(team, klass, used),
            )
            for team in teams
        },
    )


def _of_team(team: Team, quota: str, figures: Used) -> int:
    return sum(figures.get((name, quota), 0) for name in team.namespaces)


def _borrowing(share: Share | None, guaranteed_used: int, *, hard: int, used: int) -> Borrowing:
    if share is None:
        return Borrowing(hard=hard, used=used, wanted=0)
    wanted = max(share.burst_gpus, share.fair_share // MILLI - guaranteed_used)
    room = max(0, share.guaranteed_gpus - guaranteed_used)
    return Borrowing(
        hard=hard, used=used, wanted=wanted, covered=min(room, wanted - share.burst_gpus)
    )


def _split(team: Team, pool: str, burst: int, used: Used, demand: Used) -> dict[str, Target]:
    """A team's figures of a pool over its namespaces."""
    share = team.shares.get(pool)
    if share is None:
        return dict.fromkeys(team.namespaces, manifests.NOTHING)
    most = max(share.guaranteed + share.reserved, share.fair_share, share.allocated)
    classes = (manifests.guaranteed_class(pool), manifests.burst_class(pool))
    in_use = [{n: used.get((n, klass), 0) for n in team.namespaces} for klass in classes]
    both = {n: in_use[0][n] + in_use[1][n] for n in team.namespaces}
    waits = {n: max(0, demand.get((n, pool), 0) - both[n]) for n in team.namespaces}
    guaranteed = splitting.over_namespaces(share.guaranteed_gpus, in_use[0], waits)
    borrowed = splitting.over_namespaces(burst, in_use[1], waits)
    total = splitting.over_namespaces(-(-most // MILLI), both, waits)
    return {n: Target(guaranteed[n], borrowed[n], total[n]) for n in team.namespaces}


def _read_quotas(listing: Listing) -> tuple[Used, Used]:
    """Hard and used devices of our scoped quotas, by namespace and name."""
    hard: Used = {}
    used: Used = {}
    for item in listing.items:
        metadata = item["metadata"]
        if metadata["name"].startswith("evenshare-") and metadata["name"] != manifests.TOTAL:
            key = (metadata["namespace"], metadata["name"])
            hard[key] = _sum(item.get("spec", {}).get("hard", {}))
            used[key] = _sum(item.get("status", {}).get("used", {}))
    return hard, used


def _sum(amounts: Mapping[str, Any]) -> int:
    return sum(
        quantities.devices(value) for name, value in amounts.items() if name.startswith("requests.")
    )


def usable(nodes: Listing, pools: Sequence[PoolShape]) -> dict[str, int]:
    """Devices of each pool on nodes that take pods now."""
    resources = {pool.name: pool.resource for pool in pools}
    found: dict[str, int] = defaultdict(int)
    for item in nodes.items:
        ready = pods.condition(item, "Ready").get("status") == "True"
        if ready and not item.get("spec", {}).get("unschedulable"):
            pool = placing.pool_of(item)
            offer = item.get("status", {}).get("allocatable", {})
            found[pool] += quantities.devices(offer.get(resources.get(pool, ""), 0))
    return found


def _left_behind(found: Found, of_teams: set[str]) -> list[dict[str, Any]]:
    """Namespaces that are no team's any more: no label of ours, and nothing allowed."""
    result: list[dict[str, Any]] = []
    for item in found.namespaces.items:
        name = item["metadata"]["name"]
        if name not in of_teams and TEAM in item["metadata"].get("labels", {}) and _ours(item):
            result.append(manifests.namespace(name, None))
    for item in found.quotas.items:
        metadata = item["metadata"]
        if metadata["namespace"] not in of_teams and _ours(item):
            hard = dict.fromkeys(item.get("spec", {}).get("hard", {}), "0")
            result.append(
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
                    "spec": {**item.get("spec", {}), "hard": hard},
                }
            )
    return result


def _ours(item: Manifest) -> bool:
    return any(
        entry.get("manager") == MANAGER for entry in item["metadata"].get("managedFields", [])
    )
