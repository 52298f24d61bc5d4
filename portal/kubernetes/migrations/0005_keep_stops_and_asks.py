import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("kubernetes", "0004_find_open_syncs"),
        ("workloads", "0004_keep_admissions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Ask",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tick_id", models.BigIntegerField()),
                (
                    "verb",
                    models.CharField(
                        choices=[
                            ("start", "Start"),
                            ("suspend", "Suspend"),
                            ("ungate", "Let a pod start"),
                            ("shrink", "Run with fewer tasks"),
                            ("evict", "Evict a pod"),
                            ("delete", "Delete a pod"),
                        ],
                        max_length=8,
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("changes", models.JSONField(default=list)),
                ("at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("times", models.PositiveIntegerField(default=1)),
                ("answer", models.TextField(blank=True)),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="asks",
                        to="workloads.workload",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["workload", "-id"], name="ask_newest")],
            },
        ),
        migrations.CreateModel(
            name="Stop",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tick_id", models.BigIntegerField(help_text="the tick that decided it")),
                ("why", models.CharField(max_length=40)),
                ("tasks", models.PositiveIntegerField(null=True)),
                ("opened_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "Asked to stop"),
                            ("blocked", "Kept by a disruption budget"),
                            ("overdue", "Past its grace period"),
                            ("stuck", "Stuck: its GPUs stay taken"),
                            ("refused", "The cluster refused"),
                            ("gone", "Gone"),
                            ("dropped", "Not needed any more"),
                        ],
                        default="asked",
                        max_length=12,
                    ),
                ),
                ("message", models.TextField(blank=True, help_text="the cluster's own words")),
                ("resumes", models.BooleanField(default=False)),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "made_for",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="stops_for_it",
                        to="workloads.workload",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stops",
                        to="workloads.workload",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("workload",),
                        name="one_open_stop",
                    )
                ],
            },
        ),
    ]
