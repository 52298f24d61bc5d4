"""Requests: seen, asked for, decided on."""

from argparse import Namespace
from typing import Any

from portal.cli import calling, drawing, finding
from portal.cli.calling import Portal
from portal.cli.shown import Shown
from portal.cli.words import gettext as _

Row = dict[str, Any]


def listed(portal: Portal, typed: Namespace) -> Shown:
    """List requests in reach, newest first."""
    found = portal.rows(
        "requests", most=typed.limit, tab=typed.tab, state=typed.state, kind=typed.kind,
        team=finding.team(portal, typed.team), pool=finding.pool(portal, typed.pool),
    )  # fmt: skip
    heads = [
        _("Number"),
        _("State"),
        _("Kind"),
        _("Team"),
        _("Pool"),
        _("GPUs"),
        _("From"),
        _("Until"),
    ]
    rows = [
        [row["id"], row["state"], row["kind"], row["team"]["name"], row["pool"]["name"],
         _gpus(row), drawing.moment(row.get("starts_at")), drawing.moment(row.get("ends_at"))]
        for row in found["results"]
    ]  # fmt: skip
    text = drawing.table(heads, rows, right="r    r") if rows else _("There are no requests.")
    return Shown(text, found, notes=more(found))


def more(found: Row) -> str:
    """Say that a list goes on."""
    shown, count = len(found["results"]), found["count"]
    if shown >= count:
        return ""
    return _("%(shown)d of %(count)d; --limit shows more.") % {"shown": shown, "count": count}


def show(portal: Portal, typed: Namespace) -> Shown:
    """Show one request with its thread."""
    row = portal.get(f"requests/{calling.number(typed.request)}")
    return Shown(_in_full(row, portal), row)


def _gpus(row: Row) -> str:
    asked, granted = row.get("gpus", row.get("guaranteed")), row.get("granted_gpus")
    if granted is not None and granted != asked:
        return _("%(granted)s of %(asked)s") % {"granted": granted, "asked": asked}
    return drawing.clean(asked)


def _in_full(row: Row, portal: Portal) -> str:
    said = [
        f"{drawing.moment(one['at'])}  {drawing.clean(one['text'])}"
        for one in row.get("comments", [])
    ]
    text = drawing.pairs(
        [
            (_("Request"), row["id"]),
            (_("State"), row["state"]),
            (_("Kind"), row["kind"]),
            (_("Team"), row["team"]["name"]),
            (_("Pool"), row["pool"]["name"]),
            (_("GPUs"), _gpus(row)),
            (_("From"), row.get("starts_at") and drawing.moment(row["starts_at"])),
            (_("Until"), row.get("ends_at") and drawing.moment(row["ends_at"])),
            (_("What it is for"), row["reason"]),
            (_("Estimate"), _money(row)),
            (_("Note"), row["decision_note"]),
            (_("Reservation"), row["reservation"] and f"R-{row['reservation']}"),
            (_("Version"), row["version"]),
            (_("Page"), f"{portal.account.address}/requests/{row['id']}/"),
        ]
    )
    return "\n\n".join([text, "\n".join(said)]) if said else text


def _money(row: Row) -> str:
    micro = row.get("cost_micro")
    return f"{micro / 1_000_000:,.0f} {row['currency']}" if micro is not None else ""


def new_reservation(portal: Portal, typed: Namespace) -> Shown:
    """Ask for GPUs from when to when: as a draft, at once, or only whether it would fit."""
    body = _asked(portal, typed)
    if typed.check:
        return _checked(portal.ask("requests/check", body))
    row = portal.write("requests", body)
    if typed.submit:
        row = portal.write(f"requests/{row['id']}/submit")
    say = _("Request %(number)d is submitted.") if typed.submit else _(
        "Request %(number)d is a draft. To submit it: evenshare request submit %(number)d"
    )  # fmt: skip
    return Shown(f"{_in_full(row, portal)}\n\n{say % {'number': row['id']}}", row)


def _asked(portal: Portal, typed: Namespace) -> Row:
    """Give the body of the request; what was not said is left to the portal."""
    body = {
        "kind": "reservation", "team": finding.team(portal, typed.team),
        "pool": finding.pool(portal, typed.pool), "gpus": typed.gpus,
        "gpus_per_node": typed.per_node, "source": typed.source, "starts_at": typed.starts,
        "ends_at": typed.until, "zone": typed.zone, "reason": typed.reason,
    }  # fmt: skip
    return {name: value for name, value in body.items() if value is not None}


def _checked(found: Row) -> Shown:
    """Say whether it fits: by how the command ends too."""
    if found.get("fits") is None:
        faults = [f"{name}: {text}" for name, text in found.get("fields", {}).items()]
        return Shown("\n".join([_("It is not complete yet."), *faults]), found, ends_with=1)
    lines = [str(one).replace("**", "") for one in found.get("sentences", [])]
    ways = [f"  - {str(way['sentence']).replace('**', '')}" for way in found.get("ways", [])]
    if ways:
        lines += ["", _("What would fit:"), *ways]
    return Shown("\n".join(lines), found, ends_with=0 if found["fits"] else 1)


def submit(portal: Portal, typed: Namespace) -> Shown:
    """Put a draft before those who decide."""
    return _moved(portal, typed, "submit", {}, _("Request %(number)d is submitted."))


def cancel(portal: Portal, typed: Namespace) -> Shown:
    """Take a request back."""
    return _moved(portal, typed, "cancel", {}, _("Request %(number)d is cancelled."))


def approve(portal: Portal, typed: Namespace) -> Shown:
    """Agree to a request, or to a part of it."""
    body = {"note": typed.note, "granted_gpus": typed.gpus}
    said = {name: value for name, value in body.items() if value is not None}
    return _moved(portal, typed, "approve", said, _("Request %(number)d: you agree."))


def reject(portal: Portal, typed: Namespace) -> Shown:
    """Say no to a request, and why."""
    return _moved(
        portal, typed, "reject", {"note": typed.note}, _("Request %(number)d is rejected.")
    )


def _moved(portal: Portal, typed: Namespace, verb: str, body: Row, said: str) -> Shown:
    row = portal.write(f"requests/{calling.number(typed.request)}/{verb}", body)
    state = drawing.pairs(
        [(_("State"), row["state"]), (_("Note"), row["decision_note"]),
         (_("Reservation"), row["reservation"] and f"R-{row['reservation']}")]
    )  # fmt: skip
    return Shown(f"{said % {'number': row['id']}}\n{state}", row)
