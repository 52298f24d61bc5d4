"""`manage.py replay`: a trace or our own past in a cluster of ours, under several policies."""

import json
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.inventory.models import Cluster
from portal.scheduling import replaying
from portal.teams import selectors as teams
from scheduler_core.document import Fault
from scheduler_core.simulator import command, writing
from scheduler_core.traces import TraceError


class Command(BaseCommand):
    """Progress goes to standard error, the table (or JSON, or CSV) to standard output."""

    help = (
        "Replay a trace, or this installation's own past, under one policy or several and compare "
        "them. Without --nodes or --cluster: in a cluster of ours with its pools and quotas; "
        "without --order, --placement or --policy: under its own policy."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the engine's own arguments, and what only the portal has."""
        command.add_arguments(parser, elsewhere=True)
        parser.add_argument(
            "--history", nargs=2, metavar=("FROM", "TO"),
            help="our own past: dates or times, in the organisation's zone unless they name one",
        )  # fmt: skip
        parser.add_argument("--of", metavar="NAME", help="which of our clusters, if several")
        parser.add_argument(
            "--export", metavar="FOLDER",
            help="only write the period of --history there, as `evenshare` files",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Replay and print; what cannot be read is refused in one line with exit code 2."""
        arguments = Namespace(**options)
        outside = command.Outside(_open, _new, time.process_time, self._tell)
        period = _period(options["history"])
        cluster_id = self._cluster(options["of"], bool(arguments.cluster or arguments.nodes))
        if options["export"]:
            self._export(outside, options["export"], cluster_id, period)
            return
        try:
            answered = list(
                replaying.compare(
                    arguments, outside, cluster_id=cluster_id, period=period, now=clock.now()
                )
            )
        except (replaying.Refusal, TraceError, Fault, OSError) as refusal:
            raise CommandError(str(refusal), returncode=2) from refusal
        self._print(arguments, answered)

    def _export(
        self,
        outside: command.Outside,
        folder: str,
        cluster_id: int | None,
        period: replaying.Period | None,
    ) -> None:
        if period is None or cluster_id is None:
            raise CommandError("--export needs a cluster and a period of --history", returncode=2)
        jobs, nodes = replaying.export(outside, folder, cluster_id=cluster_id, period=period)
        self._tell(f"{jobs:,} jobs and {nodes:,} nodes written to {folder}")

    def _print(self, arguments: Namespace, answered: list[replaying.Answer]) -> None:
        if arguments.json:
            self.stdout.write(json.dumps(answered, indent=2))
        elif arguments.csv:
            writing.write_summary(answered, self.stdout)  # type: ignore[arg-type]
        else:
            self.stdout.write(replaying.table(answered), ending="")

    def _tell(self, line: str) -> None:
        self.stderr.write(line, style_func=str)

    def _cluster(self, name: str | None, is_named_elsewhere: bool) -> int | None:
        """The one cluster meant; none where there is none, or several and nodes are named."""
        found = dict(Cluster.objects.order_by("id").values_list("name", "id"))
        if name is not None and name not in found:
            raise CommandError(f"there is no cluster {name}", returncode=2)
        if name is not None or len(found) < 2:
            return found[name] if name else next(iter(found.values()), None)
        if is_named_elsewhere:
            return None
        several = f"there are several clusters, name one with --of: {', '.join(found)}"
        raise CommandError(several, returncode=2)


def _open(path: str) -> BinaryIO:
    return Path(path).open("rb")


def _new(path: str) -> TextIO:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Path(path).open("w", encoding="utf-8")


def _period(words: list[str] | None) -> replaying.Period | None:
    if words is None:
        return None
    from_at, to_at = (_instant(word) for word in words)
    if from_at >= to_at:
        raise CommandError("--history: the period must end after it begins", returncode=2)
    return from_at, to_at


def _instant(word: str) -> datetime:
    try:
        found = datetime.fromisoformat(word)
    except ValueError:
        told = f"--history: {word!r} is no date or time, such as 2026-11-02 or 2026-11-02T09:00"
        raise CommandError(told, returncode=2) from None
    zone = ZoneInfo(teams.get_organisation().zone)
    return found if found.tzinfo else found.replace(tzinfo=zone)
