"""The inventory in the admin. Every write goes through a service; the rest is to read."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from portal.common import clock
from portal.common.admin import ByService, LookOnly
from portal.common.errors import Refusal
from portal.inventory import services
from portal.inventory.forms import NamespaceForm
from portal.inventory.models import (
    Cluster,
    ClusterKind,
    ClusterMode,
    Commitment,
    GPUModel,
    MaintenanceWindow,
    Namespace,
    NamespaceOwner,
    Node,
    NodeOutage,
    Pool,
    Sharing,
)


@admin.register(Cluster)
class ClusterAdmin(ByService):
    """Clusters: how to reach them and how much the portal does there."""

    list_display = ("name", "kind", "mode", "seen_at", "last_error")
    fields = ("name", "kind", "mode", "stale_after_seconds", "settings", "seen_at", "last_error")
    readonly_fields = ("seen_at", "last_error")
    fixed = ("name", "kind")

    def save_model(
        self, request: HttpRequest, obj: Cluster, form: ModelForm[Any], change: bool
    ) -> None:
        """Register or change it."""
        actor_id, now = request.user.pk, clock.now()
        if not change:
            obj.pk = services.register_cluster(
                name=obj.name, kind=ClusterKind(obj.kind), now=now, actor_id=actor_id
            ).pk
        services.change_cluster(
            cluster_id=obj.pk, mode=ClusterMode(obj.mode), settings=obj.settings or {},
            stale_after_seconds=obj.stale_after_seconds, actor_id=actor_id,
        )  # fmt: skip


@admin.register(GPUModel)
class GPUModelAdmin(ByService):
    """Models as the nodes' labels name them."""

    list_display = ("name", "memory_mib")
    fields = ("name", "memory_mib")
    fixed = ("name", "memory_mib")

    def save_model(
        self, request: HttpRequest, obj: GPUModel, form: ModelForm[Any], change: bool
    ) -> None:
        """Register it."""
        obj.pk = services.register_gpu_model(
            name=obj.name, memory_mib=obj.memory_mib, actor_id=request.user.pk
        ).pk


@admin.register(Pool)
class PoolAdmin(ByService):
    """Pools of a cluster, cheapest first."""

    list_display = ("name", "cluster", "gpu_model", "sharing", "position")
    list_filter = ("cluster",)
    fields = (
        "cluster", "name", "gpu_model", "sharing", "resource_name", "gpu_equivalent_milli",
        "topology_levels", "position", "grace_seconds", "runtime_class",
    )  # fmt: skip
    fixed = ("cluster", "name", "gpu_model", "sharing", "resource_name")

    def save_model(
        self, request: HttpRequest, obj: Pool, form: ModelForm[Any], change: bool
    ) -> None:
        """Register or change it."""
        actor_id, now = request.user.pk, clock.now()
        if not change:
            obj.pk = services.register_pool(
                cluster_id=obj.cluster_id, name=obj.name, gpu_model=obj.gpu_model.name,
                sharing=Sharing(obj.sharing), resource_name=obj.resource_name, now=now,
                actor_id=actor_id,
            ).pk  # fmt: skip
        services.change_pool(
            pool_id=obj.pk, gpu_equivalent_milli=obj.gpu_equivalent_milli,
            topology_levels=obj.topology_levels or [], position=obj.position, actor_id=actor_id,
            grace_seconds=obj.grace_seconds, runtime_class=obj.runtime_class,
        )  # fmt: skip


@admin.register(Node)
class NodeAdmin(LookOnly, admin.ModelAdmin[Any]):
    """Nodes as their clusters listed them."""

    list_display = ("name", "pool", "gpus", "state", "first_seen_at", "removed_at")
    list_filter = ("state", "pool")
    search_fields = ("name",)


@admin.register(NodeOutage)
class NodeOutageAdmin(LookOnly, admin.ModelAdmin[Any]):
    """When nodes were not ready."""

    list_display = ("node", "starts_at", "ends_at", "reason")
    list_select_related = ("node",)


@admin.register(MaintenanceWindow)
class MaintenanceAdmin(ByService):
    """Planned work; once planned it can only be called off."""

    list_display = ("node", "starts_at", "ends_at", "reason", "cancelled_at")
    list_select_related = ("node",)
    fields = ("node", "starts_at", "ends_at", "reason")
    autocomplete_fields = ("node",)
    actions = ("call_off",)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only as a list to act on, not a row to edit."""
        return obj is None

    def save_model(
        self, request: HttpRequest, obj: MaintenanceWindow, form: ModelForm[Any], change: bool
    ) -> None:
        """Plan it."""
        obj.pk = services.plan_maintenance(
            node_id=obj.node_id, starts_at=obj.starts_at, ends_at=obj.ends_at, reason=obj.reason,
            now=clock.now(), actor_id=request.user.pk,
        ).pk  # fmt: skip

    @admin.action(description=_("Call off, or end now"))
    def call_off(self, request: HttpRequest, chosen: QuerySet[MaintenanceWindow]) -> None:
        """Cancel each, and say what could not be."""
        for window_id in chosen.values_list("pk", flat=True):
            try:
                services.cancel_maintenance(
                    window_id=window_id, now=clock.now(), actor_id=request.user.pk
                )
            except Refusal as refusal:
                self.message_user(request, refusal.message, messages.ERROR)


@admin.register(Namespace)
class NamespaceAdmin(ByService):
    """Namespaces and whose they are."""

    list_display = ("name", "cluster", "created_at")
    list_filter = ("cluster",)
    search_fields = ("name",)
    form = NamespaceForm
    fields = ("cluster", "name", "team")
    fixed = ("cluster", "name")

    def save_model(
        self, request: HttpRequest, obj: Namespace, form: ModelForm[Any], change: bool
    ) -> None:
        """Say whose it is from now on."""
        team = form.cleaned_data["team"]
        obj.pk = services.register_namespace(
            cluster_id=obj.cluster_id, name=obj.name, team_id=team.pk if team else None,
            now=clock.now(), actor_id=request.user.pk,
        ).pk  # fmt: skip


@admin.register(NamespaceOwner)
class NamespaceOwnerAdmin(LookOnly, admin.ModelAdmin[Any]):
    """Whose namespaces were, and when."""

    list_display = ("namespace", "team", "valid_from", "valid_to")
    list_select_related = ("namespace", "team")


@admin.register(Commitment)
class CommitmentAdmin(LookOnly, admin.ModelAdmin[Any]):
    """What is promised of each pool."""

    list_display = ("pool", "team", "kind", "gpus", "gpus_per_node", "adds", "starts_at", "ends_at")
    list_filter = ("pool", "kind")
    list_select_related = ("pool", "team")
