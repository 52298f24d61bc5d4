"""`manage.py watch`: keep every real cluster, or one, in sight until told to stop."""

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from portal.inventory.models import Cluster, ClusterKind
from portal.kubernetes import services

LOOK_SECONDS = 30.0
LEAVE_SECONDS = 30.0


class Command(BaseCommand):
    """Runs one watcher a cluster, each in a thread; a cluster that is added later gets one too."""

    help = "Watch every real cluster until SIGTERM, so that its rows are current within seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take which cluster."""
        parser.add_argument("--cluster", metavar="NAME", help="only this one")

    def handle(self, *args: Any, cluster: str | None, **options: Any) -> None:
        """Watch until told to stop; then write what was told and go."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        if cluster:
            self._check(cluster)
        threads: dict[int, threading.Thread] = {}
        if not Cluster.objects.filter(kind=ClusterKind.KUBERNETES).exists():
            self.stdout.write("there is no real cluster yet; one that is added is watched at once")
        while not stop.is_set():
            self._begin(cluster, threads, stop)
            stop.wait(LOOK_SECONDS)
        for thread in threads.values():
            thread.join(LEAVE_SECONDS)

    def _check(self, name: str) -> None:
        row = Cluster.objects.filter(name=name).first()
        if row is None:
            raise CommandError(f"there is no cluster {name}")
        if row.kind != ClusterKind.KUBERNETES:
            raise CommandError(f"{name} is simulated: each look at it is a whole one, and quick")

    def _begin(
        self, name: str | None, threads: dict[int, threading.Thread], stop: threading.Event
    ) -> None:
        """Start a watcher for each cluster that has none."""
        rows = Cluster.objects.filter(kind=ClusterKind.KUBERNETES)
        for row in rows.filter(name=name) if name else rows:
            if row.pk not in threads or not threads[row.pk].is_alive():
                self.stdout.write(f"{row.name}: watching")
                threads[row.pk] = threading.Thread(
                    target=_watch, args=(row.pk, stop), name=f"watcher of {row.name}"
                )
                threads[row.pk].start()
        connection.close()


def _watch(cluster_id: int, stop: threading.Event) -> None:
    try:
        services.watch(cluster_id=cluster_id, stop=stop)
    finally:
        connection.close()
