from django.db import migrations

from portal.common.append_only import refuse_changes


class Migration(migrations.Migration):
    dependencies = [("usage", "0001_initial")]
    operations = [refuse_changes("usage_ledgerentry")]
