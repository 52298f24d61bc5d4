from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0002_grace_and_isolation_of_pools"),
    ]

    operations = [
        migrations.AddField(
            model_name="maintenancewindow",
            name="drain_from",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name="maintenancewindow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("drain_from__isnull", True),
                    ("drain_from__lte", models.F("starts_at")),
                    _connector="OR",
                ),
                name="drained_before_maintenance",
            ),
        ),
    ]
