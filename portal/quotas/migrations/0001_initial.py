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
            name="Quota",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("guaranteed", models.PositiveIntegerField()),
                ("limit", models.PositiveIntegerField(blank=True, null=True)),
                ("borrowing_limit", models.PositiveIntegerField(blank=True, null=True)),
                ("lending_limit", models.PositiveIntegerField(blank=True, null=True)),
                ("weight", models.PositiveIntegerField(blank=True, null=True)),
                ("per_user_limit", models.PositiveIntegerField(blank=True, null=True)),
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
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quotas",
                        to="inventory.pool",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quotas",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["pool_id", "team_id", "valid_from"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_to__isnull", True),
                            ("valid_to__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="quota_ends_after_it_begins",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("limit__isnull", True),
                            ("guaranteed__lte", models.F("limit")),
                            _connector="OR",
                        ),
                        name="quota_guarantee_within_limit",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("valid_to__isnull", True)),
                        fields=("team", "pool"),
                        name="one_open_quota",
                    ),
                    models.UniqueConstraint(
                        fields=("team", "pool", "valid_from"), name="one_quota_beginning_at_once"
                    ),
                ],
            },
        ),
    ]
