import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0001_initial"),
        ("requests", "0001_initial"),
        ("reservations", "0002_booking_rules"),
        ("slas", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="request",
            name="about",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="requests_about",
                to="reservations.reservation",
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="approvals_needed",
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name="request",
            name="sla_id",
            field=models.BigIntegerField(help_text="what it became", null=True),
        ),
        migrations.AddField(
            model_name="request",
            name="tier",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="requests",
                to="slas.tier",
            ),
        ),
        migrations.AlterField(
            model_name="request",
            name="kind",
            field=models.CharField(
                choices=[
                    ("reservation", "Reservation"),
                    ("extension", "Extension"),
                    ("give_back", "Early give-back"),
                    ("quota", "Quota change"),
                    ("sla", "SLA change"),
                ],
                max_length=12,
            ),
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("granted_gpus", models.PositiveIntegerField()),
                ("note", models.TextField(blank=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                        to="requests.request",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("request", "by"), name="nobody_agrees_twice")
                ],
            },
        ),
        migrations.CreateModel(
            name="ApprovalRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("min_gpus", models.PositiveIntegerField(blank=True, null=True)),
                ("min_hours", models.PositiveIntegerField(blank=True, null=True)),
                ("min_cost_micro", models.BigIntegerField(blank=True, null=True)),
                ("approvals", models.PositiveSmallIntegerField()),
                (
                    "pool",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approval_rules",
                        to="inventory.pool",
                    ),
                ),
            ],
            options={
                "ordering": ["pool_id", "approvals", "id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("approvals__lte", 2)),
                        name="approval_rule_needs_two_at_most",
                    )
                ],
            },
        ),
    ]
