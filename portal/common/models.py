"""Rows every room needs: the audit chain, the clock, leases and remembered answers."""

from django.db import models


class AuditEvent(models.Model):
    """One thing somebody did, chained by hash to the one before; never changed, never deleted.

    People are named by id only, so that erasing a person touches no row here. `at` is real time.
    Kept for as long as the installation stands.
    """

    at = models.DateTimeField()
    actor_id = models.BigIntegerField(null=True, help_text="null: the system itself")
    action = models.CharField(max_length=80, help_text="room.verb, such as requests.approved")
    target_type = models.CharField(max_length=40)
    target_id = models.BigIntegerField(null=True)
    team_id = models.BigIntegerField(null=True, help_text="whose branch may read this line")
    data = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["target_type", "target_id"], name="audit_by_target"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target_type} {self.target_id}"


class AuditHead(models.Model):
    """The newest hash of the chain; the row to lock before a line is added."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.hash


class ClockAnchor(models.Model):
    """From `real_at` on, the organisation's time runs from `organisation_at` at `speed`.

    No row: the organisation's time is real time. The newest row counts.
    """

    real_at = models.DateTimeField()
    organisation_at = models.DateTimeField()
    speed = models.PositiveIntegerField(default=1, help_text="organisation seconds a real second")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="clock_speed_positive", condition=models.Q(speed__gte=1))
        ]

    def __str__(self) -> str:
        return f"{self.organisation_at:%F %T} x{self.speed}"


class Lease(models.Model):
    """Who may write a thing now. Each taking raises `fence`; a write with a lower one is refused."""

    name = models.CharField(max_length=80, unique=True)
    holder = models.CharField(max_length=120, blank=True)
    fence = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name}: {self.holder} ({self.fence})"


class IdempotencyKey(models.Model):
    """The answer once given to a write, so that a repeat gets it again and changes nothing.

    Kept for 24 hours of real time.
    """

    user_id = models.BigIntegerField()
    key = models.CharField(max_length=120)
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=400)
    body_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, help_text="null: the first is under way")
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user_id", "key"], name="idempotency_key_once")
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.method} {self.path}"
