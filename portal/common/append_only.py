"""Makes the database itself refuse to change or delete the rows of a table.

For migrations of append-only tables: the audit chain and the ledger. Works on SQLite and
PostgreSQL; on PostgreSQL truncating is refused as well.
"""

from collections.abc import Callable

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython
from django.db.migrations.state import StateApps

_FUNCTION = """
CREATE OR REPLACE FUNCTION evenshare_append_only() RETURNS trigger AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only: ' || TG_OP || ' refused';
END $$ LANGUAGE plpgsql;
"""


def refuse_changes(table: str) -> RunPython:
    """Give the operation that puts the guard on a table, and takes it off when reversed."""
    return RunPython(_guard(table), _unguard(table))


def _guard(table: str) -> Callable[[StateApps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            editor.execute(_FUNCTION)
            editor.execute(
                f"CREATE TRIGGER {table}_rows BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION evenshare_append_only()"
            )
            editor.execute(
                f"CREATE TRIGGER {table}_all BEFORE TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION evenshare_append_only()"
            )
            return
        for verb in ("UPDATE", "DELETE"):
            editor.execute(
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only: {verb} refused'); END"
            )

    return run


def _unguard(table: str) -> Callable[[StateApps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor == "postgresql":
            editor.execute(f"DROP TRIGGER {table}_rows ON {table}")
            editor.execute(f"DROP TRIGGER {table}_all ON {table}")
            return
        for verb in ("update", "delete"):
            editor.execute(f"DROP TRIGGER {table}_{verb}")

    return run
