"""Keeps webhooks out of the inside: no address of ours, of the machine or of its neighbours.

Server-side request forgery is refused twice: when the address is saved, and again before each
sending, on the very addresses the connection is then made to, so that a name that resolves
otherwise the second time changes nothing.
"""

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from portal.common.errors import Invalid

PORTS = {"https": 443, "http": 80}


def check(url: str) -> tuple[str, int, str]:
    """Return host, port and one address to connect to. Raises `Invalid` naming what is wrong.

    Only https, save for hosts in `EVENSHARE_WEBHOOK_HOSTS`, which may also lie inside.
    """
    parts = _split(url)
    host = parts.hostname or ""
    trusted = host in settings.WEBHOOK_HOSTS
    if parts.scheme != "https" and not (trusted and parts.scheme == "http"):
        raise _wrong(_("A webhook's address begins with https://."))
    if not host or parts.username or parts.password or parts.fragment:
        raise _wrong(_("A webhook's address is a host and a path, without name or password."))
    port = parts.port or PORTS[parts.scheme]
    found = _resolve(host, port)
    if not trusted and not all(_is_outside(address) for address in found):
        raise _wrong(
            _("This address leads inside your own network. An operator can allow its host.")
        )
    return host, port, found[0]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        raise _wrong(_("This is not an address.")) from None
    return parts


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _wrong(_("No machine answers to this name.")) from None
    return [str(entry[4][0]) for entry in found]


def _is_outside(address: str) -> bool:
    """Whether the address is one of the open internet; also when it hides an IPv4 one inside."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None:
            return _is_outside(str(inner))
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            return _is_outside(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    return ip.is_global and not ip.is_multicast


def _wrong(text: str) -> Invalid:
    return Invalid(text, fields={"address": text})
