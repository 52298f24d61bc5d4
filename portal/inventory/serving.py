"""What the commands that serve clusters share: which ones, one after the other, and how it ended."""

from abc import ABC, abstractmethod
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.inventory.models import Cluster


class ClusterCommand(BaseCommand, ABC):
    """Serves every cluster once, or the one named; ends with 1 where one could not be served."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take which cluster, and whether to write."""
        parser.add_argument("--cluster", metavar="NAME", help="only this one")
        parser.add_argument("--dry-run", action="store_true", help="print and write nothing")

    def handle(self, *args: Any, cluster: str | None, dry_run: bool, **options: Any) -> None:
        """Serve one after the other; a failure of one does not keep the next waiting."""
        failed = [row.name for row in self._chosen(cluster) if not self._serve(row, dry_run)]
        if failed:
            raise CommandError(f"could not be served: {', '.join(failed)}")

    def _chosen(self, name: str | None) -> list[Cluster]:
        rows = Cluster.objects.order_by("id")
        found = list(rows.filter(name=name) if name else rows)
        if not found:
            known = ", ".join(rows.values_list("name", flat=True))
            raise CommandError(
                f"there is no cluster {name}; there are: {known}"
                if name and known
                else "there is no cluster yet: add one with add_cluster"
            )
        return found

    def _serve(self, row: Cluster, dry_run: bool) -> bool:
        why = self.rehearse(row) if dry_run else self.serve(row)
        if why:
            self.stderr.write(f"{row.name}: {why}")
        return not why

    @abstractmethod
    def serve(self, row: Cluster) -> str:
        """Run one cycle; returns why the cluster could not be served, or nothing."""

    @abstractmethod
    def rehearse(self, row: Cluster) -> str:
        """Print what a cycle would do and write nothing; returns as `serve` does."""
