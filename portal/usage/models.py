"""The ledger of closed intervals and the decayed use each team carries."""

from django.db import models
from django.db.models import F, Q

from portal.inventory.models import Cluster, Pool
from portal.teams.models import Team
from portal.workloads.models import ChargedTo

GRID_SECONDS = 300


class LedgerEntry(models.Model):
    """One pod held so many milli-GPU from `from_at` until `to_at`, within one 5-minute cell.

    Append-only: the database refuses update and delete. A correction negates the row (`sign` -1)
    and adds the new sight, each under the next revision. Ids are kept, not rows, so that what is
    named here can never be changed by what happens to those rows. Kept for seven years.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT)
    pod_uid = models.CharField(max_length=64)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=0)
    sign = models.SmallIntegerField(default=1)
    workload_id = models.BigIntegerField()
    reservation_id = models.BigIntegerField(null=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="ledger")
    user_id = models.BigIntegerField(null=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="ledger")
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


class DecayedUse(models.Model):
    """A team's use, decayed exactly to `as_of`, in GPU-equivalent seconds over all clusters.

    The engine's `used_gpu_seconds`; grows by what ticks see running, halves every half-life.
    """

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="decayed_use")
    gpu_seconds = models.FloatField(default=0.0)
    as_of = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team_id}: {self.gpu_seconds:.0f}"
