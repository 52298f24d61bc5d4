"""`manage.py restore`: an installation back from a backup, checked before and after."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.operations.backups import manifest, restoring
from portal.operations.backups.manifest import Unfit


class Command(BaseCommand):
    """Says what it found; a backup that does not fit changes nothing."""

    help = "Restore a backup. Stop web, workers, beat and watchers first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take which, and whether rows that are there may go."""
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="throw away what this database holds now"
        )

    def handle(self, *args: Any, folder: Path, replace: bool, **options: Any) -> None:
        """Restore, and say how far back this is."""
        try:
            made = restoring.restore(folder, replace=replace)
        except (Unfit, OSError) as error:
            raise CommandError(str(error)) from error
        restoring.note(made, now=clock.real_now())
        self.stdout.write(
            f"Restored as of {made.made_at}; the audit chain of {made.audit_lines:,} lines is whole."
        )
        if not manifest.opens(made):
            self.stderr.write(
                "EVENSHARE_SECRET_KEY is not the one of this backup, so what was sealed stays "
                "closed: add that key to EVENSHARE_SECRET_KEY_FALLBACKS."
            )
