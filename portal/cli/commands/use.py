"""What was used."""

from argparse import Namespace

from portal.cli import drawing, finding
from portal.cli.calling import Portal
from portal.cli.commands.requests import more
from portal.cli.shown import Shown
from portal.cli.words import gettext as _


def usage(portal: Portal, typed: Namespace) -> Shown:
    """Sum GPU-hours by whatever is asked for, the largest first as the portal gives them."""
    asked = {
        "by": typed.by, "from": typed.starts, "to": typed.until,
        "team": finding.team(portal, typed.team), "pool": finding.pool(portal, typed.pool),
    }  # fmt: skip
    found = portal.rows("usage/breakdown", most=typed.limit, **asked)
    heads = [_("What"), _("GPU-hours held"), _("Measured"), _("Busy")]
    rows = [
        [row["label"], drawing.hours(row["gpu_milli_seconds"]),
         drawing.hours(row["measured_milli_seconds"]),
         _share(row["used_milli_seconds"], row["measured_milli_seconds"])]
        for row in found["results"]
    ]  # fmt: skip
    text = drawing.table(heads, rows, right=" rrr") if rows else _("Nothing was used.")
    return Shown(text, found, notes=more(found))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else drawing.NOTHING
