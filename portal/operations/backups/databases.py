"""Copying a database while people write to it, and putting a copy in its place, all or nothing.

PostgreSQL is dumped by its own program in the custom format, in one snapshot that the caller reads
as well; it is put back by one script in one transaction, so that one which fails leaves what was.
SQLite is copied by its own backup interface, in one step under its locks, both ways.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from django.db import connection, transaction

from portal.operations.backups.manifest import Unfit

FILES = {"postgresql": "database.dump", "sqlite": "database.sqlite3"}
EMPTY = """
SET lock_timeout = '30s';
SET client_min_messages = 'warning';
DO $$ DECLARE it record; BEGIN
  FOR it IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('DROP TABLE public.%I CASCADE', it.tablename);
  END LOOP;
  FOR it IN
    SELECT p.oid::regprocedure AS name FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS (
      SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('DROP FUNCTION %s CASCADE', it.name);
  END LOOP;
END $$;
"""


def copy(folder: Path, look: Callable[[], None]) -> Path:
    """Write the database into the folder; `look` reads in the very state that is written."""
    target = folder / FILES[connection.vendor]
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # It stands still for as long as the dump takes.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            (snapshot,) = cursor.fetchone()
            look()
            _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges",
                 f"--snapshot={snapshot}", f"--file={target}", _name())  # fmt: skip
        return target
    connection.ensure_connection()
    raw = connection.connection
    # One read transaction for both; an immediate one would keep writers, and the copy, waiting.
    raw.execute("BEGIN DEFERRED")
    try:
        look()
        with closing(sqlite3.connect(target)) as file:
            raw.backup(file)
    finally:
        raw.execute("COMMIT")
    return target


def replace(source: Path) -> None:
    """Put what was written there in the place of this database. Raises `Unfit`."""
    if connection.vendor == "postgresql":
        connection.close()
        _replace_postgresql(source)
        return
    connection.ensure_connection()
    with closing(sqlite3.connect(source)) as file:
        if file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise Unfit(f"{source} is damaged")
        file.backup(connection.connection)
    connection.close()


def _replace_postgresql(source: Path) -> None:
    """Read the dump as SQL behind a script that empties the database, in one transaction."""
    read = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(source)]
    write = [_program("psql"), "--no-psqlrc", "--quiet", "--single-transaction",
             "--set=ON_ERROR_STOP=1", f"--dbname={_name()}"]  # fmt: skip
    with subprocess.Popen(  # noqa: S603 -- a program of PostgreSQL and our own words
        write, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as writer:  # fmt: skip
        assert writer.stdin is not None
        assert writer.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            writer.stdin.write(EMPTY.encode())
            writer.stdin.flush()
        reader = subprocess.run(  # noqa: S603
            read, env=_environment(), stdout=writer.stdin, stderr=subprocess.PIPE, check=False
        )
        if reader.returncode and writer.poll() is None and not _has_ended(writer):
            # Half a dump must not look like a whole one, which ends where its pipe is closed.
            writer.kill()
            raise Unfit(f"pg_restore: {reader.stderr.decode(errors='replace').strip()}")
        with contextlib.suppress(BrokenPipeError):
            writer.stdin.close()
        said = writer.stderr.read().decode(errors="replace").strip()
    if writer.returncode:
        raise Unfit(
            f"{said.splitlines()[0] if said else 'psql failed'}. Nothing was changed: stop web, "
            "workers, beat and watchers, and try again."
        )


def _has_ended(writer: subprocess.Popen[bytes]) -> bool:
    """Whether it went away by itself, so that its own words are the reason."""
    try:
        writer.wait(2)
    except subprocess.TimeoutExpired:
        return False
    return True


def _run(program: str, *words: str) -> None:
    done = subprocess.run(  # noqa: S603 -- a program of PostgreSQL and our own words
        [_program(program), *words], env=_environment(), capture_output=True, check=False
    )
    if done.returncode:
        raise Unfit(f"{program}: {done.stderr.decode(errors='replace').strip()}")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unfit(f"{name} is missing; on Debian: apt-get install postgresql-client")
    return found


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _environment() -> dict[str, str]:
    """Where and who, for PostgreSQL's programs; the password is on no command line."""
    here = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {name: str(here[key]) for name, key in names.items() if here[key]}
    return {**os.environ, **given}
