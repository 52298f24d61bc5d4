"""`manage.py add_cluster NAME`: take a Kubernetes cluster into the portal's care."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.inventory.models import Cluster, ClusterKind, ClusterMode
from portal.kubernetes import adding
from portal.kubernetes.port import ClusterError


class Command(BaseCommand):
    """Prints kind, name, field, from → to of everything it takes over; may be repeated."""

    help = "Read a cluster's nodes, namespaces and quotas into pools, owners and a first proposal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name, the way there, the mode, and how much to write."""
        parser.add_argument("name", help="how people will call it, in letters, digits and hyphens")
        way = parser.add_mutually_exclusive_group(required=True)
        way.add_argument("--kubeconfig", metavar="FILE", help="a file on this machine")
        way.add_argument("--kubeconfig-env", metavar="NAME", help="a variable that names the file")
        way.add_argument("--in-cluster", action="store_true", help="the account of our own pod")
        parser.add_argument("--context", help="one of the kubeconfig's contexts")
        parser.add_argument("--mode", choices=ClusterMode.values, default=ClusterMode.OBSERVE.value)
        parser.add_argument(
            "--adopt-quotas", action="store_true",
            help="make what quotas allow now the teams' guarantee where they have none",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="print and write nothing")

    def handle(
        self, *args: Any, name: str, mode: str, adopt_quotas: bool, dry_run: bool, **options: Any
    ) -> None:
        """Look, print, and write unless it is a dry run."""
        taken = Cluster.objects.filter(name=name).exclude(kind=ClusterKind.KUBERNETES).exists()
        if taken:
            raise CommandError(f"{name} is the name of a simulated cluster")
        try:
            added = adding.add_cluster(
                name=name, settings=_settings(options), mode=ClusterMode(mode), now=clock.now(),
                adopt_quotas=adopt_quotas, dry_run=dry_run,
            )  # fmt: skip
        except ClusterError as error:
            raise CommandError(f"{name} was not added: {error}") from error
        for line in added.lines:
            was = "–" if line.was is None else line.was
            self.stdout.write(f"{line.kind} {line.name} {line.field}: {was} → {line.now}")
        for note in added.notes:
            self.stdout.write(f"Note: {note}")
        if not added.lines:
            self.stdout.write(f"{name}: nothing new")


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """How the cluster is reached, as its row keeps it: names and paths, no secrets."""
    settings: dict[str, Any] = {}
    if options["in_cluster"]:
        settings["in_cluster"] = True
    elif options["kubeconfig_env"]:
        settings["kubeconfig_env"] = options["kubeconfig_env"]
    else:
        settings["kubeconfig"] = str(Path(options["kubeconfig"]).expanduser().resolve())
    if options["context"]:
        settings["context"] = options["context"]
    return settings
