import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reservations", "0002_booking_rules"),
        ("teams", "0003_api_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="CalendarFeed",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(help_text="whose or what it is for", max_length=60)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calendar_feeds",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
    ]
