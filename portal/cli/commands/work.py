"""Jobs: the queue, why one waits, when it starts, and a new one."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from portal.cli import drawing, finding
from portal.cli.calling import Portal
from portal.cli.commands.requests import more
from portal.cli.faults import Misused
from portal.cli.shown import Shown
from portal.cli.words import gettext as _

Row = dict[str, Any]
MOST_DECISIONS = 5


def queue(portal: Portal, typed: Namespace) -> Shown:
    """List open jobs in the order in which they would start."""
    found = _jobs(portal, typed, typed.state)
    heads = [_("Number"), _("Place"), _("Job"), _("Team"), _("Pool"), _("GPUs"), _("State"),
             _("Waited"), _("Start"), _("Why")]  # fmt: skip
    rows = [
        [row["id"], row["position"], row["title"], _name(row["team"]), _name(row["pool"]),
         drawing.gpus(row["gpu_milli"]), row["state"], drawing.stretch(row["waited_seconds"]),
         drawing.moment(row["planned_start"] or row["scheduled_at"]), _why(row)]
        for row in found["results"]
    ]  # fmt: skip
    text = drawing.table(heads, rows, right="rr   r r") if rows else _("No job is open.")
    return Shown(text, found, notes=more(found))


def _jobs(portal: Portal, typed: Namespace, state: str | None) -> Row:
    return portal.rows(
        "workloads", most=typed.limit, state=state, q=typed.words,
        team=finding.team(portal, typed.team), pool=finding.pool(portal, typed.pool),
    )  # fmt: skip


def _name(thing: Row | None) -> str:
    return str(thing["name"]) if thing else drawing.NOTHING


def _why(row: Row) -> str:
    return _plain(row["sentence"]["text"])


def _plain(text: object) -> str:
    """Without the marks a page draws bold."""
    return str(text).replace("**", "")


def why(portal: Portal, typed: Namespace) -> Shown:
    """Say why a job waits, or why it runs, and how it came to that."""
    row = portal.get(f"workloads/{finding.workload(portal, typed.workload)}")
    said = [_plain(row["sentence"]["text"]), *map(_plain, row["sentence"]["also"])]
    facts = drawing.pairs(
        [
            (_("Job"), f"{row['id']} {row['title']}"),
            (_("State"), row["state"]),
            (_("Place in the queue"), row["position"]),
            (_("Waited"), drawing.stretch(row["waited_seconds"])),
            (_("Start"), row["planned_start"] and drawing.moment(row["planned_start"])),
            *_outlook(row),
            (_("The cluster says"), row["cluster_message"]),
            (_("Page"), f"{portal.account.address}/queue/{row['id']}/"),
        ]
    )
    steps = [
        f"{drawing.moment(one['at'])}  {_plain(one['sentence']['text'])}"
        for one in row["decisions"][:MOST_DECISIONS]
    ]
    parts = ["\n".join(said), facts, "\n".join(steps)]
    return Shown("\n\n".join(part for part in parts if part), row)


def _outlook(row: Row) -> list[tuple[str, object]]:
    seen = row["forecast"] or {}
    return [
        (_("As likely as not by"), seen.get("p50") and drawing.moment(seen["p50"])),
        (_("Very likely by"), seen.get("p90") and drawing.moment(seen["p90"])),
    ]


def forecast(portal: Portal, typed: Namespace) -> Shown:
    """Say by when waiting jobs start, or how good such forecasts were."""
    if typed.scores:
        return _scores(portal, typed)
    found = _jobs(portal, typed, "waiting")
    heads = [_("Number"), _("Job"), _("Team"), _("GPUs"), _("Planned"), _("As likely as not by"),
             _("Very likely by")]  # fmt: skip
    rows = [
        [row["id"], row["title"], _name(row["team"]), drawing.gpus(row["gpu_milli"]),
         drawing.moment(row["planned_start"]),
         *(drawing.moment((row["forecast"] or {}).get(part)) for part in ("p50", "p90"))]
        for row in found["results"]
    ]  # fmt: skip
    text = drawing.table(heads, rows, right="r  r") if rows else _("No job waits.")
    return Shown(text, found, notes=more(found))


def _scores(portal: Portal, typed: Namespace) -> Shown:
    found = portal.rows(
        "forecasts", most=typed.limit, team=finding.team(portal, typed.team),
        pool=finding.pool(portal, typed.pool),
    )  # fmt: skip
    heads = [_("Team"), _("Pool"), _("Judged"), _("By the earlier"), _("By the later"),
             _("Off by")]  # fmt: skip
    rows = [
        [_name(row["team"]), _name(row["pool"]), row["judged"], row["started_by_p50"],
         row["started_by_p90"], drawing.stretch(row["median_error_seconds"])]
        for row in found["results"]
    ]  # fmt: skip
    text = drawing.table(heads, rows, right="  rrrr") if rows else _("No forecast is judged yet.")
    return Shown(text, found, notes=more(found))


FIELDS = (
    "kind", "job_class", "gpus", "pods", "cpu", "memory_gib", "hours", "save_seconds",
    "restore_seconds", "charge", "name", "image", "command", "reservation",
)  # fmt: skip
"""Fields of the page New job that are sent as they were typed."""


def new_job(portal: Portal, typed: Namespace) -> Shown:
    """Write the manifest of a job, and say beside it what would become of it."""
    given: Row = {name: getattr(typed, name) for name in FIELDS}
    given["pool"] = finding.pool(portal, typed.pool)
    body = {name: value for name, value in given.items() if value is not None}
    found = portal.ask("jobs/check", body)
    said = "\n".join(_plain(one) for one in (found["sentence"], *found["more"]))
    if typed.output is None:
        return Shown(found["yaml"].rstrip(), found, notes=said)
    _write(Path(typed.output), found["yaml"])
    where = _("Written to %(file)s.") % {"file": typed.output}
    return Shown(f"{said}\n{where}", found)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Misused(
            _("%(file)s is there already.") % {"file": path}, hint=_("Choose another name.")
        ) from None
    except OSError as fault:
        raise Misused(
            _("%(file)s cannot be written: %(why)s") % {"file": path, "why": fault.strerror}
        ) from None
