"""What somebody was told, how they want to be told, and which programs are told too."""

from django.conf import settings
from django.db import models

from portal.teams.models import Team

SEALED = "hook"
"""The purpose under which addresses and secrets of hooks are sealed."""


class Mailing(models.TextChoices):
    """When a kind of news is sent by e-mail; the inbox has it in any case."""

    NOW = "now", "at once"
    DAILY = "daily", "once a day"
    NEVER = "never", "never"


class Progress(models.Model):
    """How far the audit chain has been read; one row, locked while more is read."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    last_event_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"up to {self.last_event_id}"


class Notification(models.Model):
    """One piece of news for one person. `at` is real time. Kept for a year."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    event_id = models.BigIntegerField(help_text="the audit line it tells of")
    kind = models.CharField(max_length=24)
    action = models.CharField(max_length=80)
    actor_id = models.BigIntegerField(null=True)
    target_type = models.CharField(max_length=40)
    target_id = models.BigIntegerField(null=True)
    team_id = models.BigIntegerField(null=True)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    digested_at = models.DateTimeField(null=True, help_text="when a daily mail took it along")

    class Meta:
        ordering = ["-event_id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "event_id"], name="told_once_a_person")
        ]
        indexes = [
            models.Index(
                fields=["user"], condition=models.Q(read_at=None), name="notifications_unread"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} to {self.user_id}"


class Preference(models.Model):
    """How one person wants one kind of news by e-mail; no row: as the kind has it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    kind = models.CharField(max_length=24)
    mailing = models.CharField(max_length=8, choices=Mailing.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "kind"], name="one_preference_a_kind")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.kind}: {self.mailing}"


class Hook(models.Model):
    """A program or a chat room that is told, of one branch of the tree or of everything.

    `address` is sealed: the address of a chat holds its key. So is `secret`, which signs webhooks.
    """

    class Way(models.TextChoices):
        """How it is told."""

        WEBHOOK = "webhook", "webhook"
        CHAT = "chat", "chat"

    name = models.CharField(max_length=80)
    way = models.CharField(max_length=8, choices=Way.choices)
    address = models.TextField(help_text="sealed")
    secret = models.TextField(blank=True, help_text="sealed")
    kinds = models.JSONField(default=list, help_text="kinds of news; empty: all")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name
