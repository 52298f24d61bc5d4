"""Policies, ticks, and what each tick decided, shared out and left waiting."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Cluster, Pool
from portal.teams.models import Team
from portal.workloads.models import ChargedTo, Workload


class Policy(models.Model):
    """The rules a cluster's ticks follow from `valid_from` on; the newest begun row counts.

    `rules` is the `policy` object of the engine's contract.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="policies")
    rules = models.JSONField()
    valid_from = models.DateTimeField()
    created_by_id = models.BigIntegerField(null=True)
    note = models.TextField(blank=True, default="", db_default="", help_text="why it was set")

    class Meta:
        ordering = ["cluster_id", "valid_from", "id"]

    def __str__(self) -> str:
        return f"{self.cluster_id} from {self.valid_from:%F %T}"


class TickState(models.TextChoices):
    """How a tick ended."""

    DONE = "done", _("Done")
    STALE = "stale", _("Skipped: the cluster's state is too old")
    FAILED = "failed", _("Failed")


class Tick(models.Model):
    """One cycle of one cluster. `snapshot` is the engine's input, compressed JSON.

    Snapshots are kept 24 hours all, 30 days where something started or stopped; rows 400 days.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="ticks")
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=TickState.choices)
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, null=True)
    fence = models.BigIntegerField(default=0)
    started_real_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField(default=0)
    waiting = models.PositiveIntegerField(default=0)
    running = models.PositiveIntegerField(default=0)
    starts = models.PositiveIntegerField(default=0)
    preemptions = models.PositiveIntegerField(default=0)
    jain = models.FloatField(null=True)
    placement_mode = models.CharField(max_length=12, blank=True)
    fragmentation = models.JSONField(default=list)
    snapshot = models.BinaryField(null=True)
    message = models.TextField(blank=True)

    class Meta:
        ordering = ["cluster_id", "at", "id"]
        indexes = [models.Index(fields=["cluster", "-at"], name="tick_newest")]

    def __str__(self) -> str:
        return f"tick {self.pk}"


class Verb(models.TextChoices):
    """What a tick says of one workload."""

    START = "start", _("Start")
    RUN = "run", _("Run on")
    WAIT = "wait", _("Wait")
    PREEMPT = "preempt", _("Make room")


class Decision(models.Model):
    """What a tick decided of a workload; a row only when verb, reason or planned start changed."""

    tick = models.ForeignKey(Tick, on_delete=models.CASCADE, related_name="decisions")
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="decisions")
    verb = models.CharField(max_length=8, choices=Verb.choices)
    reason = models.CharField(max_length=40, blank=True)
    detail = models.JSONField(default=dict)
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices, blank=True)
    planned_start = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tick", "workload"], name="one_decision_a_tick")
        ]
        indexes = [models.Index(fields=["workload", "-id"], name="decision_newest")]

    def __str__(self) -> str:
        return f"{self.workload_id}: {self.verb} {self.reason}"


class Standing(models.Model):
    """What the newest tick says of an open workload, its position included."""

    workload = models.OneToOneField(Workload, on_delete=models.CASCADE, related_name="standing")
    tick = models.ForeignKey(Tick, on_delete=models.CASCADE)
    verb = models.CharField(max_length=8, choices=Verb.choices)
    reason = models.CharField(max_length=40, blank=True)
    detail = models.JSONField(default=dict)
    position = models.PositiveIntegerField(null=True)
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices, blank=True)
    planned_start = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.workload_id}: {self.verb} {self.reason}"


class Share(models.Model):
    """One team in one pool at a tick, in milli-GPU; `*_gpus` are what Kubernetes may be told."""

    tick = models.ForeignKey(Tick, on_delete=models.CASCADE, related_name="shares")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="shares")
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="shares")
    guaranteed = models.BigIntegerField()
    reserved = models.BigIntegerField()
    fair_share = models.BigIntegerField()
    allocated = models.BigIntegerField()
    borrowed = models.BigIntegerField()
    lent = models.BigIntegerField()
    available = models.BigIntegerField()
    dominant_share = models.FloatField()
    satisfaction = models.FloatField()
    factor = models.FloatField(null=True)
    guaranteed_gpus = models.PositiveIntegerField()
    burst_gpus = models.PositiveIntegerField()

    class Meta:
        ordering = ["tick_id", "pool_id", "team_id"]
        constraints = [
            models.UniqueConstraint(fields=["tick", "team", "pool"], name="one_share_a_tick"),
            models.CheckConstraint(
                name="share_amounts_not_negative",
                condition=Q(guaranteed__gte=0, reserved__gte=0, allocated__gte=0, borrowed__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.allocated} of {self.pool_id}"


class Forecast(models.Model):
    """When a waiting workload was thought to start; a row only when the outlook moved.

    `p50` and `p90` are the moments by which it had started in half and in nine tenths of the draws;
    null is "nobody can say". `first` marks the first of each wait, which is the one that is judged.
    `started_at` is when it then started. `grace_seconds` is how far apart ticks came, since nothing
    starts between two. All rows are kept 48 hours, the first ones 400 days.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="forecasts")
    made_at = models.DateTimeField()
    first = models.BooleanField()
    p50 = models.DateTimeField(null=True)
    p90 = models.DateTimeField(null=True)
    grace_seconds = models.PositiveIntegerField()
    started_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="forecast_p90_not_before_p50",
                condition=Q(p90__isnull=True) | Q(p50__isnull=False, p90__gte=F("p50")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["workload", "-id"], name="forecast_open",
                condition=Q(started_at__isnull=True),
            ),
            models.Index(fields=["first", "made_at"], name="forecast_to_judge"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.workload_id}: {self.p50} to {self.p90}"
