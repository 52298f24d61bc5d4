import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("reservations", "0001_initial"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Workload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=253)),
                ("owner_kind", models.CharField(default="Job", max_length=40)),
                ("namespace", models.CharField(max_length=63)),
                (
                    "person",
                    models.CharField(
                        blank=True, help_text="the user the cluster names", max_length=150
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("training", "Training"),
                            ("inference", "Inference"),
                            ("interactive", "Interactive"),
                            ("batch", "Batch"),
                        ],
                        default="batch",
                        max_length=12,
                    ),
                ),
                ("priority", models.IntegerField(default=0)),
                ("tasks", models.PositiveIntegerField()),
                ("min_tasks", models.PositiveIntegerField(null=True)),
                ("gpu_milli", models.PositiveIntegerField()),
                ("cpu_milli", models.PositiveBigIntegerField(default=0)),
                ("memory_mib", models.PositiveBigIntegerField(default=0)),
                ("preemptible", models.BooleanField(default=True)),
                (
                    "duration_seconds",
                    models.PositiveBigIntegerField(help_text="estimate", null=True),
                ),
                (
                    "save_seconds",
                    models.PositiveIntegerField(help_text="null: it cannot save", null=True),
                ),
                ("restore_seconds", models.PositiveIntegerField(null=True)),
                ("last_saved_at", models.DateTimeField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("admitted", "Admitted"),
                            ("starting", "Starting"),
                            ("running", "Running"),
                            ("stopping", "Stopping"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="waiting",
                        max_length=12,
                    ),
                ),
                (
                    "charged_to",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("guaranteed", "Guaranteed"),
                            ("reserved", "Reserved"),
                            ("borrowed", "Borrowed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("submitted_at", models.DateTimeField()),
                ("admitted_at", models.DateTimeField(null=True)),
                ("scheduled_at", models.DateTimeField(null=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("preemptions", models.PositiveIntegerField(default=0)),
                (
                    "cluster_reason",
                    models.CharField(blank=True, help_text="a cluster_* word", max_length=40),
                ),
                ("cluster_message", models.TextField(blank=True)),
                (
                    "version",
                    models.CharField(
                        blank=True,
                        help_text="of it and its pods when last seen to change",
                        max_length=64,
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="workloads",
                        to="inventory.cluster",
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="workloads",
                        to="inventory.pool",
                    ),
                ),
                (
                    "reservation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="workloads",
                        to="reservations.reservation",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="workloads",
                        to="teams.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="workloads",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["submitted_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="StageEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("admitted", "Admitted"),
                            ("starting", "Starting"),
                            ("running", "Running"),
                            ("stopping", "Stopping"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "why",
                    models.CharField(
                        blank=True, help_text="preempted, node_lost, …", max_length=40
                    ),
                ),
                ("detail", models.JSONField(default=dict)),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="workloads.workload",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "id"],
            },
        ),
        migrations.CreateModel(
            name="Pod",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=253)),
                ("gpu_milli", models.PositiveIntegerField()),
                ("cpu_milli", models.PositiveBigIntegerField(default=0)),
                ("memory_mib", models.PositiveBigIntegerField(default=0)),
                ("devices", models.JSONField(default=list)),
                ("priority_class", models.CharField(blank=True, max_length=120)),
                (
                    "charged_to",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("guaranteed", "Guaranteed"),
                            ("reserved", "Reserved"),
                            ("borrowed", "Borrowed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "scheduled_at",
                    models.DateTimeField(help_text="holds its devices from here on", null=True),
                ),
                ("ready_at", models.DateTimeField(null=True)),
                ("stopping_at", models.DateTimeField(null=True)),
                (
                    "closed_at",
                    models.DateTimeField(help_text="gone; devices free from here on", null=True),
                ),
                (
                    "why",
                    models.CharField(
                        blank=True, help_text="preempted, node_lost, …", max_length=40
                    ),
                ),
                ("ledger_until", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField()),
                (
                    "estimated",
                    models.BooleanField(
                        default=False, help_text="closed at last sight, not seen to end"
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pods",
                        to="inventory.node",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pods",
                        to="workloads.workload",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(fields=["state", "submitted_at"], name="workload_by_state"),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(fields=["team", "state"], name="workload_by_team"),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(fields=["cluster", "state"], name="workload_by_cluster"),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.UniqueConstraint(fields=("cluster", "uid"), name="workload_uid_once"),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                condition=models.Q(("tasks__gte", 1)), name="workload_has_tasks"
            ),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("min_tasks__isnull", True),
                    models.Q(("min_tasks__gte", 1), ("min_tasks__lte", models.F("tasks"))),
                    _connector="OR",
                ),
                name="workload_min_tasks_within",
            ),
        ),
        migrations.AddIndex(
            model_name="pod",
            index=models.Index(fields=["closed_at", "node"], name="pod_open_by_node"),
        ),
        migrations.AddConstraint(
            model_name="pod",
            constraint=models.UniqueConstraint(
                fields=("workload", "uid"), name="pod_uid_once_per_workload"
            ),
        ),
        migrations.AddConstraint(
            model_name="pod",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("closed_at__isnull", True),
                    ("scheduled_at__isnull", True),
                    ("closed_at__gte", models.F("scheduled_at")),
                    _connector="OR",
                ),
                name="pod_closes_after_it_holds",
            ),
        ),
    ]
