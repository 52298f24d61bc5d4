"""What people ask, and the thread of each asking."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Pool
from portal.reservations.models import Reservation
from portal.slas.models import Tier
from portal.teams.models import Team, User


class RequestKind(models.TextChoices):
    """What is asked for."""

    RESERVATION = "reservation", _("Reservation")
    EXTENSION = "extension", _("Extension")
    GIVE_BACK = "give_back", _("Early give-back")
    QUOTA = "quota", _("Quota change")
    SLA = "sla", _("SLA change")


class RequestState(models.TextChoices):
    """Where a request stands."""

    DRAFT = "draft", _("Draft")
    SUBMITTED = "submitted", _("Submitted")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


MOVES: dict[RequestState, frozenset[RequestState]] = {
    RequestState.DRAFT: frozenset({RequestState.SUBMITTED, RequestState.CANCELLED}),
    RequestState.SUBMITTED: frozenset(
        {RequestState.APPROVED, RequestState.REJECTED, RequestState.CANCELLED, RequestState.EXPIRED}
    ),
    RequestState.APPROVED: frozenset(),
    RequestState.REJECTED: frozenset(),
    RequestState.CANCELLED: frozenset(),
    RequestState.EXPIRED: frozenset(),
}


class Request(models.Model):
    """One asking. Columns hold what was asked; `granted_gpus` what was agreed, if less.

    A reservation uses gpus, gpus_per_node, source, starts_at, ends_at, zone. A quota change uses
    guaranteed, limit, borrowing_limit, lending_limit, weight, per_user_limit and starts_at (from
    when; null is once approved). An extension and an early give-back are `about` a reservation and
    use its columns beside the new ends_at; an SLA change uses tier, starts_at and ends_at. So many
    people as `approvals_needed` have to agree, none where a rule says so. `version` grows with every change, a comment too, and is the
    ETag. `decided_at` is when it was settled in whatever way; `decided_by` only who agreed or
    said no, which is never who asked or submitted.
    """

    kind = models.CharField(max_length=12, choices=RequestKind.choices)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="requests")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="requests")
    state = models.CharField(
        max_length=12, choices=RequestState.choices, default=RequestState.DRAFT
    )
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="requests")
    reason = models.TextField(blank=True, help_text="why it is needed")
    gpus = models.PositiveIntegerField(null=True)
    gpus_per_node = models.PositiveIntegerField(null=True)
    source = models.CharField(max_length=12, default="pool")
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    zone = models.CharField(max_length=64, blank=True)
    guaranteed = models.PositiveIntegerField(null=True)
    limit = models.PositiveIntegerField(null=True)
    borrowing_limit = models.PositiveIntegerField(null=True)
    lending_limit = models.PositiveIntegerField(null=True)
    weight = models.PositiveIntegerField(null=True)
    per_user_limit = models.PositiveIntegerField(null=True)
    about = models.ForeignKey(
        Reservation, on_delete=models.PROTECT, null=True, related_name="requests_about"
    )
    tier = models.ForeignKey(Tier, on_delete=models.PROTECT, null=True, related_name="requests")
    granted_gpus = models.PositiveIntegerField(null=True)
    approvals_needed = models.PositiveSmallIntegerField(default=1, db_default=1)
    cost_micro = models.BigIntegerField(null=True, help_text="estimate shown at submission")
    currency = models.CharField(max_length=3, blank=True)
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    submitted_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="submitted_requests"
    )
    expires_at = models.DateTimeField(null=True, help_text="a submitted one lapses here")
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="decided_requests"
    )
    decision_note = models.TextField(blank=True)
    cancelled_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="cancelled_requests"
    )
    reservation_id = models.BigIntegerField(null=True, help_text="what it became")
    quota_id = models.BigIntegerField(null=True, help_text="what it became")
    sla_id = models.BigIntegerField(null=True, help_text="what it became")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="request_ends_after_it_starts",
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
            ),
            models.CheckConstraint(
                name="rejected_with_a_reason", condition=~Q(state="rejected") | ~Q(decision_note="")
            ),
            models.CheckConstraint(
                name="nobody_decides_their_own",
                condition=Q(decided_by__isnull=True) | ~Q(decided_by=F("requested_by")),
            ),
            models.CheckConstraint(
                name="nobody_decides_what_they_submitted",
                condition=Q(decided_by__isnull=True)
                | Q(submitted_by__isnull=True)
                | ~Q(decided_by=F("submitted_by")),
            ),
            models.CheckConstraint(
                name="reservation_granted_within_what_was_asked",
                condition=~Q(kind="reservation")
                | Q(granted_gpus__isnull=True)
                | Q(granted_gpus__gte=1, granted_gpus__lte=F("gpus")),
            ),
            models.CheckConstraint(
                name="quota_granted_within_what_was_asked",
                condition=~Q(kind="quota")
                | Q(granted_gpus__isnull=True)
                | Q(granted_gpus__lte=F("guaranteed")),
            ),
        ]
        indexes = [
            models.Index(fields=["state", "-id"], name="request_by_state"),
            models.Index(fields=["team", "state"], name="request_by_team"),
            models.Index(fields=["pool", "state", "starts_at"], name="request_soft_holds"),
        ]

    def __str__(self) -> str:
        return f"request {self.pk}"


class Comment(models.Model):
    """What somebody said on a request."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="request_comments")
    at = models.DateTimeField()
    text = models.TextField()

    class Meta:
        ordering = ["at", "id"]

    def __str__(self) -> str:
        return f"{self.author_id} on {self.request_id}"


class Approval(models.Model):
    """One person agreed to a request; the last one needed approves it."""

    request = models.ForeignKey(Request, on_delete=models.CASCADE, related_name="approvals")
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="approvals")
    at = models.DateTimeField()
    granted_gpus = models.PositiveIntegerField()
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["request", "by"], name="nobody_agrees_twice")
        ]

    def __str__(self) -> str:
        return f"{self.by_id} agreed to {self.request_id}"


class ApprovalRule(models.Model):
    """So many people have to agree to a request that reaches every figure given here.

    A figure that is null is reached by all. Of the rules a request meets the strictest counts.
    """

    pool = models.ForeignKey(
        Pool, on_delete=models.CASCADE, null=True, blank=True, related_name="approval_rules"
    )
    min_gpus = models.PositiveIntegerField(null=True, blank=True)
    min_hours = models.PositiveIntegerField(null=True, blank=True)
    min_cost_micro = models.BigIntegerField(null=True, blank=True)
    approvals = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["pool_id", "approvals", "id"]
        constraints = [
            models.CheckConstraint(
                name="approval_rule_needs_two_at_most", condition=Q(approvals__lte=2)
            )
        ]

    def __str__(self) -> str:
        return f"{self.approvals} in {self.pool_id}"
