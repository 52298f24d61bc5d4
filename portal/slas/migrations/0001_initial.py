import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("teams", "0001_initial"),
        ("workloads", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Tier",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, unique=True)),
                ("target_wait_seconds", models.PositiveIntegerField()),
                (
                    "goal_permille",
                    models.PositiveSmallIntegerField(
                        default=950, help_text="of the jobs that should start in time"
                    ),
                ),
                (
                    "answer_seconds",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="a request is answered within; null: no target",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["target_wait_seconds", "id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("goal_permille__gte", 1), ("goal_permille__lte", 1000)),
                        name="tier_goal_is_a_part",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("target_wait_seconds__gte", 1)),
                        name="tier_waits_for_some_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Sla",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
                (
                    "request_id",
                    models.BigIntegerField(help_text="the request it came from", null=True),
                ),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "pool",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slas",
                        to="inventory.pool",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slas",
                        to="teams.team",
                    ),
                ),
                (
                    "tier",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slas",
                        to="slas.tier",
                    ),
                ),
            ],
            options={
                "ordering": ["team_id", "pool_id", "valid_from"],
            },
        ),
        migrations.CreateModel(
            name="Breach",
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
                            ("wait", "A job waited too long"),
                            ("answer", "A request was answered too late"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "request_id",
                    models.BigIntegerField(help_text="the request, if one", null=True, unique=True),
                ),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("note", models.TextField(blank=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "acknowledged_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="acknowledged_breaches",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="owned_breaches",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="breaches",
                        to="teams.team",
                    ),
                ),
                (
                    "workload",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="breach",
                        to="workloads.workload",
                    ),
                ),
                (
                    "sla",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="breaches",
                        to="slas.sla",
                    ),
                ),
            ],
            options={
                "ordering": ["-due_at", "-id"],
                "indexes": [
                    models.Index(fields=["team", "-due_at"], name="breach_by_team"),
                    models.Index(fields=["ended_at", "-due_at"], name="breach_still_late"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("kind", "wait"),
                                ("request_id__isnull", True),
                                ("workload__isnull", False),
                            ),
                            models.Q(
                                ("kind", "answer"),
                                ("request_id__isnull", False),
                                ("workload__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="breach_of_a_job_or_a_request",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("acknowledged_at__isnull", True),
                            ("acknowledged_by__isnull", False),
                            _connector="OR",
                        ),
                        name="breach_acknowledged_by_somebody",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="sla",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to__isnull", True),
                    ("valid_to__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="sla_ends_after_it_begins",
            ),
        ),
        migrations.AddConstraint(
            model_name="sla",
            constraint=models.UniqueConstraint(
                condition=models.Q(("pool__isnull", False), ("valid_to__isnull", True)),
                fields=("team", "pool"),
                name="one_open_sla_in_a_pool",
            ),
        ),
        migrations.AddConstraint(
            model_name="sla",
            constraint=models.UniqueConstraint(
                condition=models.Q(("pool__isnull", True), ("valid_to__isnull", True)),
                fields=("team",),
                name="one_open_sla_in_all_pools",
            ),
        ),
    ]
