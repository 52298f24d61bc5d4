"""What may be typed: every command with its options, in the terminal's language."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from portal.cli.commands import accounts, requests, use, work
from portal.cli.words import gettext as _

USUAL, MOST = 50, 10_000
if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Commands = _SubParsersAction[ArgumentParser]


def parser() -> ArgumentParser:
    """Return the whole command line."""
    top = ArgumentParser(
        prog="evenshare", description=_("Shared GPUs: ask for them, and see why a job waits."),
        epilog=_("Ends with 0: done, 1: refused, 2: makes no sense, 3: the portal is not reached."), allow_abbrev=False,
    )  # fmt: skip
    commands = top.add_subparsers(required=True, metavar=_("COMMAND"))
    _accounts(commands)
    _requests(_add(commands, "request", _("See requests, ask, decide.")))
    _work(commands)
    _use(commands)
    return top


def _add(
    commands: Commands, name: str, says: str, run: Callable[..., object] | None = None
) -> ArgumentParser:
    one = commands.add_parser(name, help=says, description=says, allow_abbrev=False)
    if run is not None:
        one.add_argument("--json", action="store_true", help=_("the answer for programs"))
        one.set_defaults(run=run)
    return one


def _accounts(commands: Commands) -> None:
    login = _add(commands, "login", _("Keep address and token of a portal."), accounts.login)
    login.add_argument("address", nargs="?", help=_("such as https://gpu.example.org"))
    login.add_argument("--token-stdin", action="store_true", help=_("read the token from stdin"))
    login.add_argument(
        "--insecure", action="store_true", help=_("allow http:// to another machine")
    )
    login.set_defaults(alone=True)
    logout = _add(commands, "logout", _("Forget address and token."), accounts.logout)
    logout.set_defaults(alone=True)
    _add(commands, "whoami", _("Who you are, with which roles."), accounts.whoami)


def _requests(top: ArgumentParser) -> None:
    commands = top.add_subparsers(required=True, metavar=_("COMMAND"))
    listed = _add(commands, "list", _("Requests in reach, newest first."), requests.listed)
    listed.add_argument("--tab", choices=("waiting", "teams", "all"),
                        help=_("those that wait for you, those of your teams, all"))  # fmt: skip
    listed.add_argument("--state")
    listed.add_argument("--kind")
    _scope(listed)
    _one(_add(commands, "show", _("One request with its thread."), requests.show))
    new = _add(commands, "new", _("Ask for something."))
    _reservation(new.add_subparsers(required=True, metavar=_("KIND")))
    _one(_add(commands, "submit", _("Put a draft before those who decide."), requests.submit))
    approve = _add(commands, "approve", _("Agree, to all or to a part."), requests.approve)
    _one(approve)
    approve.add_argument("--gpus", type=int, help=_("grant fewer than asked"))
    approve.add_argument("--note")
    reject = _add(commands, "reject", _("Say no, and why."), requests.reject)
    _one(reject)
    reject.add_argument("--note", required=True, help=_("why not"))
    _one(_add(commands, "cancel", _("Take a request back."), requests.cancel))


def _one(command: ArgumentParser) -> None:
    command.add_argument("request", help=_("its number"))


def _reservation(kinds: Commands) -> None:
    one = _add(kinds, "reservation", _("GPUs from when to when."), requests.new_reservation)
    one.add_argument("--team", required=True, help=_("number or name"))
    one.add_argument("--pool", required=True, help=_("number or name"))
    one.add_argument("--gpus", type=int, required=True)
    one.add_argument("--per-node", type=int, help=_("so many on one node"))
    one.add_argument("--from", dest="starts", type=_moment, required=True, metavar="TIME",
                     help=_("such as 2026-11-02T09:00, in your own zone unless it names another"))  # fmt: skip
    until = one.add_mutually_exclusive_group(required=True)
    until.add_argument("--until", type=_moment, metavar="TIME")
    until.add_argument("--hours", type=float, help=_("instead of --until"))
    one.add_argument("--source", choices=("pool", "guarantee"),
                     help=_("beyond the team's guarantee, or fenced inside it"))  # fmt: skip
    one.add_argument("--zone", help=_("such as Asia/Seoul; the portal's own if not given"))
    one.add_argument("--for", dest="reason", required=True, metavar="WHY",
                     help=_("what it is for; whoever decides reads it"))  # fmt: skip
    how = one.add_mutually_exclusive_group()
    how.add_argument("--submit", action="store_true", help=_("submit it at once"))
    how.add_argument("--check", action="store_true",
                     help=_("only say whether it would fit: ends with 0 if so, with 1 if not"))  # fmt: skip


def _work(commands: Commands) -> None:
    queue = _add(commands, "queue", _("Open jobs, the next to start first."), work.queue)
    queue.add_argument("--state", help=_("one or several, with commas between"))
    _scope(queue)
    queue.add_argument("words", nargs="?", help=_("part of a job's name"))
    why = _add(commands, "why", _("Why a job waits, and since when."), work.why)
    why.add_argument("workload", help=_("number or name of a job"))
    forecast = _add(commands, "forecast", _("By when waiting jobs start."), work.forecast)
    forecast.add_argument("--scores", action="store_true", help=_("how good forecasts were"))
    _scope(forecast)
    forecast.add_argument("words", nargs="?", help=_("part of a job's name"))
    _new_job(_add(commands, "new-job", _("Write the manifest of a job."), work.new_job))


def _new_job(one: ArgumentParser) -> None:
    one.add_argument("name", nargs="?")
    one.add_argument("--pool", help=_("number or name"))
    one.add_argument("--kind", help=_("such as Job or RayJob"))
    one.add_argument("--class", dest="job_class", metavar="CLASS", help=_("such as training"))
    for option in ("--gpus", "--pods", "--cpu", "--memory-gib"):
        one.add_argument(option, type=int)
    one.add_argument("--hours", type=float, help=_("how long it takes"))
    one.add_argument("--save-seconds", type=int)
    one.add_argument("--restore-seconds", type=int)
    one.add_argument("--reservation", type=int, help=_("its number"))
    one.add_argument("--charge", choices=("guaranteed", "burst"))
    one.add_argument("--image")
    one.add_argument("--command")
    one.add_argument("--output", "-o", metavar="FILE", help=_("a new file; else to stdout"))


def _use(commands: Commands) -> None:
    usage = _add(commands, "usage", _("GPU-hours used."), use.usage)
    usage.add_argument("--by", default="team", choices=(
        "team", "department", "pool", "model", "charged_to", "person", "workload"))  # fmt: skip
    usage.add_argument("--from", dest="starts", type=_moment, metavar="TIME",
                       help=_("31 days ago if not given"))  # fmt: skip
    usage.add_argument("--until", type=_moment, metavar="TIME")
    _scope(usage)


def _scope(command: ArgumentParser) -> None:
    command.add_argument("--team", help=_("number or name"))
    command.add_argument("--pool", help=_("number or name"))
    command.add_argument("--limit", type=_rows, default=USUAL, help=_("rows at most, usually 50"))


def _rows(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST:
        return int(text)
    raise ArgumentTypeError(_("Give a number from 1 to %(most)d.") % {"most": MOST})


def _moment(text: str) -> str:
    """Read a time; one without an offset is of the terminal's own zone."""
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ArgumentTypeError(_("Give a time such as 2026-11-02T09:00.")) from None
    return (at if at.tzinfo else at.astimezone()).isoformat()


def finish(typed: Namespace) -> Namespace:
    """Work out what follows from what was typed: the end of so many hours."""
    if getattr(typed, "starts", None) and getattr(typed, "hours", None):
        begins = datetime.fromisoformat(typed.starts)
        typed.until = (begins + timedelta(hours=typed.hours)).isoformat()
    return typed
