from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="team",
            name="runtime_class",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="RuntimeClass its jobs are isolated by; empty: the pool's",
                max_length=63,
            ),
        ),
    ]
