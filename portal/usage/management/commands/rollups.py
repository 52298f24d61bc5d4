"""`manage.py rollups check|update|rebuild`: the hourly sums of the ledger."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from portal.usage import rollups, services

SHOWN = 20


class Command(BaseCommand):
    """Exits with 1 when a check finds sums that are not the ledger's."""

    help = "Check the hourly sums against the ledger, bring them up to date, or make them anew."

    def add_arguments(self, parser: CommandParser) -> None:
        """One word."""
        parser.add_argument("what", choices=["check", "update", "rebuild"])

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        if options["what"] == "check":
            self._check()
        elif options["what"] == "update":
            self.stdout.write(f"{services.roll_up()} hours summed")
        else:
            self.stdout.write(f"{services.rebuild_rollups()} hours made anew")

    def _check(self) -> None:
        span = rollups.span()
        found = list(rollups.differences(*span)) if span else []
        for one in found[:SHOWN]:
            self.stdout.write(
                f"{one.hour:%F %T} cluster {one.cluster_id} pool {one.pool_id} team {one.team_id} "
                f"{one.charged_to}: ledger {one.ledger}, sums {one.rolled_up}"
            )
        if found:
            self.stdout.write(f"{len(found)} sums are not the ledger's: manage.py rollups rebuild")
            raise SystemExit(1)
        self.stdout.write("every sum is the ledger's")
