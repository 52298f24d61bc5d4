"""Jobs, their stages, and the pods that hold GPUs now."""

from django.db import models
from django.db.models import F, Q, Value
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Cluster, Node, Pool
from portal.reservations.models import Reservation
from portal.teams.models import Team, User


class WorkloadState(models.TextChoices):
    """Where a job stands; a preempted one is waiting again, with its history."""

    WAITING = "waiting", _("Waiting")
    ADMITTED = "admitted", _("Admitted")
    STARTING = "starting", _("Starting")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


OPEN_STATES = (
    WorkloadState.WAITING,
    WorkloadState.ADMITTED,
    WorkloadState.STARTING,
    WorkloadState.RUNNING,
    WorkloadState.STOPPING,
)
HOLDING_STATES = (WorkloadState.STARTING, WorkloadState.RUNNING, WorkloadState.STOPPING)


class Kind(models.TextChoices):
    """The class of a job."""

    TRAINING = "training", _("Training")
    INFERENCE = "inference", _("Inference")
    INTERACTIVE = "interactive", _("Interactive")
    BATCH = "batch", _("Batch")


class ChargedTo(models.TextChoices):
    """Which part of a team's entitlement a use is counted against."""

    GUARANTEED = "guaranteed", _("Guaranteed")
    RESERVED = "reserved", _("Reserved")
    BORROWED = "borrowed", _("Borrowed")


class Workload(models.Model):
    """One job: the uid of its root owner in its cluster. A name used again is a new workload.

    `team` null is work in a namespace of no team ("unowned"). Amounts are per task: milli-GPU,
    millicores, MiB. Stage times are organisation time; null is "not yet" or "never seen".
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="workloads")
    uid = models.CharField(max_length=64)
    name = models.CharField(max_length=253)
    owner_kind = models.CharField(max_length=40, default="Job")
    namespace = models.CharField(max_length=63)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="workloads")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="workloads")
    person = models.CharField(max_length=150, blank=True, help_text="the user the cluster names")
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.BATCH)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, null=True, related_name="workloads")
    reservation = models.ForeignKey(
        Reservation, on_delete=models.PROTECT, null=True, related_name="workloads"
    )
    priority = models.IntegerField(default=0)
    tasks = models.PositiveIntegerField()
    min_tasks = models.PositiveIntegerField(null=True)
    gpu_milli = models.PositiveIntegerField()
    cpu_milli = models.PositiveBigIntegerField(default=0)
    memory_mib = models.PositiveBigIntegerField(default=0)
    preemptible = models.BooleanField(default=True)
    duration_seconds = models.PositiveBigIntegerField(null=True, help_text="estimate")
    save_seconds = models.PositiveIntegerField(null=True, help_text="null: it cannot save")
    restore_seconds = models.PositiveIntegerField(null=True)
    last_saved_at = models.DateTimeField(null=True)
    state = models.CharField(
        max_length=12, choices=WorkloadState.choices, default=WorkloadState.WAITING
    )
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices, blank=True)
    submitted_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True)
    scheduled_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    first_step_at = models.DateTimeField(null=True, help_text="as the job itself reports it")
    ended_at = models.DateTimeField(null=True)
    preemptions = models.PositiveIntegerField(default=0)
    cluster_reason = models.CharField(max_length=40, blank=True, help_text="a cluster_* word")
    cluster_message = models.TextField(blank=True)
    cluster_detail = models.JSONField(
        default=dict, db_default=Value({}, models.JSONField()), help_text="numbers of that word"
    )
    version = models.CharField(
        max_length=64, blank=True, help_text="of it and its pods when last seen to change"
    )
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["submitted_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="workload_uid_once"),
            models.CheckConstraint(name="workload_has_tasks", condition=Q(tasks__gte=1)),
            models.CheckConstraint(
                name="workload_min_tasks_within",
                condition=Q(min_tasks__isnull=True)
                | Q(min_tasks__gte=1, min_tasks__lte=F("tasks")),
            ),
        ]
        indexes = [
            models.Index(fields=["state", "submitted_at"], name="workload_by_state"),
            models.Index(fields=["team", "state"], name="workload_by_team"),
            models.Index(fields=["cluster", "state"], name="workload_by_cluster"),
        ]

    def __str__(self) -> str:
        return self.name


UNSETTLED = Q(scheduled_at__isnull=False, node__isnull=False) & (
    Q(closed_at__isnull=True) | Q(ledger_until__isnull=True) | ~Q(ledger_until=F("closed_at"))
)
"""Pods that hold or held devices and whose interval the ledger does not have to its end."""


class Pod(models.Model):
    """A pod seen in the cluster and the interval it holds devices: open until `closed_at`.

    `ledger_until` is up to where the ledger has it; between that and now the interval is open.
    `devices` are [index, milli] pairs where the cluster tells them, else empty.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="pods")
    uid = models.CharField(max_length=64)
    name = models.CharField(max_length=253)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="pods")
    gpu_milli = models.PositiveIntegerField()
    cpu_milli = models.PositiveBigIntegerField(default=0)
    memory_mib = models.PositiveBigIntegerField(default=0)
    devices = models.JSONField(default=list)
    priority_class = models.CharField(max_length=120, blank=True)
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices, blank=True)
    created_at = models.DateTimeField()
    gated = models.BooleanField(
        default=False, db_default=False, help_text="waits for its gate to be opened"
    )
    opened_at = models.DateTimeField(null=True, help_text="its gate, when first seen open")
    scheduled_at = models.DateTimeField(null=True, help_text="holds its devices from here on")
    mounted_at = models.DateTimeField(null=True, help_text="volumes and network are there")
    initialized_at = models.DateTimeField(null=True, help_text="its init containers are done")
    started_at = models.DateTimeField(null=True, help_text="images are there; it first ran")
    restarts = models.PositiveIntegerField(default=0, db_default=0)
    ready_at = models.DateTimeField(null=True)
    stopping_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True, help_text="gone; devices free from here on")
    why = models.CharField(max_length=40, blank=True, help_text="preempted, node_lost, …")
    ledger_until = models.DateTimeField(null=True)
    seen_at = models.DateTimeField()
    estimated = models.BooleanField(
        default=False, help_text="closed at last sight, not seen to end"
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workload", "uid"], name="pod_uid_once_per_workload"),
            models.CheckConstraint(
                name="pod_closes_after_it_holds",
                condition=Q(closed_at__isnull=True)
                | Q(scheduled_at__isnull=True)
                | Q(closed_at__gte=F("scheduled_at")),
            ),
        ]
        indexes = [
            models.Index(fields=["closed_at", "node"], name="pod_open_by_node"),
            models.Index(fields=["workload"], condition=UNSETTLED, name="pod_unsettled"),
        ]

    def __str__(self) -> str:
        return self.name


