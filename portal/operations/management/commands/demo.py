"""`manage.py demo`: a whole organisation on a simulated cluster, on one machine."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from portal.common import clock
from portal.common.models import ClockAnchor
from portal.inventory.models import ClusterMode
from portal.operations import history, organisation, running
from portal.teams.models import User


class Command(BaseCommand):
    """Makes the demo on the first run, goes on where it was on every later one."""

    help = "Run a demo organisation on a simulated cluster; Ctrl-C ends everything."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take port, speed and whether to stop once the demo is made."""
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--speed", type=int, default=60, help="organisation seconds a second")
        parser.add_argument("--only-make", action="store_true", help="make it, do not run it")
        parser.add_argument("--mode", choices=ClusterMode.values, default="",
                            help="how much the portal does in the cluster from now on")  # fmt: skip

    def handle(self, *args: Any, port: int, speed: int, only_make: bool, **options: Any) -> None:
        """Make, start, and stay until interrupted."""
        if not only_make and not running.port_is_free(port):
            raise CommandError(
                f"Port {port} is busy. Stop what uses it, or try: make demo PORT={port + 1}"
            )
        with running.alone(Path(settings.VAR_DIR)), running.stopping_on_signals():
            self._bring_database_up_to_date()
            if not ClockAnchor.objects.exists():
                self._make(speed)
            if options["mode"]:
                history.set_mode(ClusterMode(options["mode"]))
            if not only_make:
                running.web_and_loop(
                    port=port, speed=speed, say=self._say, greet=lambda: self._greet(speed)
                )

        if not only_make:
            self._say("\nStopped. `make demo` goes on where it was.")

    def _bring_database_up_to_date(self) -> None:
        if connection.vendor != "sqlite":
            raise CommandError("The demo keeps to SQLite; unset DATABASE_URL to run it.")
        known = set(MigrationLoader(connection).disk_migrations)
        applied = set(MigrationLoader(connection).applied_migrations)
        if ours := [m for m in applied - known if m[0] in {k[0] for k in known}]:
            raise CommandError(
                f"{_database_file()} was made by another version of Evenshare ({ours[0][1]}). "
                f"Move {settings.VAR_DIR} away to start a new demo."
            )
        call_command("migrate", verbosity=0)

    def _make(self, speed: int) -> None:
        if User.objects.exists():
            self.stdout.write("The demo was not made to its end; making it anew.")
            _throw_away()
            call_command("migrate", verbosity=0)
        self.stdout.write("Making three weeks of history; this takes a minute or two ...")
        began = time.monotonic()
        real = clock.real_now()
        until = real.replace(minute=0, second=0, microsecond=0)
        history.build(until=until, say=self._say)
        history.go_on(real_at=clock.real_now(), speed=speed)
        self.stdout.write(f"Made in {time.monotonic() - began:.0f} s.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _greet(self, speed: int) -> None:
        roles = {p.username: (p.role.label, p.team.capitalize()) for p in organisation.PEOPLE}
        self._say(f"  password for everybody: {organisation.PASSWORD}")
        for username in organisation.SHOWN_LOGINS:
            role, team = roles[username]
            self._say(f"  {username:<10} {role}{f' of {team}' if team else ''}")
        self._say(f"\n  The cluster is simulated, and its time runs {speed} times as fast.")


def _database_file() -> Path:
    return Path(str(settings.DATABASES["default"]["NAME"]))


def _throw_away() -> None:
    """Remove a half-made demo: the database and the simulated cluster's files."""
    connection.close()
    for path in (_database_file(), Path(settings.VAR_DIR) / f"{history.CLUSTER}.cluster"):
        for part in path.parent.glob(path.name + "*"):
            part.unlink()
