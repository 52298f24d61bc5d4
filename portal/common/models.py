"""Rows every room needs: the audit chain, the clock, leases, remembered answers, the outbox."""

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


class Channel(models.TextChoices):
    """Ways out of the portal."""

    MAIL = "mail", "e-mail"
    WEBHOOK = "webhook", "webhook"
    CHAT = "chat", "chat"


class OutboxMessage(models.Model):
    """Something to be sent to the world; see `common.outbox`. Times are real. Kept for 90 days."""

    key = models.CharField(max_length=160, unique=True, help_text="what makes it this message")
    channel = models.CharField(max_length=8, choices=Channel.choices)
    address = models.CharField(max_length=400, help_text="an e-mail address, or whose webhook")
    subject = models.CharField(max_length=200, blank=True)
    body = models.TextField()
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=400, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(sent_at=None, given_up_at=None),
                name="outbox_due",
            )
        ]

    def __str__(self) -> str:
        return self.key
