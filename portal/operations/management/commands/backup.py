"""`manage.py backup`: the whole installation into one folder, while everybody works on."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.operations import reports
from portal.operations.backups import making
from portal.operations.backups.manifest import Unfit


class Command(BaseCommand):
    """Writes a new folder, whole or not at all, and says what is in it."""

    help = (
        "Back up database and files into a new folder. The secret key is not in it: keep it apart."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take where to."""
        parser.add_argument("folder", type=Path, help="a folder that is not there yet")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        """Make it; where that fails, note so for the doctor and Prometheus."""
        now = clock.real_now()
        try:
            made = making.back_up(folder, now=now)
        except (Unfit, OSError) as error:
            reports.note(name=reports.BACKUP, ok=False, now=now, says=str(error))
            raise CommandError(str(error)) from error
        counts = ", ".join(f"{count:,} {name}" for name, count in made.rows.items())
        self.stdout.write(f"Backed up into {folder}: {counts}; {len(made.files)} files.")
        self.stdout.write(
            "EVENSHARE_SECRET_KEY is not in it. Without that key second factors, webhooks and "
            "single sign-on have to be set up anew: keep it apart."
        )
