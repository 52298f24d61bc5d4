"""The file of a simulated cluster: SQLite, one writer at a time, each step whole or not at all.

Live records are rows that change; the books only grow, and the file itself refuses anything else.
What was deleted stays readable for a while, so that readers learn how it ended.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from portal.kubernetes.port import Unreachable
from portal.kubernetes.simulated import records, tenants, workshop
from portal.kubernetes.simulated.records import Entry, Job, Node, Pod, Spec, Stored
from portal.kubernetes.simulated.workshop import Arrival, Rules, State

FORMAT = 1
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    kind TEXT NOT NULL, uid TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, uid)
) WITHOUT ROWID;
CREATE TABLE arrivals (number INTEGER PRIMARY KEY, starts INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE deleted (
    version INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE books (
    pod_uid TEXT NOT NULL, job_uid TEXT NOT NULL, namespace TEXT NOT NULL, node TEXT NOT NULL,
    devices TEXT NOT NULL, priority_class TEXT NOT NULL, from_s INTEGER NOT NULL,
    to_s INTEGER NOT NULL, PRIMARY KEY (pod_uid)
);
CREATE TRIGGER books_no_update BEFORE UPDATE ON books
BEGIN SELECT RAISE(ABORT, 'the books are append-only'); END;
CREATE TRIGGER books_no_delete BEFORE DELETE ON books
BEGIN SELECT RAISE(ABORT, 'the books are append-only'); END;
"""
KINDS: dict[str, type[Any]] = {
    "Node": Node, "Job": Job, "Pod": Pod, "Stored": Stored
}  # fmt: skip


class NoCluster(Unreachable):
    """There is no simulated cluster in this file, or none that can be read or written now."""


