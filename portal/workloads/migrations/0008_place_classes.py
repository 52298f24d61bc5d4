from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workloads", "0007_tell_gated_pods"),
    ]

    operations = [
        migrations.AddField(
            model_name="classrule",
            name="placement",
            field=models.CharField(
                blank=True,
                choices=[
                    ("pack", "Fill nodes one after another"),
                    ("spread", "Apart, on as many nodes as it goes"),
                ],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
    ]
