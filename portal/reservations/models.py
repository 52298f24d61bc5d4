"""The calendar's rows and the moves a reservation can make."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Pool
from portal.teams.models import Team


class ReservationState(models.TextChoices):
    """Where a reservation stands."""

    PENDING = "pending", _("Pending")
    ACTIVE = "active", _("Active")
    COMPLETED = "completed", _("Completed")
    CANCELLED = "cancelled", _("Cancelled")
    RELEASED = "released", _("Released")


MOVES: dict[ReservationState, frozenset[ReservationState]] = {
    ReservationState.PENDING: frozenset({ReservationState.ACTIVE, ReservationState.CANCELLED}),
    ReservationState.ACTIVE: frozenset({ReservationState.COMPLETED, ReservationState.RELEASED}),
    ReservationState.COMPLETED: frozenset(),
    ReservationState.CANCELLED: frozenset(),
    ReservationState.RELEASED: frozenset(),
}

HOLDING = (ReservationState.PENDING, ReservationState.ACTIVE)


class Source(models.TextChoices):
    """What a reservation takes its GPUs from."""

    POOL = "pool", _("The pool")
    GUARANTEE = "guarantee", _("The team's own guarantee")


class Reservation(models.Model):
    """GPUs of a pool held for a team, half-open in UTC; `zone` is the one it was asked in.

    An early end (given back, cancelled while open) moves `ends_at`; the planned end stays in
    `planned_ends_at`.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="reservations")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="reservations")
    gpus = models.PositiveIntegerField()
    gpus_per_node = models.PositiveIntegerField(null=True, blank=True)
    source = models.CharField(max_length=12, choices=Source.choices, default=Source.POOL)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    planned_ends_at = models.DateTimeField()
    zone = models.CharField(max_length=64)
    state = models.CharField(
        max_length=12, choices=ReservationState.choices, default=ReservationState.PENDING
    )
    purpose = models.CharField(max_length=200, blank=True)
    request_id = models.BigIntegerField(null=True, help_text="the request it came from")
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["starts_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="reservation_ends_after_it_starts", condition=Q(ends_at__gt=F("starts_at"))
            ),
            models.CheckConstraint(name="reservation_of_something", condition=Q(gpus__gte=1)),
            models.CheckConstraint(
                name="reservation_shape_divides",
                condition=Q(gpus_per_node__isnull=True)
                | Q(gpus_per_node__gte=1, gpus_per_node__lte=F("gpus")),
            ),
        ]
        indexes = [
            models.Index(fields=["pool", "starts_at", "ends_at"], name="reservation_by_pool_time"),
            models.Index(fields=["state", "starts_at"], name="reservation_due"),
        ]

    def __str__(self) -> str:
        return f"R-{self.pk}"


class BookingRule(models.Model):
    """What a pool asks of its reservations; a figure that is null asks nothing.

    `ahead_days`: one begins at most so many days from when it is booked. `extension_hours`: one
    is extended only in its last so many hours. `rest_hours`: so many hours pass between two of one
    team's, so that a row of short ones is not one long one. `grace_minutes`: one that nobody uses
    is given back so long after it began.
    """

    pool = models.OneToOneField(Pool, on_delete=models.CASCADE, related_name="booking_rule")
    longest_hours = models.PositiveIntegerField(null=True, blank=True)
    ahead_days = models.PositiveIntegerField(null=True, blank=True)
    extension_hours = models.PositiveIntegerField(null=True, blank=True)
    rest_hours = models.PositiveIntegerField(null=True, blank=True)
    grace_minutes = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"rules of {self.pool_id}"


class CalendarFeed(models.Model):
    """A team's calendar under an address nobody can guess, until it is revoked.

    Only the digest of its token is kept, so that a copy of the database opens no feed.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="calendar_feeds")
    name = models.CharField(max_length=60, help_text="whose or what it is for")
    digest = models.CharField(max_length=64, unique=True)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
