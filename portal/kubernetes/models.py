"""How far a cluster was read, what was written to it, and where it differs from what was wanted."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Cluster
from portal.workloads.models import Workload


class ReadMark(models.Model):
    """Up to which version of a cluster its deletions are known; what the next read asks from."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="read_mark")
    version = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.version}"


class SyncState(models.TextChoices):
    """How far a sync has come, or how it ended."""

    RUNNING = "running", _("At work")
    DONE = "done", _("Done")
    PARTIAL = "partial", _("Partly: some writes were refused")
    FAILED = "failed", _("Failed")
    INTERRUPTED = "interrupted", _("Interrupted")


class SyncRun(models.Model):
    """One sync of one cluster; a row only when something was to be written, or failed.

    The row stands before the first write: what its worker may not live to tell, the next one reads
    from the cluster. `intended` and `writes` count objects: those it meant to write, those it wrote.
    Kept for 400 days.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sync_runs")
    tick_id = models.BigIntegerField(null=True)
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=SyncState.choices)
    intended = models.PositiveIntegerField(default=0, db_default=0)
    writes = models.PositiveIntegerField(default=0)
    took_ms = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    undoes = models.OneToOneField(
        "self", on_delete=models.SET_NULL, null=True, related_name="undone_by"
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["cluster"], condition=models.Q(state="running"), name="open_sync_runs"
            )
        ]

    def __str__(self) -> str:
        return f"sync {self.pk}"


class SyncStanding(models.Model):
    """When a sync of a cluster last went through, also with nothing to write; whether it rests."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="sync_standing")
    checked_at = models.DateTimeField(null=True, help_text="organisation time")
    checked_real_at = models.DateTimeField(null=True, help_text="real time")
    paused_at = models.DateTimeField(null=True, help_text="nothing is written from here on")
    paused_by_id = models.BigIntegerField(null=True)
    pause_reason = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"{self.cluster_id} {'paused' if self.paused_at else 'at work'}"


class SyncWrite(models.Model):
    """One field of one object: from what to what.

    While its sync is at work this is what it means to change; once it ended, what it has changed.
    """

    run = models.ForeignKey(SyncRun, on_delete=models.CASCADE, related_name="changes")
    kind = models.CharField(max_length=40)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    field = models.CharField(max_length=200)
    was = models.JSONField(null=True)
    now = models.JSONField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name} {self.field}"


class Drift(models.Model):
    """A field that is not as wanted, and who owns it; closed when it is again."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="drifts")
    kind = models.CharField(max_length=40)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    field = models.CharField(max_length=200)
    wanted = models.JSONField(null=True)
    found = models.JSONField(null=True)
    manager = models.CharField(max_length=128, blank=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name", "field"],
                condition=models.Q(closed_at__isnull=True),
                name="one_open_drift_per_field",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name} {self.field}"


class RayGroup(models.Model):
    """The head or one worker group of a Ray cluster: pods wanted and there, GPUs given and told."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="ray_groups")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    group = models.CharField(max_length=63)
    desired = models.PositiveIntegerField()
    available = models.PositiveIntegerField()
    pod_gpus = models.PositiveIntegerField(help_text="of one pod, as its containers are limited")
    ray_gpus = models.PositiveIntegerField(help_text="of one pod, as Ray is started with")
    since = models.DateTimeField(help_text="these figures")

    class Meta:
        ordering = ["namespace", "name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid", "group"], name="ray_group_once")
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} {self.group}"

    @property
    def matches(self) -> bool:
        """Whether Ray counts what the pods have."""
        return self.pod_gpus == self.ray_gpus


class StopState(models.TextChoices):
    """How far a job that makes room has come."""

    ASKED = "asked", _("Asked to stop")
    BLOCKED = "blocked", _("Kept by a disruption budget")
    OVERDUE = "overdue", _("Past its grace period")
    STUCK = "stuck", _("Stuck: its GPUs stay taken")
    REFUSED = "refused", _("The cluster refused")
    GONE = "gone", _("Gone")
    DROPPED = "dropped", _("Not needed any more")


class Stop(models.Model):
    """A job that makes room for another: open until its pods are gone, or it need not any more.

    `tasks` is how many of it go; null is all. `resumes` says that we suspended it, so that we let
    it start again also where jobs else start by themselves.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="stops")
    made_for = models.ForeignKey(
        Workload, on_delete=models.SET_NULL, null=True, related_name="stops_for_it"
    )
    tick_id = models.BigIntegerField(help_text="the tick that decided it")
    why = models.CharField(max_length=40)
    tasks = models.PositiveIntegerField(null=True)
    opened_at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=StopState.choices, default=StopState.ASKED)
    message = models.TextField(blank=True, help_text="the cluster's own words")
    resumes = models.BooleanField(default=False)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workload"],
                condition=models.Q(closed_at__isnull=True),
                name="one_open_stop",
            )
        ]

    def __str__(self) -> str:
        return f"{self.workload_id} for {self.made_for_id}"


class Verb(models.TextChoices):
    """What a cluster is asked of a job."""

    START = "start", _("Start")
    SUSPEND = "suspend", _("Suspend")
    UNGATE = "ungate", _("Let a pod start")
    SHRINK = "shrink", _("Run with fewer tasks")
    EVICT = "evict", _("Evict a pod")
    DELETE = "delete", _("Delete a pod")


class Ask(models.Model):
    """One thing asked of a cluster for one job, and its answer; empty is "done".

    `changes` are [field, was, now] each. What is asked again and again until it is answered, such
    as an eviction that a budget forbids, is one row that counts.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="asks")
    tick_id = models.BigIntegerField()
    verb = models.CharField(max_length=8, choices=Verb.choices)
    kind = models.CharField(max_length=40)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    changes = models.JSONField(default=list)
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    answer = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["workload", "-id"], name="ask_newest")]

    def __str__(self) -> str:
        return f"{self.verb} {self.kind} {self.namespace}/{self.name}"
