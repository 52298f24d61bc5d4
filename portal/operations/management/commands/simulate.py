"""`manage.py simulate`: the portal on somebody's own trace, time running faster than the clock."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.inventory.models import Cluster
from portal.operations import cycle, history, own_trace, running
from portal.operations.organisation import PASSWORD
from portal.teams.models import User
from scheduler_core.traces import READERS, TraceError


class Command(BaseCommand):
    """Makes an organisation of the trace's teams and runs it until interrupted."""

    help = "Run the portal on your own trace of jobs and list of machines."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the files, the column that names teams, speed and port."""
        parser.add_argument("--trace", required=True, choices=sorted(READERS), metavar="FORMAT",
                            help=f"one of {', '.join(sorted(READERS))}")  # fmt: skip
        parser.add_argument("--nodes", required=True, help="a file, or a grid such as 64x8")
        parser.add_argument("--workloads", required=True, type=Path)
        parser.add_argument("--teams-from", default="team", choices=sorted(own_trace.COLUMNS))
        parser.add_argument("--speed", type=int, default=60)
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--only-make", action="store_true", help="make it, do not run it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, make, and run."""
        port, speed = int(options["port"]), int(options["speed"])
        if not options["only_make"] and not running.port_is_free(port):
            raise CommandError(f"Port {port} is busy. Try: --port {port + 1}")
        call_command("migrate", verbosity=0)
        if User.objects.exists():
            raise CommandError(
                f"{settings.VAR_DIR} already holds an organisation. "
                "Set EVENSHARE_VAR to an empty folder for another one."
            )
        try:
            own = own_trace.read(
                trace=options["trace"], nodes=options["nodes"], workloads=options["workloads"],
                teams_from=options["teams_from"],
            )  # fmt: skip
        except (TraceError, OSError) as error:
            raise CommandError(str(error)) from error
        self._make(own, options["workloads"].name, speed)
        if not options["only_make"]:
            with running.stopping_on_signals():
                running.web_and_loop(port=port, speed=speed, say=self.stdout.write)

    def _make(self, own: own_trace.OwnTrace, name: str, speed: int) -> None:
        now = clock.real_now().replace(microsecond=0)
        logins = own_trace.set_up(own=own, name=name, now=now)
        for cluster in Cluster.objects.all():
            cycle.turn(cluster_id=cluster.pk, now=now)
            own_trace.promise(own=own, now=now)
            cycle.turn(cluster_id=cluster.pk, now=now)
        history.go_on(real_at=clock.real_now(), speed=speed)
        self.stdout.write(
            f"{len(own.jobs)} jobs, {len(own.nodes)} machines, {len(own.teams)} teams."
        )
        self.stdout.write(f"  password for everybody: {PASSWORD}")
        for username, may in logins:
            self.stdout.write(f"  {username:<28} {may}")
