"""Measured use comes into the hourly sums, and the two large tables lose indexes that serve nobody.

Their keys and other indexes begin with the same columns. The indexes are dropped by themselves:
altering the fields would make SQLite build the ledger anew, and lose the guard that refuses
changes. Hours that were measured are summed again.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLES = ("usage_ledgerentry", "usage_hourlyuse")
COLUMNS = ("cluster_id", "pool_id", "team_id")
STALE = """
INSERT INTO usage_stalehour (cluster_id, hour, changes)
SELECT DISTINCT cluster_id, hour, 1 FROM usage_measureduse WHERE true
ON CONFLICT (cluster_id, hour) DO NOTHING
"""


def drop_indexes(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop the plain indexes on these columns alone."""
    for table in TABLES:
        with editor.connection.cursor() as cursor:
            found = editor.connection.introspection.get_constraints(cursor, table)
        for name, about in found.items():
            alone = len(about["columns"]) == 1 and about["columns"][0] in COLUMNS
            if alone and about["index"] and not about["unique"]:
                editor.execute(f"DROP INDEX {editor.quote_name(name)}")


def _key(name: str, **more: object) -> models.ForeignKey:
    room = "teams.team" if name == "team" else f"inventory.{name}"
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.PROTECT, to=room, **more
    )


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0003_drain_before_maintenance"),
        ("teams", "0005_single_sign_on"),
        ("usage", "0003_hourly_sums_and_measured_use"),
    ]

    operations = [
        migrations.AddField(
            model_name="hourlyuse",
            name="measured_milli_seconds",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="hourlyuse",
            name="used_milli_seconds",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="measureduse",
            index=models.Index(fields=["hour", "workload_id"], name="measured_use_by_hour"),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(drop_indexes, migrations.RunPython.noop),
            ],
            state_operations=[
                migrations.AlterField("hourlyuse", "cluster", _key("cluster")),
                migrations.AlterField("hourlyuse", "pool", _key("pool", related_name="hourly_use")),
                migrations.AlterField(
                    "hourlyuse", "team", _key("team", null=True, related_name="hourly_use")
                ),
                migrations.AlterField("ledgerentry", "cluster", _key("cluster")),
                migrations.AlterField("ledgerentry", "pool", _key("pool", related_name="ledger")),
                migrations.AlterField(
                    "ledgerentry", "team", _key("team", null=True, related_name="ledger")
                ),
            ],
        ),
        migrations.RunSQL(STALE, migrations.RunSQL.noop),
    ]
