import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("teams", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Month",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(help_text="such as 2026-11", max_length=7, unique=True)),
                ("starts_at", models.DateTimeField(unique=True)),
                ("ends_at", models.DateTimeField()),
                ("zone", models.CharField(help_text="it was cut in this zone", max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("final", "Final"), ("paid", "Paid")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("computed_at", models.DateTimeField(help_text="as of", null=True)),
                ("ledger_rows", models.BigIntegerField(default=0)),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by_id", models.BigIntegerField(null=True)),
            ],
            options={
                "ordering": ["-starts_at"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))),
                        name="month_ends_after_it_begins",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "final"])),
                        name="month_open_or_final",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RateCard",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("currency", models.CharField(max_length=3)),
                ("tax_basis_points", models.PositiveIntegerField(default=0)),
                (
                    "idle_rule",
                    models.CharField(
                        choices=[
                            ("own_line", "Its own line, borne by the organisation"),
                            ("by_guarantee", "Shared by guarantee"),
                            ("by_use", "Shared by use"),
                            ("equally", "Shared equally"),
                        ],
                        default="own_line",
                        max_length=12,
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(null=True)),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["valid_from"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_to__isnull", True),
                            ("valid_to__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="rate_card_ends_after_it_begins",
                    ),
                    models.UniqueConstraint(
                        models.Case(models.When(then=models.Value(1), valid_to__isnull=True)),
                        name="one_open_rate_card",
                    ),
                    models.UniqueConstraint(
                        fields=("valid_from",), name="one_rate_card_beginning_at_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Statement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("team_name", models.CharField(blank=True, max_length=120)),
                ("team_path", models.CharField(blank=True, max_length=400)),
                ("period_starts_at", models.DateTimeField()),
                ("period_ends_at", models.DateTimeField()),
                (
                    "zone",
                    models.CharField(help_text="the month was cut in this zone", max_length=64),
                ),
                ("revision", models.PositiveIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("final", "Final"), ("paid", "Paid")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                (
                    "total_micro",
                    models.BigIntegerField(default=0, help_text="sum of the lines, without tax"),
                ),
                ("tax_micro", models.BigIntegerField(default=0)),
                ("computed_at", models.DateTimeField(help_text="as of")),
                ("closed_at", models.DateTimeField(null=True)),
                ("paid_at", models.DateTimeField(null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "month",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="statements",
                        to="finance.month",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="statements",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-period_starts_at", "team_name", "-revision", "id"],
            },
        ),
        migrations.CreateModel(
            name="StatementLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("use", "Use"),
                            ("reserved_unused", "Reserved, not used"),
                            ("unowned", "Work of no team"),
                            ("idle", "Idle"),
                            ("idle_share", "Share of idle"),
                            ("maintenance", "Maintenance"),
                            ("down", "Down"),
                            ("beyond", "Use beyond the known nodes"),
                            ("rate_difference", "Rate difference"),
                            ("adjustment", "Adjustment"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "adjusts",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("use", "Use"),
                            ("reserved_unused", "Reserved, not used"),
                            ("unowned", "Work of no team"),
                            ("idle", "Idle"),
                            ("idle_share", "Share of idle"),
                            ("maintenance", "Maintenance"),
                            ("down", "Down"),
                            ("beyond", "Use beyond the known nodes"),
                            ("rate_difference", "Rate difference"),
                            ("adjustment", "Adjustment"),
                        ],
                        max_length=16,
                    ),
                ),
                ("pool_name", models.CharField(blank=True, max_length=50)),
                ("gpu_model", models.CharField(blank=True, max_length=80)),
                ("charged_to", models.CharField(blank=True, max_length=12)),
                ("reservation_id", models.BigIntegerField(null=True)),
                ("from_at", models.DateTimeField()),
                ("to_at", models.DateTimeField()),
                ("gpu_milli_seconds", models.BigIntegerField(default=0)),
                (
                    "rate_micro",
                    models.BigIntegerField(default=0, help_text="a GPU-hour, multiplier applied"),
                ),
                ("amount_micro", models.BigIntegerField()),
                ("tax_basis_points", models.PositiveIntegerField(default=0)),
                (
                    "rate_card_id",
                    models.BigIntegerField(help_text="null: no rate was set", null=True),
                ),
                (
                    "idle_rule",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("own_line", "Its own line, borne by the organisation"),
                            ("by_guarantee", "Shared by guarantee"),
                            ("by_use", "Shared by use"),
                            ("equally", "Shared equally"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, to="inventory.pool"
                    ),
                ),
                (
                    "statement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lines",
                        to="finance.statement",
                    ),
                ),
            ],
            options={
                "ordering": ["statement_id", "id"],
            },
        ),
        migrations.CreateModel(
            name="Rate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("gpu_hour_micro", models.BigIntegerField()),
                ("guaranteed_milli", models.PositiveIntegerField(default=1000)),
                ("reserved_milli", models.PositiveIntegerField(default=1000)),
                ("borrowed_milli", models.PositiveIntegerField(default=1000)),
                ("reserved_unused_milli", models.PositiveIntegerField(default=1000)),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rates",
                        to="inventory.pool",
                    ),
                ),
                (
                    "card",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rates",
                        to="finance.ratecard",
                    ),
                ),
            ],
            options={
                "ordering": ["card_id", "pool_id"],
                "constraints": [
                    models.UniqueConstraint(fields=("card", "pool"), name="one_rate_per_pool"),
                    models.CheckConstraint(
                        condition=models.Q(("gpu_hour_micro__gte", 0)), name="rate_not_negative"
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="statement",
            constraint=models.UniqueConstraint(
                fields=("team", "month", "revision"), name="one_statement_a_month"
            ),
        ),
        migrations.AddConstraint(
            model_name="statement",
            constraint=models.UniqueConstraint(
                condition=models.Q(("team__isnull", True)),
                fields=("month", "revision"),
                name="one_organisation_statement_a_month",
            ),
        ),
        migrations.AddConstraint(
            model_name="statement",
            constraint=models.CheckConstraint(
                condition=models.Q(("period_ends_at__gt", models.F("period_starts_at"))),
                name="statement_ends_after_it_begins",
            ),
        ),
        migrations.AddIndex(
            model_name="statementline",
            index=models.Index(fields=["from_at", "kind"], name="statement_line_by_time"),
        ),
    ]
