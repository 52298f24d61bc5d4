"""Teams, pools and jobs by the names people know them by."""

from typing import Any

from portal.cli.calling import Portal
from portal.cli.faults import Misused
from portal.cli.words import gettext as _

MOST = 10_000
SHOWN = 10


def team(portal: Portal, text: str | None) -> int | None:
    """Return a team's id from its number, name or short name. Raises `Misused`."""
    return _one(portal, "teams", text, ("slug", "name"), _("There is no team %(name)s."))


def pool(portal: Portal, text: str | None) -> int | None:
    """Return a pool's id from its number or name. Raises `Misused`."""
    return _one(portal, "pools", text, ("name",), _("There is no pool %(name)s."))


def workload(portal: Portal, text: str) -> int:
    """Return a job's id from its number or, where only one has it, its name. Raises `Misused`."""
    if text.isascii() and text.isdigit():
        return int(text)
    states = "waiting,admitted,starting,running,stopping,succeeded,failed,cancelled"
    found = portal.rows("workloads", most=SHOWN, q=text, state=states)["results"]
    named = [row for row in found if row["name"] == text] or found
    if len(named) == 1:
        return int(named[0]["id"])
    if not named:
        raise Misused(_("There is no job %(name)s.") % {"name": text})
    known = ", ".join(f"{row['id']} {row['title']}" for row in named)
    raise Misused(
        _("Several jobs are called %(name)s.") % {"name": text},
        hint=_("Give the number of one: %(known)s") % {"known": known},
    )


def _one(
    portal: Portal, path: str, text: str | None, names: tuple[str, ...], missing: str
) -> int | None:
    if text is None or (text.isascii() and text.isdigit()):
        return None if text is None else int(text)
    rows: list[dict[str, Any]] = portal.rows(path, most=MOST)["results"]
    wanted = text.casefold()
    found = [row for row in rows if wanted in {str(row[name]).casefold() for name in names}]
    if len(found) == 1:
        return int(found[0]["id"])
    known = ", ".join(sorted({str(row[names[0]]) for row in found or rows}))
    if found:
        raise Misused(
            _("Several are called %(name)s.") % {"name": text},
            hint=_("Give the number of one: %(known)s")
            % {"known": ", ".join(f"{row['id']}" for row in found)},
        )
    raise Misused(missing % {"name": text}, hint=_("There are: %(known)s") % {"known": known})
