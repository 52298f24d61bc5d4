"""`manage.py study`: run the studies that wait, one after the other, then end."""

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from portal.common import clock
from portal.studies import starting, working


class Command(BaseCommand):
    """Started by workers and by the demo; by hand it does the same."""

    help = "Run the What-if studies that wait, within their limits of time and memory."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take whose child this is."""
        parser.add_argument("--parent", type=int, help="end when this process is no more")

    def handle(self, *args: Any, parent: int | None, **options: Any) -> None:
        """Run until none waits."""
        starting.keep_small()
        world = working.World(
            now=clock.now, real_now=clock.real_now, leave=working.leave,
            is_orphan=lambda: parent is not None and os.getppid() != parent,
        )  # fmt: skip
        working.work(world)
