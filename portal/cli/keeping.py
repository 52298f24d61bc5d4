"""Where the portal is and the token for it, in a file only its owner can read.

`$XDG_CONFIG_HOME/evenshare/config.json`, by default under `~/.config`. Where a program runs that
has no such file, `EVENSHARE_ADDRESS` and `EVENSHARE_TOKEN` say the same and count before it.
"""

import ipaddress
import json
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from portal.cli.faults import Misused, Refused
from portal.cli.words import gettext as _

ONLY_OURS = 0o600
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


@dataclass(frozen=True, slots=True)
class Account:
    """A portal and who one is there; `insecure` is a plain connection one has agreed to."""

    address: str
    token: str
    insecure: bool = False

    def __repr__(self) -> str:
        return f"Account({self.address})"


def place(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file it is kept in."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "evenshare" / "config.json"


def account(address: str, token: str, *, insecure: bool) -> Account:
    """Return an account whose parts make sense together. Raises `Misused`, without the token."""
    if not TOKEN.fullmatch(token):
        raise Misused(
            _("This is not a token."),
            hint=_("Make one on the page API tokens and paste all of it."),
        )
    return Account(_address(address, insecure=insecure), token, insecure)


def _address(text: str, *, insecure: bool) -> str:
    """Return the address without what comes behind the host's own path."""
    text = text.strip()
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    plain = parts.username is None and parts.password is None
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise Misused(
            _("This is not an address."), hint=_("Give it as https://gpu.example.org.")
        )  # fmt: skip
    if parts.scheme == "http" and not (insecure or _is_this_machine(parts.hostname)):
        raise Misused(
            _("Over http:// anybody on the way can read the token."),
            hint=_("Use https://, or add --insecure if you know the way."),
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/api/v1')}"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def keep(kept: Account) -> Path:
    """Write the account, never readable for others, not even for a moment."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=path.parent)  # made for its owner alone
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump(asdict(kept), file)
    os.chmod(name, ONLY_OURS)
    os.replace(name, path)
    return path


def held(environment: Mapping[str, str] = os.environ) -> Account:
    """Return the account to speak with. Raises `Refused` where there is none."""
    address, token = environment.get("EVENSHARE_ADDRESS"), environment.get("EVENSHARE_TOKEN")
    if address and token:
        return account(address, token, insecure=False)
    path = place()
    try:
        open_to = stat.S_IMODE(path.stat().st_mode)
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(_("You are not signed in."), hint=_("Run: evenshare login")) from None
    except (OSError, ValueError):
        raise Misused(
            _("The file %(path)s cannot be read.") % {"path": path}, hint=_("Run: evenshare login")
        ) from None
    if open_to & 0o077:
        raise Misused(
            _("Others can read the token in %(path)s.") % {"path": path},
            hint=_("Revoke the token if they may have, then run: evenshare login"),
        )
    parts = found if isinstance(found, dict) else {}
    return account(
        str(parts.get("address", "")), str(parts.get("token", "")),
        insecure=parts.get("insecure") is True,
    )  # fmt: skip


def forget() -> bool:
    """Delete the file; false where there was none."""
    try:
        place().unlink()
    except FileNotFoundError:
        return False
    return True
