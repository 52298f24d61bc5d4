import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0001_initial"),
        ("reservations", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="BookingRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("longest_hours", models.PositiveIntegerField(blank=True, null=True)),
                ("ahead_days", models.PositiveIntegerField(blank=True, null=True)),
                ("extension_hours", models.PositiveIntegerField(blank=True, null=True)),
                ("rest_hours", models.PositiveIntegerField(blank=True, null=True)),
                ("grace_minutes", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "pool",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="booking_rule",
                        to="inventory.pool",
                    ),
                ),
            ],
        ),
    ]
