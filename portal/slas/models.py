"""Tiers, whose they are from when to when, and the promises that were broken."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Pool
from portal.teams.models import Team, User
from portal.workloads.models import Workload


class Tier(models.Model):
    """A promise by name. Its figures never change, so that what was promised stays true."""

    name = models.CharField(max_length=60, unique=True)
    target_wait_seconds = models.PositiveIntegerField()
    goal_permille = models.PositiveSmallIntegerField(
        default=950, help_text="of the jobs that should start in time"
    )
    answer_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="a request is answered within; null: no target"
    )
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["target_wait_seconds", "id"]
        constraints = [
            models.CheckConstraint(
                name="tier_goal_is_a_part",
                condition=Q(goal_permille__gte=1, goal_permille__lte=1000),
            ),
            models.CheckConstraint(
                name="tier_waits_for_some_time", condition=Q(target_wait_seconds__gte=1)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Sla(models.Model):
    """A team's tier, in one pool or (pool null) in all that have none of their own.

    Teams below it that have none of their own fall under it. Rows of one team and pool never
    overlap: `services.set_sla` closes one and opens the next under the team's lock.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="slas")
    pool = models.ForeignKey(
        Pool, on_delete=models.PROTECT, null=True, blank=True, related_name="slas"
    )
    tier = models.ForeignKey(Tier, on_delete=models.PROTECT, related_name="slas")
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    request_id = models.BigIntegerField(null=True, help_text="the request it came from")
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["team_id", "pool_id", "valid_from"]
        constraints = [
            models.CheckConstraint(
                name="sla_ends_after_it_begins",
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
            ),
            models.UniqueConstraint(
                fields=["team", "pool"],
                condition=Q(valid_to__isnull=True, pool__isnull=False),
                name="one_open_sla_in_a_pool",
            ),
            models.UniqueConstraint(
                fields=["team"],
                condition=Q(valid_to__isnull=True, pool__isnull=True),
                name="one_open_sla_in_all_pools",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.tier_id} in {self.pool_id}"


class BreachKind(models.TextChoices):
    """What came too late."""

    WAIT = "wait", _("A job waited too long")
    ANSWER = "answer", _("A request was answered too late")


class Breach(models.Model):
    """One promise not kept: since when, until when, who looks after it and what they say.

    `workload` is what waited, `request_id` what nobody answered; one of the two. `ended_at` null
    is still late. Kept for as long as the installation stands.
    """

    kind = models.CharField(max_length=8, choices=BreachKind.choices)
    sla = models.ForeignKey(Sla, on_delete=models.PROTECT, related_name="breaches")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="breaches")
    workload = models.OneToOneField(
        Workload, on_delete=models.CASCADE, null=True, related_name="breach"
    )
    request_id = models.BigIntegerField(null=True, unique=True, help_text="the request, if one")
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    owner = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="owned_breaches"
    )
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="acknowledged_breaches"
    )
    note = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-due_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="breach_of_a_job_or_a_request",
                condition=Q(kind="wait", workload__isnull=False, request_id__isnull=True)
                | Q(kind="answer", workload__isnull=True, request_id__isnull=False),
            ),
            models.CheckConstraint(
                name="breach_acknowledged_by_somebody",
                condition=Q(acknowledged_at__isnull=True) | Q(acknowledged_by__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["team", "-due_at"], name="breach_by_team"),
            models.Index(fields=["ended_at", "-due_at"], name="breach_still_late"),
        ]

    def __str__(self) -> str:
        return f"breach {self.pk}"
