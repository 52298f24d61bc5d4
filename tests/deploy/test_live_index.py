"""An index on a large table is built while people write, on the database production runs on."""

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.migrations.state import ProjectState

from portal.common import live


def test_a_live_index_is_built_and_taken_away_also_after_a_broken_attempt(
    committed_database: str,
) -> None:
    before = ProjectState.from_apps(apps)
    operation = live.AddIndex("lease", models.Index(fields=["holder"], name="tried_live"))
    after = before.clone()
    operation.state_forwards("common", after)
    if connection.vendor == "postgresql":
        with pytest.raises(RuntimeError, match="atomic"), connection.schema_editor() as editor:
            operation.database_forwards("common", editor, before, after)
    for _ in range(2 if connection.vendor == "postgresql" else 1):
        with connection.schema_editor(atomic=False) as editor:
            operation.database_forwards("common", editor, before, after)
        assert "tried_live" in _indexes()
    with connection.schema_editor() as editor:
        operation.database_backwards("common", editor, after, before)
    assert "tried_live" not in _indexes()


def _indexes() -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.get_constraints(cursor, "common_lease"))
