"""`manage.py prune`: forget at once what is past its time, which workers else do once a day."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from portal.common import clock
from portal.operations import upkeep


class Command(BaseCommand):
    """Says how many rows of each kind went, with all that hung on them."""

    help = "Forget decisions, outlooks, syncs, news and messages older than EVENSHARE_KEEP_*_DAYS."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prune, and say what."""
        gone = upkeep.prune(
            keep_days=settings.KEEP_DAYS, now=clock.now(), real_now=clock.real_now()
        )
        for name, count in gone.items():
            self.stdout.write(f"{name:10} {count:>9,}")