class File:
    """One open file. The state is kept in memory and read anew when another process wrote."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise NoCluster(f"there is no simulated cluster at {path}")
        self._path = path
        self._lock = threading.RLock()
        self._state: State | None = None
        with _in_words(path):
            self._connection = _connect(path)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Hand out the state to look at; it must not be changed."""
        with self._lock, _in_words(self._path):
            self._connection.execute("BEGIN")
            try:
                yield self._current()
            finally:
                self._connection.rollback()

    @contextmanager
    def changing(self, *, keep: bool = True) -> Iterator[State]:
        """Hand out the state to change, alone; what changed is written at the end.

        When the block fails, or with `keep` false, nothing is written and the state is read anew.
        """
        with self._lock, _in_words(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            kept = False
            try:
                state = self._current()
                yield state
                if keep:
                    _save(self._connection, state)
                    self._connection.execute("COMMIT")
                    kept = True
            finally:
                if not kept:
                    self._state = None
                    self._connection.rollback()

    def _current(self) -> State:
        mark = _meta(self._connection, "mark")
        if self._state is None or [self._state.version, self._state.clock] != mark:
            self._state = _load(self._connection)
        return self._state

    def deleted(self, kind: str, since: int) -> list[dict[str, Any]] | None:
        """Last sights of what was deleted after a version; None when that is too long ago."""
        if since < _meta(self._connection, "forgotten"):
            return None
        rows = self._connection.execute(
            "SELECT body FROM deleted WHERE version > ? AND kind = ? ORDER BY version",
            (since, kind),
        )
        return [json.loads(body) for (body,) in rows]

    def forget(self, before: int) -> None:
        """Forget what was deleted before an instant."""
        newest = "SELECT max(version) FROM deleted WHERE at < ?"
        (version,) = self._connection.execute(newest, (before,)).fetchone()
        if version is not None:
            self._connection.execute("DELETE FROM deleted WHERE version <= ?", (version,))
            _write_meta(self._connection, {"forgotten": version})

    def entries(self) -> list[Entry]:
        """The closed lines of the books."""
        rows = self._connection.execute(
            "SELECT pod_uid, job_uid, namespace, node, devices, priority_class, from_s, to_s"
            " FROM books ORDER BY from_s, pod_uid"
        )
        return [
            Entry(pod, job, namespace, node, tuple(json.loads(devices)), klass, from_s, to_s)
            for pod, job, namespace, node, devices, klass, from_s, to_s in rows
        ]


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Say of a file that is damaged, full or locked what it is, as a cluster that does not answer."""
    try:
        yield
    except sqlite3.Error as error:
        raise NoCluster(f"the simulated cluster at {path} cannot be used: {error}") from error


def create(
    path: Path, rules: Rules, nodes: list[Node], stored: list[Stored], arrivals: list[Arrival]
) -> None:
    """Make the file of a new cluster, whole or not at all. Raises `FileExistsError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise FileExistsError(path)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    connection = _connect(unfinished, journal="DELETE")
    try:
        connection.executescript(TABLES)
        connection.execute("BEGIN IMMEDIATE")
        _fill(connection, rules, [*nodes, *stored], arrivals)
        connection.execute("COMMIT")
    finally:
        connection.close()
    unfinished.rename(path)


def _fill(
    connection: sqlite3.Connection,
    rules: Rules,
    first: list[Node | Stored],
    arrivals: list[Arrival],
) -> None:
    connection.executemany(
        "INSERT INTO arrivals VALUES (?, ?, ?)",
        [
            (number, arrival.offset, json.dumps(records.pack(arrival.spec)))
            for number, arrival in enumerate(sorted(arrivals, key=lambda a: a.offset))
        ],
    )
    _write_meta(connection, {"format": FORMAT, "rules": asdict(rules), "forgotten": 0})
    state = State(rules=rules, clock=rules.starts_at)
    for record in first:
        state.touch(record)
    _save(connection, state)


def _connect(path: Path, journal: str = "WAL") -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _meta(connection: sqlite3.Connection, key: str) -> Any:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise NoCluster(f"the file lacks its {key}")
    return json.loads(row[0])


def _write_meta(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(key, json.dumps(value)) for key, value in values.items()],
    )


def _load(connection: sqlite3.Connection) -> State:
    try:
        return _read(connection)
    except (LookupError, TypeError, ValueError) as error:
        raise NoCluster(f"the simulated cluster's records cannot be read: {error!r}") from error


def _read(connection: sqlite3.Connection) -> State:
    version, clock = _meta(connection, "mark")
    trace = _meta(connection, "trace")
    state = State(
        rules=Rules(**_meta(connection, "rules")), clock=clock, version=version,
        cycle=trace["cycle"], cursor=trace["cursor"], retries=trace["retries"],
        admits=trace.get("admits", False),
    )  # fmt: skip
    state.arrivals = [
        Arrival(offset, records.unpack(Spec, json.loads(body)))
        for offset, body in connection.execute("SELECT starts, body FROM arrivals ORDER BY number")
    ]
    for kind, body in connection.execute("SELECT kind, body FROM records ORDER BY kind, uid"):
        _add(state, records.unpack(KINDS[kind], json.loads(body)))
    workshop.rebuild(state)
    tenants.expect_next(state)
    return state


def _add(state: State, record: Node | Job | Pod | Stored) -> None:
    match record:
        case Node():
            state.add_node(record)
        case Job():
            state.jobs[record.uid] = record
        case Pod():
            state.pods[record.uid] = record
        case Stored():
            state.put(record)


def _save(connection: sqlite3.Connection, state: State) -> None:
    """Write what changed since the last time; nothing when nothing did."""
    connection.executemany("DELETE FROM records WHERE kind = ? AND uid = ?", state.removed)
    connection.executemany(
        "INSERT INTO records VALUES (?, ?, ?)"
        " ON CONFLICT (kind, uid) DO UPDATE SET body = excluded.body",
        [(kind, uid, json.dumps(records.pack(r))) for (kind, uid), r in state.dirty.items()],
    )
    connection.executemany(
        "INSERT INTO deleted VALUES (?, ?, ?, ?)",
        [(version, at, kind, json.dumps(body)) for version, at, kind, body in state.deleted],
    )
    connection.executemany(
        "INSERT INTO books VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (e.pod_uid, e.job_uid, e.namespace, e.node, json.dumps(e.devices), e.priority_class,
             e.from_s, e.to_s)
            for e in state.entries
        ],
    )  # fmt: skip
    trace = {
        "cycle": state.cycle, "cursor": state.cursor, "retries": state.retries,
        "admits": state.admits,
    }  # fmt: skip
    _write_meta(connection, {"mark": [state.version, state.clock], "trace": trace})
    for pending in (state.removed, state.dirty, state.deleted, state.entries):
        pending.clear()
