"""Take a cluster into the portal's care, or look at it again: its pools, namespaces and figures.

Everything is read first, from outside any transaction; then rows are written through their rooms'
services, each of which keeps what is there. So the whole may be repeated at any time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common.errors import Refusal
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind, ClusterMode, Namespace, Pool
from portal.kubernetes import manifests, policies, reading, rights
from portal.kubernetes.port import MANAGER, POOL, ClusterPort, Listing, Refused
from portal.kubernetes.ports import port_for
from portal.kubernetes.proposing import FoundPool, Proposal, propose
from portal.quotas import selectors as quota_selectors
from portal.quotas import services as quotas
from portal.teams.models import Team


@dataclass(frozen=True, slots=True)
class Line:
    """One field of one thing: what it was and what it becomes."""

    kind: str
    name: str
    field: str
    was: object
    now: object


@dataclass(slots=True)
class Added:
    """What was written, or would be; `notes` are sentences about what a person should look at."""

    cluster: Cluster
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def add_cluster(
    *,
    name: str,
    settings: Mapping[str, Any],
    mode: ClusterMode,
    now: datetime,
    actor_id: int | None = None,
    adopt_quotas: bool = False,
    dry_run: bool = False,
) -> Added:
    """Register a cluster with its pools and namespaces, and label its nodes with their pools.

    A cluster of this name is looked at again: its way and mode are set anew, what is new is added.
    In observe mode nothing is written to the cluster. With `adopt_quotas` what quotas allow now
    becomes the teams' guarantee where they have none. Raises `ClusterError`, also when our account
    may not write what a mode writes; nothing is changed then.
    """
    known = Cluster.objects.filter(name=name, kind=ClusterKind.KUBERNETES).first()
    asked = Cluster(name=name, kind=ClusterKind.KUBERNETES, mode=mode, settings=dict(settings))
    port = port_for(asked, now=now)
    slugs = dict(Team.objects.values_list("slug", "id"))
    nodes = port.nodes()
    proposal = propose(nodes, port.namespaces(), port.quotas(), slugs)
    added = Added(known or asked, notes=proposal.notes)
    _compare(added, asked, proposal, known, adopt_quotas=adopt_quotas, now=now)
    _look_at_rights(port, mode, added, dry_run=dry_run)
    _look_at_policies(port, mode, added)
    if dry_run:
        return added
    added.cluster = _register(asked, proposal, nodes, slugs, now, actor_id)
    if mode != ClusterMode.OBSERVE:
        label_nodes(port, proposal.pools)
    if adopt_quotas:
        _adopt(added, proposal, slugs, now, actor_id)
    return added


def label_nodes(port: ClusterPort, pools: Sequence[FoundPool]) -> int:
    """Write the pool's label on every node without one; gives how many."""
    count = 0
    for pool in pools:
        for node in pool.unlabelled:
            port.apply(manifests.node(node, pool.name), manager=MANAGER)
            count += 1
    return count


def _compare(
    added: Added,
    asked: Cluster,
    proposal: Proposal,
    known: Cluster | None,
    *,
    adopt_quotas: bool,
    now: datetime,
) -> None:
    """Say what would change, in the order it is read."""
    lines = added.lines
    if known is None or known.mode != asked.mode:
        lines.append(Line("Cluster", asked.name, "mode", known and known.mode, asked.mode))
    if known is None or known.settings != asked.settings:
        was = known.settings if known else None
        lines.append(Line("Cluster", asked.name, "settings", was, asked.settings))
    _compare_pools(lines, asked, proposal, known)
    owners = _owners(known)
    for namespace, team in proposal.namespaces.items():
        if owners.get(namespace) != team:
            lines.append(Line("Namespace", namespace, "team", owners.get(namespace), team))
    for guarantee in proposal.guarantees:
        if not _has_quota(known, guarantee.team, guarantee.pool, now):
            verb = "guaranteed" if adopt_quotas else "guaranteed (proposed)"
            lines.append(
                Line("Quota", f"{guarantee.team} in {guarantee.pool}", verb, None, guarantee.gpus)
            )


def _compare_pools(
    lines: list[Line], asked: Cluster, proposal: Proposal, known: Cluster | None
) -> None:
    there = {pool.name: pool for pool in Pool.objects.filter(cluster=known)} if known else {}
    for pool in proposal.pools:
        if pool.name not in there:
            lines.append(Line("Pool", pool.name, "resource", None, pool.resource))
            lines.append(Line("Pool", pool.name, "sharing", None, pool.sharing.value))
            nodes = _("%(gpus)s on %(nodes)s nodes") % {
                "gpus": pool.gpus, "nodes": len(pool.nodes)
            }  # fmt: skip
            lines.append(Line("Pool", pool.name, "devices", None, nodes))
        if asked.mode != ClusterMode.OBSERVE:
            lines += [Line("Node", node, f"label {POOL}", None, pool.name)
                      for node in pool.unlabelled]  # fmt: skip


