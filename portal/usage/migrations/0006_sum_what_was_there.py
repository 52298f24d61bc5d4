"""Hours the ledger had before there were hourly sums are marked, so that they are summed."""

from datetime import UTC

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models.functions import TruncHour


def mark_hours_without_sums(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Mark every hour of a cluster that is in the ledger and has no sums."""
    ledger = apps.get_model("usage", "LedgerEntry").objects.order_by()
    summed = apps.get_model("usage", "HourlyUse").objects.order_by()
    stale = apps.get_model("usage", "StaleHour")
    hours = set(
        ledger.annotate(hour=TruncHour("from_at", tzinfo=UTC))
        .values_list("cluster_id", "hour")
        .distinct()
    )
    missing = hours - set(summed.values_list("cluster_id", "hour").distinct())
    stale.objects.bulk_create(
        [stale(cluster_id=cluster_id, hour=hour) for cluster_id, hour in sorted(missing)],
        ignore_conflicts=True,
        batch_size=1000,
    )


class Migration(migrations.Migration):
    dependencies = [("usage", "0005_monitoring")]
    operations = [
        migrations.RunPython(mark_hours_without_sums, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="monitoring",
            name="address",
            field=models.CharField(blank=True, max_length=400),
        ),
    ]
