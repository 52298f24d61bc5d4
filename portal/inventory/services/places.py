"""Clusters, pools and namespaces: what the portal is told to look after."""

from datetime import datetime

from django.db import transaction

from portal.common import audit, isolation
from portal.common.errors import Missing
from portal.inventory.models import (
    Cluster,
    ClusterKind,
    ClusterMode,
    GPUModel,
    Namespace,
    NamespaceOwner,
    Pool,
    Sharing,
)


@transaction.atomic
def register_cluster(
    *,
    name: str,
    kind: ClusterKind,
    now: datetime,
    actor_id: int | None,
    mode: ClusterMode = ClusterMode.QUOTA,
    settings: dict[str, object] | None = None,
) -> Cluster:
    """Add a cluster; one of that name stays as it is."""
    cluster, new = Cluster.objects.get_or_create(
        name=name,
        defaults={"kind": kind, "mode": mode, "settings": settings or {}, "created_at": now},
    )
    if new:
        audit.record(
            actor_id=actor_id,
            action="inventory.cluster_registered",
            target_type="cluster",
            target_id=cluster.pk,
            data={"name": name, "kind": kind.value, "mode": mode.value},
        )
    return cluster


@transaction.atomic
def change_cluster(
    *,
    cluster_id: int,
    mode: ClusterMode,
    settings: dict[str, object],
    stale_after_seconds: int,
    actor_id: int | None,
) -> None:
    """Say how much the portal does in a cluster and how to reach it. Raises `Missing`."""
    row = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
    if row is None:
        raise Missing
    wanted = {"mode": mode, "settings": settings, "stale_after_seconds": stale_after_seconds}
    changed = [name for name, value in wanted.items() if getattr(row, name) != value]
    if changed:
        Cluster.objects.filter(pk=cluster_id).update(**wanted)
        audit.record(
            actor_id=actor_id,
            action="inventory.cluster_changed",
            target_type="cluster",
            target_id=cluster_id,
            data={"changed": changed, "mode": {"was": row.mode, "now": mode.value}},
        )


@transaction.atomic
def register_gpu_model(
    *, name: str, memory_mib: int | None = None, actor_id: int | None
) -> GPUModel:
    """Add a GPU model; one of that name stays as it is."""
    model, new = GPUModel.objects.get_or_create(name=name, defaults={"memory_mib": memory_mib})
    if new:
        audit.record(
            actor_id=actor_id,
            action="inventory.gpu_model_registered",
            target_type="gpu_model",
            target_id=model.pk,
            data={"name": name, "memory_mib": memory_mib},
        )
    return model


@transaction.atomic
def register_pool(
    *,
    cluster_id: int,
    name: str,
    gpu_model: str,
    now: datetime,
    actor_id: int | None,
    memory_mib: int | None = None,
    sharing: Sharing = Sharing.DEDICATED,
    resource_name: str = "nvidia.com/gpu",
    gpu_equivalent_milli: int = 1000,
    position: int = 0,
) -> Pool:
    """Add a pool to a cluster; one of that name stays as it is. Raises `Missing`."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        raise Missing
    model = register_gpu_model(name=gpu_model, memory_mib=memory_mib, actor_id=actor_id)
    pool, new = Pool.objects.get_or_create(
        cluster_id=cluster_id,
        name=name,
        defaults={
            "gpu_model": model,
            "sharing": sharing,
            "resource_name": resource_name,
            "gpu_equivalent_milli": gpu_equivalent_milli,
            "position": position,
            "created_at": now,
        },
    )
    if new:
        audit.record(
            actor_id=actor_id,
            action="inventory.pool_registered",
            target_type="pool",
            target_id=pool.pk,
            data={"cluster": cluster_id, "name": name, "gpu_model": gpu_model},
        )
    return pool


@transaction.atomic
def change_pool(
    *,
    pool_id: int,
    gpu_equivalent_milli: int,
    topology_levels: list[str],
    position: int,
    actor_id: int | None,
    grace_seconds: int | None = None,
    runtime_class: str | None = None,
) -> None:
    """Say what a pool's GPU is worth, how its nodes hang together and its place. Raises `Missing`.

    `grace_seconds` is how long what makes room may keep its GPUs, `runtime_class` how jobs are
    isolated there ("" not at all); None leaves either as it is.
    """
    row = Pool.objects.select_for_update(no_key=True).filter(pk=pool_id).first()
    if row is None:
        raise Missing
    wanted = {
        "gpu_equivalent_milli": gpu_equivalent_milli,
        "topology_levels": topology_levels,
        "position": position,
        "grace_seconds": row.grace_seconds if grace_seconds is None else grace_seconds,
        "runtime_class": (
            row.runtime_class if runtime_class is None else isolation.checked(runtime_class)
        ),
    }
    was = {name: getattr(row, name) for name in wanted}
    if was != wanted:
        Pool.objects.filter(pk=pool_id).update(**wanted)
        audit.record(
            actor_id=actor_id,
            action="inventory.pool_changed",
            target_type="pool",
            target_id=pool_id,
            data={"was": was, "now": wanted},
        )


@transaction.atomic
def register_namespace(
    *,
    cluster_id: int,
    name: str,
    team_id: int | None,
    now: datetime,
    actor_id: int | None = None,
) -> Namespace:
    """Say whose a namespace is from now on; None is nobody's. Saying it twice changes nothing."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        raise Missing
    namespace, new = Namespace.objects.get_or_create(
        cluster_id=cluster_id, name=name, defaults={"created_at": now}
    )
    open_owner = NamespaceOwner.objects.select_for_update(no_key=True).filter(
        namespace=namespace, valid_to__isnull=True
    )
    held = open_owner.first()
    was = held.team_id if held else None
    if was != team_id:
        _pass_on(namespace.pk, team_id, now)
    if new or was != team_id:
        audit.record(
            actor_id=actor_id,
            action="inventory.namespace_registered",
            target_type="namespace",
            target_id=namespace.pk,
            team_id=team_id if team_id is not None else was,
            data={"cluster": cluster_id, "name": name, "was": was, "team": team_id},
        )
    return namespace


def _pass_on(namespace_id: int, team_id: int | None, now: datetime) -> None:
    """Close the open row at now and open the next; what began this very instant never was."""
    rows = NamespaceOwner.objects.filter(namespace_id=namespace_id, valid_to__isnull=True)
    rows.filter(valid_from__gte=now).delete()
    rows.update(valid_to=now)
    if team_id is not None:
        NamespaceOwner.objects.create(namespace_id=namespace_id, team_id=team_id, valid_from=now)


@transaction.atomic
def mark_read(*, cluster_id: int, now: datetime, real_now: datetime) -> None:
    """Note that the cluster was read well; a heartbeat, not a change, so without audit."""
    Cluster.objects.filter(pk=cluster_id).update(seen_at=now, seen_real_at=real_now, last_error="")


@transaction.atomic
def mark_failed(*, cluster_id: int, error: str) -> None:
    """Note why the cluster could not be read; the last known state stays."""
    Cluster.objects.filter(pk=cluster_id).update(last_error=error)