def _owners(known: Cluster | None) -> dict[str, str]:
    if known is None:
        return {}
    rows = Namespace.objects.filter(cluster=known, owners__valid_to__isnull=True)
    return dict(rows.exclude(owners=None).values_list("name", "owners__team__slug"))


def _has_quota(known: Cluster | None, team: str, pool: str, now: datetime) -> bool:
    if known is None:
        return False
    row = Pool.objects.filter(cluster=known, name=pool).first()
    of_team = Team.objects.filter(slug=team).first()
    if row is None or of_team is None:
        return False
    return quota_selectors.get_quota(team_id=of_team.pk, pool_id=row.pk, at=now) is not None


def _look_at_rights(port: ClusterPort, mode: ClusterMode, added: Added, *, dry_run: bool) -> None:
    denied = port.denied(rights.needed(mode))
    if not denied:
        return
    says = _(
        "The account may not %(rights)s. Apply deploy/kubernetes/%(mode)s."
    ) % {"rights": ", ".join(map(str, denied)), "mode": mode}  # fmt: skip
    if mode == ClusterMode.OBSERVE or dry_run:
        added.notes.append(says)
    else:
        raise Refused(says)


def _look_at_policies(port: ClusterPort, mode: ClusterMode, added: Added) -> None:
    if mode == ClusterMode.OBSERVE:
        return
    missing = policies.missing(port.policies(), mode)
    if missing:
        added.notes.append(
            _(
                "These admission policies are not installed, so the pools of a resource are one "
                "sum: %(names)s. Apply deploy/kubernetes/%(folder)s."
            )
            % {"names": ", ".join(missing), "folder": policies.folder(mode)}
        )


@transaction.atomic
def _register(
    asked: Cluster,
    proposal: Proposal,
    nodes: Listing,
    slugs: Mapping[str, int],
    now: datetime,
    actor_id: int | None,
) -> Cluster:
    cluster = inventory.register_cluster(
        name=asked.name, kind=ClusterKind.KUBERNETES, mode=ClusterMode(asked.mode),
        settings=asked.settings, now=now, actor_id=actor_id,
    )  # fmt: skip
    inventory.change_cluster(
        cluster_id=cluster.pk, mode=ClusterMode(asked.mode), settings=asked.settings,
        stale_after_seconds=cluster.stale_after_seconds, actor_id=actor_id,
    )  # fmt: skip
    cluster.refresh_from_db()
    for position, pool in enumerate(proposal.pools):
        inventory.register_pool(
            cluster_id=cluster.pk, name=pool.name, gpu_model=pool.model, sharing=pool.sharing,
            memory_mib=pool.memory_mib, resource_name=pool.resource, position=position,
            gpu_equivalent_milli=pool.equivalent_milli, now=now, actor_id=actor_id,
        )  # fmt: skip
    pools = {pool.name: pool.resource for pool in proposal.pools}
    seen = reading.nodes(nodes, pools)
    inventory.record_nodes(cluster_id=cluster.pk, seen=seen, now=now, actor_id=actor_id)
    for namespace, team in proposal.namespaces.items():
        inventory.register_namespace(
            cluster_id=cluster.pk, name=namespace, team_id=slugs[team], now=now, actor_id=actor_id
        )
    return cluster


def _adopt(
    added: Added,
    proposal: Proposal,
    slugs: Mapping[str, int],
    now: datetime,
    actor_id: int | None,
) -> None:
    """Give each team what quotas allow it now; one that does not fit is a note, not an end."""
    pools = {pool.name: pool.pk for pool in Pool.objects.filter(cluster=added.cluster)}
    for guarantee in proposal.guarantees:
        if _has_quota(added.cluster, guarantee.team, guarantee.pool, now):
            continue
        try:
            quotas.change(
                team_id=slugs[guarantee.team], pool_id=pools[guarantee.pool],
                guaranteed=guarantee.gpus, limit=None, valid_from=now, now=now, actor_id=actor_id,
            )  # fmt: skip
        except Refusal as refusal:
            added.notes.append(
                _("%(team)s in %(pool)s: %(gpus)s are not promised. %(why)s")
                % {"team": guarantee.team, "pool": guarantee.pool, "gpus": guarantee.gpus,
                   "why": refusal}
            )  # fmt: skip
