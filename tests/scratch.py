"""A database of a test's own, in which every commit is real and other threads and processes see it.

The audit chain and the ledger refuse to be emptied, so a test that commits cannot clean up behind
itself. It works on a copy of the migrated test database, which is thrown away afterwards: on
PostgreSQL the server makes it from a template, on SQLite it is a file.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from django.db import connection, connections

_numbers = count(1)


@contextmanager
def template(folder: Path) -> Iterator[str]:
    """Keep the test database as it is now, to be copied; gives its name."""
    if connection.vendor != "postgresql":
        path = folder / "template.sqlite3"
        connection.ensure_connection()
        with sqlite3.connect(path) as file:
            connection.connection.backup(file)
        file.close()
        yield str(path)
        return
    # The server copies only what nobody is connected to.
    connection.close()
    name = f"{_settings()['NAME']}_template"
    on_server(f'CREATE DATABASE "{name}" TEMPLATE "{_settings()["NAME"]}"')
    yield name
    on_server(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def database(template: str, folder: Path) -> Iterator[str]:
    """Point all connections of this process at a fresh copy, and give its DATABASE_URL."""
    if connection.vendor != "postgresql":
        path = folder / "scratch.sqlite3"
        shutil.copy(template, path)
        with _connected_to(str(path)):
            yield f"sqlite:///{path}"
        return
    settings = _settings()
    name = f"{template}_{next(_numbers)}"
    on_server(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    with _connected_to(name):
        yield f"postgresql://{settings['USER']}@{settings['HOST']}:{settings['PORT']}/{name}"
    on_server(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def _connected_to(name: str) -> Iterator[None]:
    """Leave this thread's own connection, and the transaction it may be in, aside meanwhile."""
    settings, aside = _settings(), connections["default"]
    kept, settings["NAME"] = settings["NAME"], name
    del connections["default"]
    try:
        yield
    finally:
        connections["default"].close()
        settings["NAME"], connections["default"] = kept, aside


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = connections.settings["default"]
    return settings


def on_server(command: str) -> None:
    """Give a command that no transaction may surround."""
    import psycopg

    here = _settings()
    where = {"host": here["HOST"], "port": here["PORT"], "user": here["USER"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **where) as server:
        server.execute(command.encode())
