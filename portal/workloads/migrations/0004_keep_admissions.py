import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0002_grace_and_isolation_of_pools"),
        ("workloads", "0003_index_unsettled_pods"),
    ]

    operations = [
        migrations.CreateModel(
            name="Admission",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tick_id", models.BigIntegerField(help_text="the tick that decided it")),
                ("tasks", models.PositiveIntegerField()),
                ("placements", models.JSONField()),
                (
                    "charged_to",
                    models.CharField(
                        choices=[
                            ("guaranteed", "Guaranteed"),
                            ("reserved", "Reserved"),
                            ("borrowed", "Borrowed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "why",
                    models.CharField(
                        blank=True, help_text="preempted, not_started, …", max_length=40
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="admissions",
                        to="inventory.pool",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="admissions",
                        to="workloads.workload",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("workload",),
                        name="one_open_admission",
                    ),
                    models.UniqueConstraint(
                        fields=("workload", "tick_id"), name="one_admission_a_tick"
                    ),
                ],
            },
        ),
    ]