class StageEvent(models.Model):
    """What happened to a workload, once each, in words every page shows."""

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=WorkloadState.choices)
    why = models.CharField(max_length=40, blank=True, help_text="preempted, node_lost, …")
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.state}"


class Admission(models.Model):
    """A job that was let start: on which nodes, as what; open until it is stopped or over.

    While it is open its devices count as taken, also those that its pods do not hold yet.
    `placements` are [node, tasks] pairs. It is written before the cluster is asked, so that a
    worker that dies in between has given away nothing twice.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="admissions")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="admissions")
    tick_id = models.BigIntegerField(help_text="the tick that decided it")
    tasks = models.PositiveIntegerField()
    placements = models.JSONField()
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices)
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    why = models.CharField(max_length=40, blank=True, help_text="preempted, not_started, …")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workload"], condition=Q(ended_at__isnull=True), name="one_open_admission"
            ),
            models.UniqueConstraint(fields=["workload", "tick_id"], name="one_admission_a_tick"),
        ]

    def __str__(self) -> str:
        return f"{self.workload_id} by {self.tick_id}"


class Placing(models.TextChoices):
    """Where a class's jobs go among the nodes that take them."""

    PACK = "pack", _("Fill nodes one after another")
    SPREAD = "spread", _("Apart, on as many nodes as it goes")


class ClassRule(models.Model):
    """What holds for the jobs of a class, wherever they run.

    `preemptible` null leaves it to the job, `order` is added to its priority, `together` is the
    level of the topology its tasks are kept together in where that is possible. `placement` says
    whether jobs fill nodes or go as far apart as they can; empty leaves it to the policy. A job
    whose GPUs were measured idle for `idle_hours` whole hours may be stopped before all others.
    """

    kind = models.CharField(max_length=12, choices=Kind.choices, unique=True)
    preemptible = models.BooleanField(null=True)
    order = models.IntegerField(default=0)
    together = models.CharField(max_length=40, blank=True)
    placement = models.CharField(
        max_length=8, choices=Placing.choices, blank=True, default="", db_default=""
    )
    idle_hours = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"rule of {self.kind}"


class PoolClass(models.Model):
    """What a pool takes of a class: nothing, or only jobs of at least so many GPUs.

    Without a row it takes all. A job in a reservation of the pool is always taken.
    """

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="classes")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    is_open = models.BooleanField(default=True)
    min_gpus = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["pool_id", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "kind"], name="one_rule_per_pool_and_class")
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.pool_id}"
