"""Changes to large tables while people write to them, for migrations.

On PostgreSQL an index is built beside the writers, which takes longer and must stand in a migration
with `atomic = False`; SQLite has one writer anyway.
"""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddIndex(migrations.AddIndex):
    """Adds an index without keeping anybody from writing."""

    live = True

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Build it; one that a broken attempt left half built is removed first."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        if schema_editor.connection.in_atomic_block:
            raise RuntimeError("A live index needs a migration with `atomic = False`.")
        model: Any = to_state.apps.get_model(app_label, self.model_name)
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        schema_editor.add_index(model, self.index, concurrently=True)  # type: ignore[call-arg]  # only PostgreSQL's editor takes it
