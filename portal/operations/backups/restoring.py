"""The way back from a backup: everything is checked before anything is changed, and once more after."""

import shutil
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import F

from portal.common import audit
from portal.common.models import AuditEvent, AuditHead, Lease
from portal.operations.backups import databases, manifest
from portal.operations.backups.making import COUNTED, FILES
from portal.operations.backups.manifest import Manifest, Unfit
from portal.teams.models import Organisation, User

LEAP = 1_000_000
"""Added to every lease's number: whoever held one before the restore can write no more."""


def restore(folder: Path, *, replace: bool) -> Manifest:
    """Put a backup in the place of this installation's rows and files. Raises `Unfit`.

    `replace` allows it where there are rows already. Stop web, workers, beat and watchers before.
    """
    made = manifest.read(folder)
    _check_fit(made)
    if not replace and _holds_something():
        raise Unfit("This database holds an organisation. Add --replace to put the backup there.")
    databases.replace(folder / databases.FILES[made.vendor])
    call_command("migrate", verbosity=0)
    _check_whole(made)
    _put_files(folder, replace=replace)
    _fence_off()
    cache.clear()
    return made


def note(made: Manifest, *, now: datetime) -> None:
    """Say in the audit trail that what follows here came after a restore."""
    audit.record(
        actor_id=None, action="operations.restored", target_type="installation", target_id=None,
        data={"made_at": made.made_at, "lines": made.audit_lines, "at": now.isoformat()},
    )  # fmt: skip


def _check_fit(made: Manifest) -> None:
    if made.vendor != connection.vendor:
        raise Unfit(
            f"This is a backup of {made.vendor}, and DATABASE_URL names {connection.vendor}."
        )
    known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
    for app, name in made.tables.items():
        if any(key[0] == app for key in known) and (app, name) not in known:
            raise Unfit(
                f"The backup has tables of a newer version ({app} {name}): install that one."
            )


def _holds_something() -> bool:
    there = set(connection.introspection.table_names())
    return any(
        model._meta.db_table in there and model._default_manager.exists()
        for model in (Organisation, User, AuditEvent)
    )


def _check_whole(made: Manifest) -> None:
    """The chain and the counts are those of the moment the backup was made."""
    broken = audit.first_broken()
    head = AuditHead.objects.filter(id=1).values_list("hash", flat=True).first() or ""
    if broken is not None or head != made.audit_hash:
        where = "its end" if broken is None else f"line {broken}"
        raise Unfit(f"Restored, but the audit chain is broken at {where}: do not work with this.")
    rows = {model.__name__: model._default_manager.count() for model in COUNTED}
    if rows != made.rows:
        raise Unfit(f"Restored, but rows differ: {rows} instead of {made.rows}.")


def _put_files(folder: Path, *, replace: bool) -> None:
    home, source = Path(settings.VAR_DIR), folder / FILES
    for path in sorted(source.rglob("*")) if source.is_dir() else ():
        target = home / path.relative_to(source)
        if not path.is_file() or (target.exists() and not replace):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in ("-wal", "-shm"):
            target.with_name(target.name + leftover).unlink(missing_ok=True)
        part = target.with_name(f"{target.name}.part")
        shutil.copy2(path, part)
        part.replace(target)


@transaction.atomic
def _fence_off() -> None:
    """A process that still believes in its lease of before is refused from now on."""
    Lease.objects.update(holder="", expires_at=None, fence=F("fence") + LEAP)
