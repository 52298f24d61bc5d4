import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReadMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=64)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="read_mark",
                        to="inventory.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SyncRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tick_id", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("done", "Done"),
                            ("partial", "Partly: some writes were refused"),
                            ("failed", "Failed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("writes", models.PositiveIntegerField(default=0)),
                ("took_ms", models.PositiveIntegerField(default=0)),
                ("message", models.TextField(blank=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sync_runs",
                        to="inventory.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="SyncWrite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("namespace", models.CharField(blank=True, max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("field", models.CharField(max_length=200)),
                ("was", models.JSONField(null=True)),
                ("now", models.JSONField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="kubernetes.syncrun",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Drift",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("namespace", models.CharField(blank=True, max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("field", models.CharField(max_length=200)),
                ("wanted", models.JSONField(null=True)),
                ("found", models.JSONField(null=True)),
                ("manager", models.CharField(blank=True, max_length=128)),
                ("opened_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drifts",
                        to="inventory.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("cluster", "kind", "namespace", "name", "field"),
                        name="one_open_drift_per_field",
                    )
                ],
            },
        ),
    ]
