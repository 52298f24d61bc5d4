from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditHead",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("hash", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Lease",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80, unique=True)),
                ("holder", models.CharField(blank=True, max_length=120)),
                ("fence", models.BigIntegerField(default=0)),
                ("expires_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "actor_id",
                    models.BigIntegerField(help_text="null: the system itself", null=True),
                ),
                (
                    "action",
                    models.CharField(
                        help_text="room.verb, such as requests.approved", max_length=80
                    ),
                ),
                ("target_type", models.CharField(max_length=40)),
                ("target_id", models.BigIntegerField(null=True)),
                (
                    "team_id",
                    models.BigIntegerField(help_text="whose branch may read this line", null=True),
                ),
                ("data", models.JSONField(default=dict)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("previous_hash", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64, unique=True)),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["target_type", "target_id"], name="audit_by_target"),
                    models.Index(fields=["at"], name="audit_by_time"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ClockAnchor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("real_at", models.DateTimeField()),
                ("organisation_at", models.DateTimeField()),
                (
                    "speed",
                    models.PositiveIntegerField(
                        default=1, help_text="organisation seconds a real second"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("speed__gte", 1)), name="clock_speed_positive"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("user_id", models.BigIntegerField()),
                ("key", models.CharField(max_length=120)),
                ("method", models.CharField(max_length=8)),
                ("path", models.CharField(max_length=400)),
                ("body_hash", models.CharField(max_length=64)),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        help_text="null: the first is under way", null=True
                    ),
                ),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user_id", "key"), name="idempotency_key_once")
                ],
            },
        ),
    ]
