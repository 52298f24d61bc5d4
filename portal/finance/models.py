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
    included. `version` grows with every change and is the ETag. A correction by finance makes the
    next revision, Final as well; the one before it is kept as superseded and counts no more.
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
    superseded_at = models.DateTimeField(null=True, help_text="a later revision took its place")
    reason = models.TextField(blank=True, db_default="", help_text="why there is this revision")
    revised_by_id = models.BigIntegerField(null=True)
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
            models.UniqueConstraint(
                fields=["team", "month"],
                condition=Q(team__isnull=False, superseded_at__isnull=True),
                name="one_standing_statement_a_month",
            ),
            models.UniqueConstraint(
                fields=["month"],
                condition=Q(team__isnull=True, superseded_at__isnull=True),
                name="one_standing_organisation_statement",
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


class LineComment(models.Model):
    """What somebody says about a statement or one of its lines; kept, never edited.

    It belongs to the team's month and to a line by what the line is for, so that it outlives both
    a new computing and a revision. Without `line_key` it is about the whole statement.
    """

    month = models.ForeignKey(Month, on_delete=models.PROTECT, related_name="comments")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    line_key = models.CharField(max_length=160, blank=True)
    text = models.TextField()
    author_id = models.BigIntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["at", "id"]
        indexes = [models.Index(fields=["month", "team"], name="line_comment_by_statement")]

    def __str__(self) -> str:
        return f"{self.month_id} {self.team_id}: {self.text[:40]}"


class BudgetPeriod(models.TextChoices):
    """How long a budget is for before it begins anew."""

    MONTH = "month", _("A month")
    QUARTER = "quarter", _("A quarter")
    YEAR = "year", _("A year")


class Budget(models.Model):
    """What a team, with all below it, may spend in each period: money or GPU-time.

    Dated rows like rate cards: setting the next closes the open one. Amounts are without tax.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="budgets")
    period = models.CharField(max_length=8, choices=BudgetPeriod.choices)
    amount_micro = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, blank=True)
    gpu_milli_seconds = models.BigIntegerField(null=True)
    refuses = models.BooleanField(
        default=False, help_text="what would go beyond it cannot be asked for"
    )
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["team_id", "valid_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["team"], condition=Q(valid_to__isnull=True), name="one_open_budget_a_team"
            ),
            models.CheckConstraint(
                name="budget_in_money_or_time",
                condition=Q(amount_micro__gt=0, gpu_milli_seconds__isnull=True)
                | Q(amount_micro__isnull=True, gpu_milli_seconds__gt=0),
            ),
            models.CheckConstraint(
                name="budget_ends_after_it_begins",
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.period} from {self.valid_from:%F}"


class BudgetAlert(models.Model):
    """A budget was used to so many percent in one of its periods; noted once."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="alerts")
    period_starts_at = models.DateTimeField()
    percent = models.PositiveSmallIntegerField()
    spent = models.BigIntegerField(help_text="micro-units, or milli-GPU-seconds")
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-percent"]
        constraints = [
            models.UniqueConstraint(
                fields=["budget", "period_starts_at", "percent"], name="budget_alert_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.budget_id} {self.percent} %"


class Presentation(models.Model):
    """How the bill is shown: one row at most, the newest settings of the organisation."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    shows_money = models.BooleanField(default=True, help_text="off: GPU-hours only, showback")
    changed_at = models.DateTimeField()
    changed_by_id = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="one_presentation", condition=Q(id=1))]

    def __str__(self) -> str:
        return "money" if self.shows_money else "GPU-hours"


class StatementPrint(models.Model):
    """A statement printed once for each version of it and each language.

    Laying out takes seconds, so a worker does it; `content` null is "asked for, not done yet".
    """

    statement = models.ForeignKey(Statement, on_delete=models.CASCADE, related_name="prints")
    version = models.PositiveIntegerField()
    language = models.CharField(max_length=8)
    content = models.BinaryField(null=True)
    fault = models.TextField(blank=True)
    asked_at = models.DateTimeField()
    printed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["asked_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["statement", "version", "language"], name="statement_printed_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.statement_id} v{self.version} {self.language}"
