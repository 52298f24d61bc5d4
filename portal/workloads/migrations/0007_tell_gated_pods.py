from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workloads", "0006_say_when_the_first_step_was"),
    ]

    operations = [
        migrations.AddField(
            model_name="pod",
            name="gated",
            field=models.BooleanField(
                db_default=False, default=False, help_text="waits for its gate to be opened"
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="opened_at",
            field=models.DateTimeField(help_text="its gate, when first seen open", null=True),
        ),
    ]
