from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="grace_seconds",
            field=models.PositiveIntegerField(
                db_default=600,
                default=600,
                help_text="how long a stopped pod, and a disruption budget, may keep its GPUs",
            ),
        ),
        migrations.AddField(
            model_name="pool",
            name="runtime_class",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="RuntimeClass its jobs are isolated by; a team's own comes first",
                max_length=63,
            ),
        ),
    ]
