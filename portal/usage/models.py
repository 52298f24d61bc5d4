"""The ledger of closed intervals and the decayed use each team carries."""

from django.db import models
from django.db.models import F, Q

from portal.inventory.models import Cluster, Pool
from portal.teams.models import Team
from portal.workloads.models import ChargedTo

GRID_SECONDS = 300
IDLE_BELOW_PERCENT = 5
"""A device that computes less of its time than this is held, and hardly used."""


class LedgerEntry(models.Model):
    """One pod held so many milli-GPU from `from_at` until `to_at`, within one 5-minute cell.

    Append-only: the database refuses update and delete. A correction negates the row (`sign` -1)
    and adds the new sight, each under the next revision. Ids are kept, not rows, so that what is
    named here can never be changed by what happens to those rows. Kept for seven years. The
    busiest table: its key and the indexes below serve the foreign keys too.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, db_index=False)
    pod_uid = models.CharField(max_length=64)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=0)
    sign = models.SmallIntegerField(default=1)
    workload_id = models.BigIntegerField()
    reservation_id = models.BigIntegerField(null=True)
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, null=True, related_name="ledger", db_index=False
    )
    user_id = models.BigIntegerField(null=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="ledger", db_index=False)
    node_id = models.BigIntegerField()
    gpu_model = models.CharField(max_length=80)
    gpu_milli = models.PositiveIntegerField()
    cpu_milli = models.PositiveBigIntegerField(default=0)
    memory_mib = models.PositiveBigIntegerField(default=0)
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices)
    seconds = models.PositiveIntegerField(help_text="to_at - from_at")
    source = models.CharField(max_length=12, default="pod")
    estimated = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "pod_uid", "from_at", "revision"], name="ledger_entry_once"
            ),
            models.CheckConstraint(
                name="ledger_interval_in_a_cell",
                condition=Q(to_at__gt=F("from_at")) & Q(seconds__gte=1, seconds__lte=GRID_SECONDS),
            ),
            models.CheckConstraint(name="ledger_sign", condition=Q(sign__in=[1, -1])),
        ]
        indexes = [
            models.Index(fields=["pool", "from_at"], name="ledger_by_pool_time"),
            models.Index(fields=["team", "from_at"], name="ledger_by_team_time"),
            models.Index(fields=["workload_id"], name="ledger_by_workload"),
        ]

    def __str__(self) -> str:
        return f"{self.pod_uid} {self.from_at:%F %T}"


class HourlyUse(models.Model):
    """What the ledger has of one hour, summed: derived from it, and rebuilt from it at any time.

    Pages read sums from here; bills never do. `estimated_milli_seconds` is the part of it that was
    not seen to end; the last two are its part of `MeasuredUse`. An hour named in `StaleHour` is
    not complete here.
    """

    hour = models.DateTimeField()
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, db_index=False)
    pool = models.ForeignKey(
        Pool, on_delete=models.PROTECT, related_name="hourly_use", db_index=False
    )
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, null=True, related_name="hourly_use", db_index=False
    )
    user_id = models.BigIntegerField(null=True)
    workload_id = models.BigIntegerField()
    reservation_id = models.BigIntegerField(null=True)
    gpu_model = models.CharField(max_length=80)
    charged_to = models.CharField(max_length=12, choices=ChargedTo.choices)
    gpu_milli_seconds = models.BigIntegerField()
    estimated_milli_seconds = models.BigIntegerField(default=0)
    measured_milli_seconds = models.BigIntegerField(default=0, db_default=0)
    used_milli_seconds = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        ordering = ["hour", "id"]
        indexes = [
            models.Index(fields=["hour", "cluster"], name="hourly_use_by_hour"),
            models.Index(fields=["team", "hour"], name="hourly_use_by_team"),
            models.Index(fields=["workload_id"], name="hourly_use_by_workload"),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%F %T} {self.pool_id} {self.team_id}: {self.gpu_milli_seconds}"


class StaleHour(models.Model):
    """An hour of a cluster whose ledger has grown since it was summed.

    Whoever appends raises `changes` in the same transaction, and so holds this row until commit;
    whoever sums locks it first, so no row of the ledger is ever missed.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    hour = models.DateTimeField()
    changes = models.PositiveIntegerField(default=1, db_default=1)

    class Meta:
        ordering = ["hour", "cluster_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "hour"], name="stale_hour_once"),
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.hour:%F %T}"


class MeasuredUse(models.Model):
    """How busy the devices of a workload were in one hour, as the cluster's monitoring measured.

    `measured_milli_seconds` is the held GPU-time that was measured, `used_milli_seconds` how much
    of it the devices computed (held time times `GR_ENGINE_ACTIVE`). Shown beside what was
    allocated, never billed. A later measurement of the same hour takes the place of the earlier.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT)
    workload_id = models.BigIntegerField()
    hour = models.DateTimeField()
    measured_milli_seconds = models.BigIntegerField()
    used_milli_seconds = models.BigIntegerField()
    source = models.CharField(max_length=40)
    noted_at = models.DateTimeField()

    class Meta:
        ordering = ["hour", "workload_id"]
        constraints = [
            models.UniqueConstraint(fields=["workload_id", "hour"], name="measured_use_once"),
            models.CheckConstraint(
                name="measured_use_within",
                condition=Q(used_milli_seconds__gte=0)
                & Q(used_milli_seconds__lte=F("measured_milli_seconds")),
            ),
        ]
        indexes = [models.Index(fields=["hour", "workload_id"], name="measured_use_by_hour")]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.hour:%F %T}: {self.used_milli_seconds}"


class Monitoring(models.Model):
    """The Prometheus that scrapes a cluster's dcgm-exporters, and up to when it was read.

    Without an address the cluster is simulated, and so is what it measures. `token` is sealed. `pods` is how many pods its last answer named, ours or not.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="monitoring")
    address = models.CharField(max_length=400, blank=True)
    selector = models.CharField(max_length=400, blank=True, help_text='such as cluster="seoul-1"')
    token = models.TextField(blank=True)
    read_until = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True, help_text="the last answer one could use")
    pods = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cluster_id}: {self.address}"


class DecayedUse(models.Model):
    """A team's use, decayed exactly to `as_of`, in GPU-equivalent seconds over all clusters.

    The engine's `used_gpu_seconds`; grows by what ticks see running, halves every half-life.
    """

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="decayed_use")
    gpu_seconds = models.FloatField(default=0.0)
    as_of = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team_id}: {self.gpu_seconds:.0f}"
