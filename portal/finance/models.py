"""Dated rate cards and statements. Money is integer micro-units of the currency."""

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import GPUModel, Pool
from portal.teams.models import Team


class IdleRule(models.TextChoices):
    """What happens to the cost of capacity nobody used."""

    OWN_LINE = "own_line", _("Its own line, borne by the organisation")
    BY_GUARANTEE = "by_guarantee", _("Shared by guarantee")
    BY_USE = "by_use", _("Shared by use")
    EQUALLY = "equally", _("Shared equally")


class RateCard(models.Model):
    """Prices from `valid_from` until `valid_to`, half-open; rows never overlap, never change.

    Tax is in basis points (1000 = 10 %) and shown apart.
    """

    name = models.CharField(max_length=80)
    currency = models.CharField(max_length=3)
    tax_basis_points = models.PositiveIntegerField(default=0)
    idle_rule = models.CharField(max_length=12, choices=IdleRule.choices, default=IdleRule.OWN_LINE)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["valid_from"]
        constraints = [
            models.CheckConstraint(
                name="rate_card_ends_after_it_begins",
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
            ),
            models.UniqueConstraint(
                Case(When(valid_to__isnull=True, then=Value(1))), name="one_open_rate_card"
            ),
            models.UniqueConstraint(fields=["valid_from"], name="one_rate_card_beginning_at_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Rate(models.Model):
    """What a GPU-hour costs, of one pool or of every pool of a GPU model without a rate of its own.

    Multipliers are in thousandths (800 = 0.8).
    """

    card = models.ForeignKey(RateCard, on_delete=models.CASCADE, related_name="rates")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, null=True, related_name="rates")
    gpu_model = models.ForeignKey(
        GPUModel, on_delete=models.PROTECT, null=True, related_name="rates"
    )
    gpu_hour_micro = models.BigIntegerField()
    guaranteed_milli = models.PositiveIntegerField(default=1000)
    reserved_milli = models.PositiveIntegerField(default=1000)
    borrowed_milli = models.PositiveIntegerField(default=1000)
    reserved_unused_milli = models.PositiveIntegerField(default=1000)

    class Meta:
        ordering = ["card_id", "pool_id", "gpu_model_id"]
        constraints = [
            models.UniqueConstraint(fields=["card", "pool"], name="one_rate_per_pool"),
            models.UniqueConstraint(fields=["card", "gpu_model"], name="one_rate_per_gpu_model"),
            models.CheckConstraint(
                name="rate_of_a_pool_or_a_model",
                condition=Q(pool__isnull=True, gpu_model__isnull=False)
                | Q(pool__isnull=False, gpu_model__isnull=True),
            ),
            models.CheckConstraint(name="rate_not_negative", condition=Q(gpu_hour_micro__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.card_id} {self.pool_id or self.gpu_model_id}: {self.gpu_hour_micro}"


class StatementState(models.TextChoices):
    """Where a statement stands; a correction makes a revision, never an edit."""

    OPEN = "open", _("Open")
    FINAL = "final", _("Final")
    PAID = "paid", _("Paid")


class Month(models.Model):
    """The books of one month: the row to lock before any statement of the month changes.

    A month begins where the one before it ended, also when the billing zone was changed between.
    `ledger_rows` is how many rows of the ledger are billed: a Final month with more has late
    ones, which the next month adjusts. Paid is a state of statements, never of months.
    """

    name = models.CharField(max_length=7, unique=True, help_text="such as 2026-11")
    starts_at = models.DateTimeField(unique=True)
    ends_at = models.DateTimeField()
    zone = models.CharField(max_length=64, help_text="it was cut in this zone")
    state = models.CharField(
        max_length=8, choices=StatementState.choices, default=StatementState.OPEN
    )
    computed_at = models.DateTimeField(null=True, help_text="as of")
    ledger_rows = models.BigIntegerField(default=0)
    closed_at = models.DateTimeField(null=True)
    closed_by_id = models.BigIntegerField(null=True)

    class Meta:
        ordering = ["-starts_at"]
        constraints = [
            models.CheckConstraint(
                name="month_ends_after_it_begins", condition=Q(ends_at__gt=F("starts_at"))
            ),
            models.CheckConstraint(
                name="month_open_or_final", condition=Q(state__in=["open", "final"])
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Statement(models.Model):
    """One team's bill for one month; `team` null is the organisation's own part.

    The organisation's part holds what no team bears: unowned, idle, maintenance, down and the
    rate difference, so that all statements of a month add up to the pools' cost; it bears no tax,
    since nobody is billed. While Open its lines are computed anew; Final ones are frozen, names
    included. `version` grows with every change and is the ETag.
    """

    month = models.ForeignKey(Month, on_delete=models.PROTECT, related_name="statements")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="statements")
    team_name = models.CharField(max_length=120, blank=True)
    team_path = models.CharField(max_length=400, blank=True)
    period_starts_at = models.DateTimeField()
    period_ends_at = models.DateTimeField()
    zone = models.CharField(max_length=64, help_text="the month was cut in this zone")
    revision = models.PositiveIntegerField(default=0)
    state = models.CharField(
        max_length=8, choices=StatementState.choices, default=StatementState.OPEN
    )
    currency = models.CharField(max_length=3)
    total_micro = models.BigIntegerField(default=0, help_text="sum of the lines, without tax")
    tax_micro = models.BigIntegerField(default=0)
    computed_at = models.DateTimeField(help_text="as of")
    closed_at = models.DateTimeField(null=True)
    paid_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-period_starts_at", "team_name", "-revision", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "month", "revision"], name="one_statement_a_month"
            ),
            models.UniqueConstraint(
                fields=["month", "revision"],
                condition=Q(team__isnull=True),
                name="one_organisation_statement_a_month",
            ),
            models.CheckConstraint(
                name="statement_ends_after_it_begins",
                condition=Q(period_ends_at__gt=F("period_starts_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_name} {self.period_starts_at:%Y-%m} r{self.revision}"


class LineKind(models.TextChoices):
    """What a line of a statement is for."""

    USE = "use", _("Use")
    RESERVED_UNUSED = "reserved_unused", _("Reserved, not used")
    UNOWNED = "unowned", _("Work of no team")
    IDLE = "idle", _("Idle")
    IDLE_SHARE = "idle_share", _("Share of idle")
    MAINTENANCE = "maintenance", _("Maintenance")
    DOWN = "down", _("Down")
    BEYOND = "beyond", _("Use beyond the known nodes")
    RATE_DIFFERENCE = "rate_difference", _("Rate difference")
    ADJUSTMENT = "adjustment", _("Adjustment")


class StatementLine(models.Model):
    """One line: so many milli-GPU-seconds of a pool at a rate; the amount is rounded once.

    An adjustment carries in `adjusts` the kind of the earlier line and in `from_at` and `to_at`
    that line's period.
    """

    statement = models.ForeignKey(Statement, on_delete=models.CASCADE, related_name="lines")
    kind = models.CharField(max_length=16, choices=LineKind.choices)
    adjusts = models.CharField(max_length=16, choices=LineKind.choices, blank=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, null=True)
    pool_name = models.CharField(max_length=50, blank=True)
    gpu_model = models.CharField(max_length=80, blank=True)
    charged_to = models.CharField(max_length=12, blank=True)
    reservation_id = models.BigIntegerField(null=True)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField()
    gpu_milli_seconds = models.BigIntegerField(default=0)
    rate_micro = models.BigIntegerField(default=0, help_text="a GPU-hour, multiplier applied")
    amount_micro = models.BigIntegerField()
    tax_basis_points = models.PositiveIntegerField(default=0)
    rate_card_id = models.BigIntegerField(null=True, help_text="null: no rate was set")
    idle_rule = models.CharField(max_length=12, choices=IdleRule.choices, blank=True)

    class Meta:
        ordering = ["statement_id", "id"]
        indexes = [models.Index(fields=["from_at", "kind"], name="statement_line_by_time")]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_micro}"
