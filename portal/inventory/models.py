"""Clusters, pools, nodes, namespaces, outages, maintenance, and what is committed of a pool."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.teams.models import Team


def _half_open(name: str, start: str, end: str) -> models.CheckConstraint:
    """An interval with an end ends after it starts."""
    return models.CheckConstraint(
        name=name, condition=Q(**{f"{end}__isnull": True}) | Q(**{f"{end}__gt": F(start)})
    )


class ClusterMode(models.TextChoices):
    """How much the portal does in a cluster; each includes the one before."""

    OBSERVE = "observe", _("Observe")
    QUOTA = "quota", _("Quota")
    RECLAIM = "reclaim", _("Quota and reclaim")
    ADMISSION = "admission", _("Admission")


class ClusterKind(models.TextChoices):
    """What stands behind the port."""

    SIMULATED = "simulated", _("Simulated")
    KUBERNETES = "kubernetes", _("Kubernetes")


class Sharing(models.TextChoices):
    """How the GPUs of a pool are handed out."""

    DEDICATED = "dedicated", _("Whole devices")
    MIG = "mig", _("MIG instances")
    SHARED = "shared", _("Shared devices")


class NodeState(models.TextChoices):
    """What a node may be used for now."""

    READY = "ready", _("Ready")
    CORDONED = "cordoned", _("Cordoned")
    DOWN = "down", _("Down")


class CommitmentKind(models.TextChoices):
    """What promises capacity."""

    QUOTA = "quota", _("Guarantee")
    RESERVATION = "reservation", _("Reservation")


class Cluster(models.Model):
    """One Kubernetes cluster, or a simulated one behind the same port."""

    name = models.SlugField(unique=True)
    kind = models.CharField(max_length=12, choices=ClusterKind.choices)
    mode = models.CharField(max_length=12, choices=ClusterMode.choices, default=ClusterMode.QUOTA)
    settings = models.JSONField(default=dict, blank=True, help_text="how to reach it; no secrets")
    seen_at = models.DateTimeField(null=True, help_text="organisation time of the last good read")
    seen_real_at = models.DateTimeField(null=True, help_text="real time of the last good read")
    stale_after_seconds = models.PositiveIntegerField(default=120, help_text="real seconds")
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class GPUModel(models.Model):
    """A GPU model as the nodes' labels name it."""

    name = models.CharField(max_length=80, unique=True)
    memory_mib = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Pool(models.Model):
    """Nodes of one cluster with one GPU model and one sharing mode. Order is cheapest first."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    name = models.SlugField()
    gpu_model = models.ForeignKey(GPUModel, on_delete=models.PROTECT)
    sharing = models.CharField(max_length=12, choices=Sharing.choices, default=Sharing.DEDICATED)
    resource_name = models.CharField(max_length=120, default="nvidia.com/gpu")
    gpu_equivalent_milli = models.PositiveIntegerField(default=1000)
    topology_levels = models.JSONField(default=list, blank=True)
    position = models.PositiveIntegerField(default=0, help_text="cheapest first")
    grace_seconds = models.PositiveIntegerField(
        default=600, db_default=600,
        help_text="how long a stopped pod, and a disruption budget, may keep its GPUs",
    )  # fmt: skip
    runtime_class = models.CharField(
        max_length=63, blank=True, default="", db_default="",
        help_text="RuntimeClass its jobs are isolated by; a team's own comes first",
    )  # fmt: skip
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster_id", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="pool_name_once_per_cluster")
        ]

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """A machine while it is known: from `first_seen_at` until `removed_at`, half-open.

    A node that changes its GPUs or its pool becomes a new row, so capacity over time stays true.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=253)
    gpus = models.PositiveIntegerField()
    cpu_milli = models.PositiveBigIntegerField()
    memory_mib = models.PositiveBigIntegerField()
    labels = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    topology = models.JSONField(default=list)
    zone = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=12, choices=NodeState.choices, default=NodeState.READY)
    first_seen_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pool_id", "name", "id"]
        constraints = [
            _half_open("node_removed_after_seen", "first_seen_at", "removed_at"),
            models.UniqueConstraint(
                fields=["cluster", "name"],
                condition=Q(removed_at__isnull=True),
                name="node_name_once_per_cluster",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class NodeOutage(models.Model):
    """A node not ready, from when to when; open while it is down."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="outages")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["starts_at", "id"]
        constraints = [
            _half_open("outage_ends_after_it_starts", "starts_at", "ends_at"),
            models.UniqueConstraint(
                fields=["node"], condition=Q(ends_at__isnull=True), name="one_open_outage_per_node"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} down from {self.starts_at:%F %T}"


class MaintenanceWindow(models.Model):
    """A node planned to be out of use; from `drain_from` on, if set, nothing new starts there."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="maintenance")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    drain_from = models.DateTimeField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    created_by_id = models.BigIntegerField(null=True)
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["starts_at", "id"]
        constraints = [
            _half_open("maintenance_ends_after_it_starts", "starts_at", "ends_at"),
            models.CheckConstraint(
                name="drained_before_maintenance",
                condition=Q(drain_from__isnull=True) | Q(drain_from__lte=F("starts_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} {self.starts_at:%F %T}"


class Namespace(models.Model):
    """A Kubernetes namespace that may hold device pods."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="namespaces")
    name = models.CharField(max_length=63)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster_id", "name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="namespace_once_per_cluster")
        ]

    def __str__(self) -> str:
        return self.name


class NamespaceOwner(models.Model):
    """Whose a namespace is, from when to when."""

    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="owners")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="namespaces")
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    class Meta:
        ordering = ["namespace_id", "valid_from"]
        constraints = [
            _half_open("namespace_owner_ends_after_it_begins", "valid_from", "valid_to"),
            models.UniqueConstraint(
                fields=["namespace"],
                condition=Q(valid_to__isnull=True),
                name="one_owner_per_namespace",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace_id} of {self.team_id}"


class Commitment(models.Model):
    """So many GPUs of a pool promised from when to when. Written only by `services.commit`.

    `adds` is false for a reservation from the team's own guarantee: it fences what is already
    counted, but its shape still has to find nodes. Units are whole devices of the pool.
    """

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="commitments")
    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    kind = models.CharField(max_length=12, choices=CommitmentKind.choices)
    source_id = models.BigIntegerField(help_text="id of the quota or reservation row")
    gpus = models.PositiveIntegerField()
    gpus_per_node = models.PositiveIntegerField(null=True, help_text="shape; null: any nodes")
    adds = models.BooleanField(default=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pool_id", "starts_at", "id"]
        constraints = [
            _half_open("commitment_ends_after_it_starts", "starts_at", "ends_at"),
            models.UniqueConstraint(fields=["kind", "source_id"], name="one_commitment_per_source"),
        ]
        indexes = [models.Index(fields=["pool", "starts_at", "ends_at"], name="commitment_by_time")]

    def __str__(self) -> str:
        return f"{self.gpus} of {self.pool_id} for {self.team_id}"
