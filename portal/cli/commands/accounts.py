"""Signing in with a token, out again, and who one is."""

import getpass
import sys
from argparse import Namespace

from portal.cli import drawing, keeping
from portal.cli.calling import Portal
from portal.cli.faults import Misused, Refused
from portal.cli.shown import Shown
from portal.cli.words import gettext as _


def login(typed: Namespace) -> Shown:
    """Ask for address and token, check them at the portal, and keep them."""
    address = typed.address or _ask_address()
    token = (sys.stdin.readline() if typed.token_stdin else _ask_token()).strip()
    account = keeping.account(address, token, insecure=typed.insecure)
    try:
        me = Portal(account).get("me")
    except Refused as refused:
        if refused.problem.get("code") != "scope_missing":
            raise
        me = {"username": None, "name": None}
    path = keeping.keep(account)
    who = me["name"] or me["username"]
    said = (
        _("Signed in at %(address)s as %(who)s.") % {"address": account.address, "who": who}
        if who
        else _("Signed in at %(address)s. This token may not say whose it is.")
        % {"address": account.address}
    )
    kept = _("The token is kept in %(path)s, for you alone.") % {"path": path}
    return Shown(f"{said}\n{kept}", {"address": account.address, "file": str(path), "me": me})


def _ask_address() -> str:
    if not sys.stdin.isatty():
        raise Misused(_("Say where the portal is: evenshare login ADDRESS"))
    sys.stderr.write(_("Address of the portal: "))
    sys.stderr.flush()
    return sys.stdin.readline()


def _ask_token() -> str:
    if not sys.stdin.isatty():
        raise Misused(
            _("There is nobody to ask for a token."), hint=_("Send it in: --token-stdin < FILE")
        )
    return getpass.getpass(_("Token (it is not shown): "))


def logout(typed: Namespace) -> Shown:
    """Forget address and token on this machine."""
    try:
        page = f"{keeping.held({}).address}/account/tokens/"
    except (Misused, Refused):
        page = ""
    gone = keeping.forget()
    said = _("Signed out here.") if gone else _("You were not signed in.")
    also = _("The token itself goes on until it ends. To end it now: %(page)s") % {"page": page}
    return Shown(f"{said}\n{also}" if page else said, {"signed_out": gone})


def whoami(portal: Portal, typed: Namespace) -> Shown:
    """Say who one is at the portal, and with which roles where."""
    me = portal.get("me")
    names = {row["id"]: row["name"] for row in _teams(portal)}
    heads = [_("Role"), _("Where")]
    roles = [
        [one["role"], _("everywhere") if one["teams"] is None else _named(one["teams"], names)]
        for one in me["roles"]
    ]
    who = drawing.pairs(
        [(_("Portal"), portal.account.address), (_("Name"), me["name"]),
         (_("Sign-in name"), me["username"])]
    )  # fmt: skip
    said = drawing.table(heads, roles) if roles else _("You hold no role yet.")
    return Shown(f"{who}\n\n{said}", {"address": portal.account.address, **me})


def _teams(portal: Portal) -> list[dict[str, object]]:
    """Every team there is; their names are open to whoever holds a role."""
    try:
        return list(portal.get("teams")["results"])
    except Refused:
        return []


def _named(ids: list[int], names: dict[object, object]) -> str:
    return ", ".join(str(names.get(one, one)) for one in ids)
