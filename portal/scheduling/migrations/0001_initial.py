import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("teams", "0001_initial"),
        ("workloads", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Policy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rules", models.JSONField()),
                ("valid_from", models.DateTimeField()),
                ("created_by_id", models.BigIntegerField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policies",
                        to="inventory.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster_id", "valid_from", "id"],
            },
        ),
        migrations.CreateModel(
            name="Tick",
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
                            ("done", "Done"),
                            ("stale", "Skipped: the cluster's state is too old"),
                            ("failed", "Failed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("fence", models.BigIntegerField(default=0)),
                ("started_real_at", models.DateTimeField()),
                ("took_ms", models.PositiveIntegerField(default=0)),
                ("waiting", models.PositiveIntegerField(default=0)),
                ("running", models.PositiveIntegerField(default=0)),
                ("starts", models.PositiveIntegerField(default=0)),
                ("preemptions", models.PositiveIntegerField(default=0)),
                ("jain", models.FloatField(null=True)),
                ("placement_mode", models.CharField(blank=True, max_length=12)),
                ("fragmentation", models.JSONField(default=list)),
                ("snapshot", models.BinaryField(null=True)),
                ("message", models.TextField(blank=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ticks",
                        to="inventory.cluster",
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="scheduling.policy",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster_id", "at", "id"],
            },
        ),
        migrations.CreateModel(
            name="Standing",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verb",
                    models.CharField(
                        choices=[
                            ("start", "Start"),
                            ("run", "Run on"),
                            ("wait", "Wait"),
                            ("preempt", "Make room"),
                        ],
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("detail", models.JSONField(default=dict)),
                ("position", models.PositiveIntegerField(null=True)),
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
                ("planned_start", models.DateTimeField(null=True)),
                (
                    "workload",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="standing",
                        to="workloads.workload",
                    ),
                ),
                (
                    "tick",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="scheduling.tick"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Share",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("guaranteed", models.BigIntegerField()),
                ("reserved", models.BigIntegerField()),
                ("fair_share", models.BigIntegerField()),
                ("allocated", models.BigIntegerField()),
                ("borrowed", models.BigIntegerField()),
                ("lent", models.BigIntegerField()),
                ("available", models.BigIntegerField()),
                ("dominant_share", models.FloatField()),
                ("satisfaction", models.FloatField()),
                ("factor", models.FloatField(null=True)),
                ("guaranteed_gpus", models.PositiveIntegerField()),
                ("burst_gpus", models.PositiveIntegerField()),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="inventory.pool",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="teams.team",
                    ),
                ),
                (
                    "tick",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="scheduling.tick",
                    ),
                ),
            ],
            options={
                "ordering": ["tick_id", "pool_id", "team_id"],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verb",
                    models.CharField(
                        choices=[
                            ("start", "Start"),
                            ("run", "Run on"),
                            ("wait", "Wait"),
                            ("preempt", "Make room"),
                        ],
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("detail", models.JSONField(default=dict)),
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
                ("planned_start", models.DateTimeField(null=True)),
                (
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="workloads.workload",
                    ),
                ),
                (
                    "tick",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="scheduling.tick",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddIndex(
            model_name="tick",
            index=models.Index(fields=["cluster", "-at"], name="tick_newest"),
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.UniqueConstraint(
                fields=("tick", "team", "pool"), name="one_share_a_tick"
            ),
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("allocated__gte", 0),
                    ("borrowed__gte", 0),
                    ("guaranteed__gte", 0),
                    ("reserved__gte", 0),
                ),
                name="share_amounts_not_negative",
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["workload", "-id"], name="decision_newest"),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                fields=("tick", "workload"), name="one_decision_a_tick"
            ),
        ),
    ]
