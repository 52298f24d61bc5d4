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
            name="Reservation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("gpus", models.PositiveIntegerField()),
                ("gpus_per_node", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[("pool", "The pool"), ("guarantee", "The team's own guarantee")],
                        default="pool",
                        max_length=12,
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("planned_ends_at", models.DateTimeField()),
                ("zone", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("active", "Active"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                            ("released", "Released"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("purpose", models.CharField(blank=True, max_length=200)),
                (
                    "request_id",
                    models.BigIntegerField(help_text="the request it came from", null=True),
                ),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reservations",
                        to="inventory.pool",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reservations",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["starts_at", "id"],
                "indexes": [
                    models.Index(
                        fields=["pool", "starts_at", "ends_at"], name="reservation_by_pool_time"
                    ),
                    models.Index(fields=["state", "starts_at"], name="reservation_due"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))),
                        name="reservation_ends_after_it_starts",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("gpus__gte", 1)), name="reservation_of_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("gpus_per_node__isnull", True),
                            models.Q(
                                ("gpus_per_node__gte", 1), ("gpus_per_node__lte", models.F("gpus"))
                            ),
                            _connector="OR",
                        ),
                        name="reservation_shape_divides",
                    ),
                ],
            },
        ),
    ]
