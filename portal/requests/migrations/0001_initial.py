import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Request",
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
                        choices=[("reservation", "Reservation"), ("quota", "Quota change")],
                        max_length=12,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("submitted", "Submitted"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="draft",
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="why it is needed")),
                ("gpus", models.PositiveIntegerField(null=True)),
                ("gpus_per_node", models.PositiveIntegerField(null=True)),
                ("source", models.CharField(default="pool", max_length=12)),
                ("starts_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField(null=True)),
                ("zone", models.CharField(blank=True, max_length=64)),
                ("guaranteed", models.PositiveIntegerField(null=True)),
                ("limit", models.PositiveIntegerField(null=True)),
                ("borrowing_limit", models.PositiveIntegerField(null=True)),
                ("lending_limit", models.PositiveIntegerField(null=True)),
                ("weight", models.PositiveIntegerField(null=True)),
                ("per_user_limit", models.PositiveIntegerField(null=True)),
                ("granted_gpus", models.PositiveIntegerField(null=True)),
                (
                    "cost_micro",
                    models.BigIntegerField(help_text="estimate shown at submission", null=True),
                ),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("created_at", models.DateTimeField()),
                ("submitted_at", models.DateTimeField(null=True)),
                (
                    "expires_at",
                    models.DateTimeField(help_text="a submitted one lapses here", null=True),
                ),
                ("decided_at", models.DateTimeField(null=True)),
                ("decision_note", models.TextField(blank=True)),
                ("reservation_id", models.BigIntegerField(help_text="what it became", null=True)),
                ("quota_id", models.BigIntegerField(help_text="what it became", null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "cancelled_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cancelled_requests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decided_requests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="inventory.pool",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "submitted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submitted_requests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("text", models.TextField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="request_comments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comments",
                        to="requests.request",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "id"],
            },
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(fields=["state", "-id"], name="request_by_state"),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(fields=["team", "state"], name="request_by_team"),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(fields=["pool", "state", "starts_at"], name="request_soft_holds"),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ends_at__isnull", True),
                    ("ends_at__gt", models.F("starts_at")),
                    _connector="OR",
                ),
                name="request_ends_after_it_starts",
            ),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "rejected"), _negated=True),
                    models.Q(("decision_note", ""), _negated=True),
                    _connector="OR",
                ),
                name="rejected_with_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("decided_by__isnull", True),
                    models.Q(("decided_by", models.F("requested_by")), _negated=True),
                    _connector="OR",
                ),
                name="nobody_decides_their_own",
            ),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("decided_by__isnull", True),
                    ("submitted_by__isnull", True),
                    models.Q(("decided_by", models.F("submitted_by")), _negated=True),
                    _connector="OR",
                ),
                name="nobody_decides_what_they_submitted",
            ),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "reservation"), _negated=True),
                    ("granted_gpus__isnull", True),
                    models.Q(("granted_gpus__gte", 1), ("granted_gpus__lte", models.F("gpus"))),
                    _connector="OR",
                ),
                name="reservation_granted_within_what_was_asked",
            ),
        ),
        migrations.AddConstraint(
            model_name="request",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "quota"), _negated=True),
                    ("granted_gpus__isnull", True),
                    ("granted_gpus__lte", models.F("guaranteed")),
                    _connector="OR",
                ),
                name="quota_granted_within_what_was_asked",
            ),
        ),
    ]
