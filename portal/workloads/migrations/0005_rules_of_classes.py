import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0001_initial"),
        ("workloads", "0004_keep_admissions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ClassRule",
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
                            ("training", "Training"),
                            ("inference", "Inference"),
                            ("interactive", "Interactive"),
                            ("batch", "Batch"),
                        ],
                        max_length=12,
                        unique=True,
                    ),
                ),
                ("preemptible", models.BooleanField(null=True)),
                ("order", models.IntegerField(default=0)),
                ("together", models.CharField(blank=True, max_length=40)),
                ("idle_hours", models.PositiveIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="PoolClass",
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
                            ("training", "Training"),
                            ("inference", "Inference"),
                            ("interactive", "Interactive"),
                            ("batch", "Batch"),
                        ],
                        max_length=12,
                    ),
                ),
                ("is_open", models.BooleanField(default=True)),
                ("min_gpus", models.PositiveIntegerField(null=True)),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="classes",
                        to="inventory.pool",
                    ),
                ),
            ],
            options={
                "ordering": ["pool_id", "kind"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "kind"), name="one_rule_per_pool_and_class"
                    )
                ],
            },
        ),
    ]
