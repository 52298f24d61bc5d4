"""A backup taken while people write is one moment of the installation, and comes back whole."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test import override_settings

from portal.common import audit, leases
from portal.common.models import AuditEvent
from portal.operations.backups import databases, making, manifest, restoring
from portal.operations.backups.manifest import Unfit
from portal.operations.models import Report
from portal.teams.models import Organisation, Team
from tests import builders, scratch
from tests.production import ROOT

NOW = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture
def home(committed_database: str, tmp_path: Path) -> Iterator[Path]:
    """An installation with rows and files of its own."""
    if connection.vendor == "postgresql" and shutil.which("pg_dump") is None:
        pytest.skip("needs pg_dump: apt-get install postgresql-client")
    folder = tmp_path / "var"
    (folder / "static").mkdir(parents=True)
    (folder / "static/left-out.css").write_text("")
    (folder / "labels.json").write_text("{}")
    with override_settings(VAR_DIR=folder):
        Organisation.objects.create(name="Hangang Labs")
        _say(1)
        yield folder


def _say(number: int) -> None:
    """One change as the portal makes them: a row and its line, together."""
    with transaction.atomic():
        team = builders.a_team(f"team-{number}")
        audit.record(actor_id=None, action="teams.created", target_type="team", target_id=team.pk)


@contextmanager
def _writers(count: int) -> Iterator[None]:
    """People who write without pause."""
    stop = threading.Event()

    def write(first: int) -> None:
        number = first
        while not stop.is_set():
            _say(number)
            number += count
        connection.close()

    threads = [threading.Thread(target=write, args=(10 + n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_backup_taken_while_people_write_comes_back_as_one_moment(
    home: Path, tmp_path: Path
) -> None:
    with _writers(2):
        while AuditEvent.objects.count() < 20:
            pass
        made = making.back_up(tmp_path / "kept", now=NOW)
        while AuditEvent.objects.count() < made.audit_lines + 20:
            pass
    assert Team.objects.count() > made.audit_lines >= 20
    (home / "labels.json").write_text("changed")
    restoring.restore(tmp_path / "kept", replace=True)
    assert AuditEvent.objects.count() == Team.objects.count() == made.audit_lines
    assert audit.first_broken() is None
    assert (home / "labels.json").read_text() == "{}"
    # What guards the chain came back too, and people can go on.
    with pytest.raises(Exception, match="append-only"), transaction.atomic():
        AuditEvent.objects.update(action="x")
    _say(9999)
    assert audit.first_broken() is None


def test_a_backup_comes_back_in_an_empty_place_by_its_commands(
    home: Path, committed_database: str, tmp_path: Path
) -> None:
    call_command("backup", str(tmp_path / "kept"))
    assert Report.objects.get(name="backup").ok
    with _an_empty_place(committed_database, tmp_path) as url:
        environment = {
            **os.environ, "DATABASE_URL": url, "EVENSHARE_VAR": str(tmp_path / "elsewhere"),
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }  # fmt: skip
        for again, says in ((False, "chain of 1 lines is whole"), (True, "Add --replace")):
            done = subprocess.run(
                [sys.executable, "manage.py", "restore", str(tmp_path / "kept")], check=False,
                env=environment, cwd=ROOT, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == int(again), done.stderr
            assert says in done.stdout + done.stderr
        there = {path.name for path in (tmp_path / "elsewhere").iterdir()}
    assert "labels.json" in there


@contextmanager
def _an_empty_place(url: str, folder: Path) -> Iterator[str]:
    if connection.vendor != "postgresql":
        yield f"sqlite:///{folder / 'empty.sqlite3'}"
        return
    name = f"{connection.settings_dict['NAME']}_empty"
    scratch.on_server(f'CREATE DATABASE "{name}" TEMPLATE template0')
    try:
        yield f"{url.rpartition('/')[0]}/{name}"
    finally:
        scratch.on_server(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_rows_that_are_there_stay_unless_told_otherwise(home: Path, tmp_path: Path) -> None:
    making.back_up(tmp_path / "kept", now=NOW)
    _say(2)
    with pytest.raises(CommandError, match="--replace"):
        call_command("restore", str(tmp_path / "kept"))
    assert AuditEvent.objects.count() == 2
    call_command("restore", str(tmp_path / "kept"), "--replace")
    last = AuditEvent.objects.order_by("-id")[0]
    assert (AuditEvent.objects.count(), last.action) == (2, "operations.restored")


def test_a_damaged_backup_changes_nothing(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    making.back_up(kept, now=NOW)
    file = kept / databases.FILES[connection.vendor]
    whole = file.read_bytes()
    for damage in (whole[: len(whole) // 2], b"", whole[:-40] + b"x" * 40):
        file.write_bytes(damage)
        with pytest.raises(Unfit, match="not as it was written"):
            restoring.restore(kept, replace=True)
    # Even one that says it is whole.
    file.write_bytes(whole[: len(whole) // 2])
    found = json.loads((kept / manifest.NAME).read_text())
    found["files"][file.name] = manifest.checksum(file)
    (kept / manifest.NAME).write_text(json.dumps(found))
    with pytest.raises((Unfit, sqlite3.DatabaseError)):
        restoring.restore(kept, replace=True)
    assert AuditEvent.objects.count() == Team.objects.count() == 1


def test_a_backup_that_is_not_ours_is_refused(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    making.back_up(kept, now=NOW)
    text = (kept / manifest.NAME).read_text()
    found = json.loads(text)
    for change, says in (
        ({"format": 2}, "another version"),
        ({"vendor": "oracle"}, "backup of oracle"),
        ({"tables": {"teams": "9999_from_the_future"}}, "newer version"),
        ({"files": {"../outside": "0"}}, "leads out"),
        ({"surprise": 1}, "not as it was written"),
    ):  # fmt: skip
        (kept / manifest.NAME).write_text(json.dumps({**found, **change}))
        with pytest.raises(Unfit, match=says):
            restoring.restore(kept, replace=True)
    with pytest.raises(Unfit, match="no whole backup"):
        restoring.restore(tmp_path / "nothing", replace=True)


def test_a_backup_whose_end_of_the_chain_is_not_its_own_is_told(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    making.back_up(kept, now=NOW)
    found = json.loads((kept / manifest.NAME).read_text())
    (kept / manifest.NAME).write_text(json.dumps({**found, "audit_hash": "0" * 64}))
    with pytest.raises(Unfit, match="chain is broken at its end"):
        restoring.restore(kept, replace=True)


def test_the_secret_key_is_in_no_backup_and_another_key_is_told(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    with override_settings(SECRET_KEY="the-key-of-then-" * 4):
        making.back_up(kept, now=NOW)
        assert manifest.opens(manifest.read(kept))
    for path in kept.rglob("*"):
        assert path.is_dir() or b"the-key-of-then" not in path.read_bytes()
    call_command("restore", str(kept), "--replace")
    assert "EVENSHARE_SECRET_KEY_FALLBACKS" in capsys.readouterr().err
    with override_settings(SECRET_KEY_FALLBACKS=["the-key-of-then-" * 4]):
        assert manifest.opens(manifest.read(kept))


def test_whoever_held_a_lease_before_a_restore_is_fenced_off(home: Path, tmp_path: Path) -> None:
    making.back_up(tmp_path / "kept", now=NOW)
    held = leases.take(name="sync-1", holder="worker", seconds=60)
    assert held is not None
    first = leases.take(name="tick-1", holder="worker", seconds=60)
    assert first is not None
    making.back_up(tmp_path / "with leases", now=NOW)
    restoring.restore(tmp_path / "with leases", replace=True)
    with pytest.raises(leases.Fenced):
        leases.keep(held)
    newer = leases.take(name="sync-1", holder="another", seconds=60)
    assert newer is not None
    assert newer.fence > held.fence


def test_files_of_the_running_processes_are_left_out_and_a_folder_is_never_written_over(
    home: Path, tmp_path: Path
) -> None:
    for name in ("demo.lock", "beat.db", "worker.log", "lab.cluster-wal"):
        (home / name).write_text("x")
    (home / "deep").mkdir()
    (home / "deep/notes.txt").write_text("kept")
    made = making.back_up(tmp_path / "kept", now=NOW)
    database = databases.FILES[connection.vendor]
    assert made.files.keys() == {database, "files/labels.json", "files/deep/notes.txt"}
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
    with pytest.raises(CommandError, match="there already"):
        call_command("backup", str(tmp_path / "kept"))
    assert not Report.objects.get(name="backup").ok


def test_a_simulated_cluster_is_copied_as_the_database_it_is(home: Path, tmp_path: Path) -> None:
    from tests.portal.kubernetes.world import a_registered

    cluster, port = a_registered(home)
    (name,) = [path.name for path in home.glob("*.cluster")]
    making.back_up(tmp_path / "kept", now=NOW)
    port.close()
    (home / name).unlink()
    restoring.restore(tmp_path / "kept", replace=True)
    from portal.kubernetes import services as kubernetes

    assert kubernetes.look(cluster_id=cluster.pk, now=NOW).pools
