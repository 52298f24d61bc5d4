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
            name="DecayedUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("gpu_seconds", models.FloatField(default=0.0)),
                ("as_of", models.DateTimeField()),
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decayed_use",
                        to="teams.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LedgerEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pod_uid", models.CharField(max_length=64)),
                ("from_at", models.DateTimeField()),
                ("to_at", models.DateTimeField()),
                ("revision", models.PositiveIntegerField(default=0)),
                ("sign", models.SmallIntegerField(default=1)),
                ("workload_id", models.BigIntegerField()),
                ("reservation_id", models.BigIntegerField(null=True)),
                ("user_id", models.BigIntegerField(null=True)),
                ("node_id", models.BigIntegerField()),
                ("gpu_model", models.CharField(max_length=80)),
                ("gpu_milli", models.PositiveIntegerField()),
                ("cpu_milli", models.PositiveBigIntegerField(default=0)),
                ("memory_mib", models.PositiveBigIntegerField(default=0)),
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
                ("seconds", models.PositiveIntegerField(help_text="to_at - from_at")),
                ("source", models.CharField(default="pod", max_length=12)),
                ("estimated", models.BooleanField(default=False)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="inventory.cluster"
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ledger",
                        to="inventory.pool",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ledger",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["pool", "from_at"], name="ledger_by_pool_time"),
                    models.Index(fields=["team", "from_at"], name="ledger_by_team_time"),
                    models.Index(fields=["workload_id"], name="ledger_by_workload"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "pod_uid", "from_at", "revision"),
                        name="ledger_entry_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("to_at__gt", models.F("from_at")),
                            ("seconds__gte", 1),
                            ("seconds__lte", 300),
                        ),
                        name="ledger_interval_in_a_cell",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sign__in", [1, -1])), name="ledger_sign"
                    ),
                ],
            },
        ),
    ]
