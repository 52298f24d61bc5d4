import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("teams", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("simulated", "Simulated"), ("kubernetes", "Kubernetes")],
                        max_length=12,
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("observe", "Observe"),
                            ("quota", "Quota"),
                            ("reclaim", "Quota and reclaim"),
                            ("admission", "Admission"),
                        ],
                        default="quota",
                        max_length=12,
                    ),
                ),
                (
                    "settings",
                    models.JSONField(
                        blank=True, default=dict, help_text="how to reach it; no secrets"
                    ),
                ),
                (
                    "seen_at",
                    models.DateTimeField(
                        help_text="organisation time of the last good read", null=True
                    ),
                ),
                (
                    "seen_real_at",
                    models.DateTimeField(help_text="real time of the last good read", null=True),
                ),
                (
                    "stale_after_seconds",
                    models.PositiveIntegerField(default=120, help_text="real seconds"),
                ),
                ("last_error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="GPUModel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80, unique=True)),
                ("memory_mib", models.PositiveIntegerField(null=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Namespace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=63)),
                ("created_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="namespaces",
                        to="inventory.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster_id", "name"],
            },
        ),
        migrations.CreateModel(
            name="NamespaceOwner",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(null=True)),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="owners",
                        to="inventory.namespace",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="namespaces",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["namespace_id", "valid_from"],
            },
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("gpus", models.PositiveIntegerField()),
                ("cpu_milli", models.PositiveBigIntegerField()),
                ("memory_mib", models.PositiveBigIntegerField()),
                ("labels", models.JSONField(default=dict)),
                ("taints", models.JSONField(default=list)),
                ("topology", models.JSONField(default=list)),
                ("zone", models.CharField(blank=True, max_length=80)),
                (
                    "state",
                    models.CharField(
                        choices=[("ready", "Ready"), ("cordoned", "Cordoned"), ("down", "Down")],
                        default="ready",
                        max_length=12,
                    ),
                ),
                ("first_seen_at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="nodes",
                        to="inventory.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["pool_id", "name", "id"],
            },
        ),
        migrations.CreateModel(
            name="MaintenanceWindow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("cancelled_at", models.DateTimeField(null=True)),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="maintenance",
                        to="inventory.node",
                    ),
                ),
            ],
            options={
                "ordering": ["starts_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="NodeOutage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=200)),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="outages",
                        to="inventory.node",
                    ),
                ),
            ],
            options={
                "ordering": ["starts_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="Pool",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField()),
                (
                    "sharing",
                    models.CharField(
                        choices=[
                            ("dedicated", "Whole devices"),
                            ("mig", "MIG instances"),
                            ("shared", "Shared devices"),
                        ],
                        default="dedicated",
                        max_length=12,
                    ),
                ),
                ("resource_name", models.CharField(default="nvidia.com/gpu", max_length=120)),
                ("gpu_equivalent_milli", models.PositiveIntegerField(default=1000)),
                ("topology_levels", models.JSONField(blank=True, default=list)),
                ("position", models.PositiveIntegerField(default=0, help_text="cheapest first")),
                ("created_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pools",
                        to="inventory.cluster",
                    ),
                ),
                (
                    "gpu_model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="inventory.gpumodel"
                    ),
                ),
            ],
            options={
                "ordering": ["cluster_id", "position", "id"],
            },
        ),
        migrations.AddField(
            model_name="node",
            name="pool",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="nodes",
                to="inventory.pool",
            ),
        ),
        migrations.CreateModel(
            name="Commitment",
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
                        choices=[("quota", "Guarantee"), ("reservation", "Reservation")],
                        max_length=12,
                    ),
                ),
                (
                    "source_id",
                    models.BigIntegerField(help_text="id of the quota or reservation row"),
                ),
                ("gpus", models.PositiveIntegerField()),
                (
                    "gpus_per_node",
                    models.PositiveIntegerField(help_text="shape; null: any nodes", null=True),
                ),
                ("adds", models.BooleanField(default=True)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="teams.team"),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="commitments",
                        to="inventory.pool",
                    ),
                ),
            ],
            options={
                "ordering": ["pool_id", "starts_at", "id"],
            },
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.UniqueConstraint(
                fields=("cluster", "name"), name="namespace_once_per_cluster"
            ),
        ),
        migrations.AddConstraint(
            model_name="namespaceowner",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to__isnull", True),
                    ("valid_to__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="namespace_owner_ends_after_it_begins",
            ),
        ),
        migrations.AddConstraint(
            model_name="namespaceowner",
            constraint=models.UniqueConstraint(
                condition=models.Q(("valid_to__isnull", True)),
                fields=("namespace",),
                name="one_owner_per_namespace",
            ),
        ),
        migrations.AddConstraint(
            model_name="maintenancewindow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ends_at__isnull", True),
                    ("ends_at__gt", models.F("starts_at")),
                    _connector="OR",
                ),
                name="maintenance_ends_after_it_starts",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodeoutage",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ends_at__isnull", True),
                    ("ends_at__gt", models.F("starts_at")),
                    _connector="OR",
                ),
                name="outage_ends_after_it_starts",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodeoutage",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ends_at__isnull", True)),
                fields=("node",),
                name="one_open_outage_per_node",
            ),
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.UniqueConstraint(
                fields=("cluster", "name"), name="pool_name_once_per_cluster"
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("removed_at__isnull", True),
                    ("removed_at__gt", models.F("first_seen_at")),
                    _connector="OR",
                ),
                name="node_removed_after_seen",
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at__isnull", True)),
                fields=("cluster", "name"),
                name="node_name_once_per_cluster",
            ),
        ),
        migrations.AddIndex(
            model_name="commitment",
            index=models.Index(fields=["pool", "starts_at", "ends_at"], name="commitment_by_time"),
        ),
        migrations.AddConstraint(
            model_name="commitment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ends_at__isnull", True),
                    ("ends_at__gt", models.F("starts_at")),
                    _connector="OR",
                ),
                name="commitment_ends_after_it_starts",
            ),
        ),
        migrations.AddConstraint(
            model_name="commitment",
            constraint=models.UniqueConstraint(
                fields=("kind", "source_id"), name="one_commitment_per_source"
            ),
        ),
    ]
