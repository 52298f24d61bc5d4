"""Makes a backup: the database, the portal's own files, and what it says of itself, in one folder."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from portal.common.models import AuditEvent, AuditHead
from portal.finance.models import Statement
from portal.operations import reports
from portal.operations.backups import databases, manifest
from portal.operations.backups.manifest import Manifest, Unfit
from portal.teams.models import User
from portal.usage.models import LedgerEntry

COUNTED = (AuditEvent, LedgerEntry, Statement, User)
FILES = "files"
# Made anew by whoever needs them, or of the running processes alone.
LEFT_OUT = ("static", "beat*", "*.lock", "*.log", "*-wal", "*-shm", "*-journal", "*.pid")
SQLITE = b"SQLite format 3\x00"


def back_up(folder: Path, *, now: datetime) -> Manifest:
    """Write a backup into a new folder, whole or not at all, while everybody works on.

    `now` is real time. Raises `Unfit`.
    """
    if folder.exists():
        raise Unfit(f"{folder} is there already; name a new folder for each backup")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True, mode=0o700)
    try:
        made = _write(part, now)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    reports.note(name=reports.BACKUP, ok=True, now=now, figures={"bytes": size, **made.rows})
    return made


def _write(folder: Path, now: datetime) -> Manifest:
    seen: list[tuple[dict[str, str], str, dict[str, int]]] = []
    database = databases.copy(folder, lambda: seen.append(_look()))
    files = [database, *_copy_files(folder / FILES)]
    tables, head, rows = seen[0]
    made = Manifest(
        made_at=now.isoformat(timespec="seconds"), vendor=connection.vendor, tables=tables,
        audit_lines=rows["AuditEvent"], audit_hash=head, rows=rows, seal=manifest.a_seal(),
        files={str(path.relative_to(folder)): manifest.checksum(path) for path in files},
    )  # fmt: skip
    manifest.write(folder, made)
    return made


def _look() -> tuple[dict[str, str], str, dict[str, int]]:
    """App → newest migration, the end of the audit chain, and counts, in the state written."""
    tables = dict(sorted(MigrationRecorder.Migration.objects.values_list("app", "name")))
    head = AuditHead.objects.filter(id=1).values_list("hash", flat=True).first()
    return tables, head or "", {model.__name__: model._default_manager.count() for model in COUNTED}


def _copy_files(target: Path) -> Iterator[Path]:
    home = Path(settings.VAR_DIR)
    database = Path(str(connection.settings_dict["NAME"]))
    for path in sorted(home.rglob("*")) if home.is_dir() else ():
        inside = path.relative_to(home)
        left_out = any(part.match(word) for part in (inside, *inside.parents) for word in LEFT_OUT)
        if left_out or path == database or not path.is_file():
            continue
        copy = target / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(path, copy)
        yield copy


def _copy_file(path: Path, copy: Path) -> None:
    with path.open("rb") as file:
        is_database = file.read(len(SQLITE)) == SQLITE
    if not is_database:
        shutil.copy2(path, copy)
        return
    # Somebody may write to it at this moment.
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as written,
    ):
        source.backup(written)
