"""Dated quotas: what a team is promised and may use at most in a pool."""

from django.db import models
from django.db.models import F, Q

from portal.inventory.models import Pool
from portal.teams.models import Team


class Quota(models.Model):
    """One team's figures in one pool, in whole devices, from `valid_from` until `valid_to`.

    `limit` null is no cap, `weight` null is the team's own. Rows of one team and pool never
    overlap: `services.change` closes one and opens the next under the pool's lock.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="quotas")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="quotas")
    guaranteed = models.PositiveIntegerField()
    limit = models.PositiveIntegerField(null=True, blank=True)
    borrowing_limit = models.PositiveIntegerField(null=True, blank=True)
    lending_limit = models.PositiveIntegerField(null=True, blank=True)
    weight = models.PositiveIntegerField(null=True, blank=True)
    per_user_limit = models.PositiveIntegerField(null=True, blank=True)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    request_id = models.BigIntegerField(null=True, help_text="the request it came from")
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pool_id", "team_id", "valid_from"]
        constraints = [
            models.CheckConstraint(
                name="quota_ends_after_it_begins",
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
            ),
            models.CheckConstraint(
                name="quota_guarantee_within_limit",
                condition=Q(limit__isnull=True) | Q(guaranteed__lte=F("limit")),
            ),
            models.UniqueConstraint(
                fields=["team", "pool"], condition=Q(valid_to__isnull=True), name="one_open_quota"
            ),
            models.UniqueConstraint(
                fields=["team", "pool", "valid_from"], name="one_quota_beginning_at_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.guaranteed}/{self.limit} of {self.pool_id}"
