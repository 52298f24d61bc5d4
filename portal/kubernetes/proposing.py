"""A cluster as it was found → what the portal would take over of it, line by line. Pure.

Nodes become pools, labelled namespaces become their teams', and quotas that are there already
become a first guarantee. A quota that enforces nothing is named as such.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from portal.inventory.models import Sharing
from portal.kubernetes import placing, quantities
from portal.kubernetes.placing import Place
from portal.kubernetes.port import TEAM, Listing, Manifest

OURS = "evenshare-"
VERSION = re.compile(r"-v\d+$")
REQUESTS = "requests."


@dataclass(frozen=True, slots=True)
class FoundPool:
    """A pool as its nodes show it."""

    name: str
    resource: str
    model: str
    sharing: Sharing
    memory_mib: int | None
    equivalent_milli: int
    gpus: int
    nodes: tuple[str, ...]
    unlabelled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A team's first figure in a pool, and the quotas it was read from."""

    team: str
    pool: str
    gpus: int
    sources: tuple[str, ...]


@dataclass(slots=True)
class Proposal:
    """What was found. `notes` are sentences about what a person should look at."""

    pools: list[FoundPool] = field(default_factory=list)
    namespaces: dict[str, str] = field(default_factory=dict)
    """Namespace → the team its label names."""
    guarantees: list[Guarantee] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def propose(
    nodes: Listing, namespaces: Listing, quotas: Listing, teams: Collection[str]
) -> Proposal:
    """Read a cluster; `teams` are the slugs the organisation has."""
    proposal = Proposal()
    _pools(nodes, proposal)
    _namespaces(namespaces, teams, proposal)
    _guarantees(quotas, proposal)
    return proposal


def _pools(nodes: Listing, proposal: Proposal) -> None:
    members: dict[str, list[tuple[str, Place]]] = defaultdict(list)
    for item in nodes.items:
        place = placing.place(item)
        if place is not None:
            members[place.pool].append((item["metadata"]["name"], place))
    for name in sorted(members):
        if VERSION.search(name):
            proposal.notes.append(
                _(
                    "No pool may be called %(name)s: names that end in a version are those of classes."
                )
                % {"name": name}
            )
            continue
        proposal.pools.append(_pool(name, members[name], proposal.notes))


def _pool(name: str, members: list[tuple[str, Place]], notes: list[str]) -> FoundPool:
    """One pool; nodes that do not fit the first of it are named."""
    first = members[0][1]
    gpus = 0
    for node, place in members:
        same = (place.resource, place.sharing, place.model) == (
            first.resource, first.sharing, first.model,
        )  # fmt: skip
        if not same:
            notes.append(
                _("Node %(node)s is labelled %(pool)s but offers %(resource)s of %(model)s.")
                % {"node": node, "pool": name, "resource": place.resource, "model": place.model}
            )
        notes.extend(
            _(
                "Node %(node)s also offers %(count)s of %(resource)s, which no pool counts: "
                "quotas hold it at 0."
            )
            % {"node": node, "count": count, "resource": resource}
            for resource, count in place.others.items()
        )
        gpus += place.gpus if place.resource == first.resource else 0
    return FoundPool(
        name=name,
        resource=first.resource,
        model=first.model,
        sharing=first.sharing,
        memory_mib=first.memory_mib,
        equivalent_milli=first.equivalent_milli,
        gpus=gpus,
        nodes=tuple(node for node, _place in members),
        unlabelled=tuple(node for node, place in members if not place.labelled),
    )


def _namespaces(namespaces: Listing, teams: Collection[str], proposal: Proposal) -> None:
    for item in namespaces.items:
        name = item["metadata"]["name"]
        team = (item["metadata"].get("labels") or {}).get(TEAM, "")
        if team and team in teams:
            proposal.namespaces[name] = team
        elif team:
            proposal.notes.append(
                _("Namespace %(name)s is labelled for the team %(team)s, which does not exist.")
                % {"name": name, "team": team}
            )


def _guarantees(quotas: Listing, proposal: Proposal) -> None:
    by_resource: dict[str, list[str]] = defaultdict(list)
    for one in proposal.pools:
        by_resource[one.resource].append(one.name)
    # Of several quotas in one namespace the narrowest binds.
    found: dict[tuple[str, str], dict[str, tuple[int, str]]] = defaultdict(dict)
    for item in quotas.items:
        if item["metadata"]["name"].startswith(OURS):
            continue
        proposal.notes.extend(_idle(item))
        namespace = item["metadata"]["namespace"]
        team = proposal.namespaces.get(namespace)
        for resource, count in _limits(item).items():
            pools = by_resource.get(resource, [])
            if team and len(pools) == 1:
                parts, part = found[team, pools[0]], (count, _named(item))
                parts[namespace] = min(parts.get(namespace, part), part)
            elif pools:
                proposal.notes.append(_unclear(item, resource, count, pools if team else []))
    for (team, pool), parts in sorted(found.items()):
        gpus = sum(count for count, _source in parts.values())
        sources = tuple(source for _count, source in parts.values())
        proposal.guarantees.append(Guarantee(team, pool, gpus, sources))


def _unclear(item: Manifest, resource: str, count: int, pools: list[str]) -> str:
    """Why nothing follows from a quota: it is of several pools, or of no team."""
    values = {"quota": _named(item), "resource": resource, "count": count, "label": TEAM}
    if pools:
        return _(
            "%(quota)s limits %(resource)s, which the pools %(pools)s share: say by hand how much "
            "is of which."
        ) % {**values, "pools": ", ".join(pools)}
    return (
        _(
            "%(quota)s limits %(resource)s to %(count)s, but the namespace is no team's: label it "
            "%(label)s=TEAM, then look again."
        )
        % values
    )


def _limits(item: Manifest) -> dict[str, int]:
    """What an unscoped quota allows of each device resource."""
    spec = item.get("spec", {})
    if spec.get("scopes") or spec.get("scopeSelector"):
        return {}
    return {
        key.removeprefix(REQUESTS): quantities.devices(value)
        for key, value in spec.get("hard", {}).items()
        if key.startswith(REQUESTS) and placing.is_device(key.removeprefix(REQUESTS))
    }


def _idle(item: Manifest) -> Iterable[str]:
    """Keys a server accepts and never enforces."""
    for key in idle_keys(item.get("spec", {}).get("hard", {})):
        yield _(
            "%(quota)s: the key %(key)s enforces nothing; only requests.%(resource)s would."
        ) % {"quota": _named(item), "key": key, "resource": key.removeprefix("limits.")}


def idle_keys(hard: Mapping[str, object]) -> list[str]:
    """Keys of a quota that name a device and enforce nothing."""
    return [
        key
        for key in hard
        if placing.is_device(key.removeprefix("limits."))
        and not key.startswith((REQUESTS, "count/"))
        and "deviceclass" not in key
    ]


def _named(item: Manifest) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
