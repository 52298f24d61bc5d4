"""Webhooks: signed, never redirected, to the address that was checked.

`Evenshare-Signature: t=<unix seconds>,v1=<hex>` is the HMAC-SHA256 of `<t>.<body>` under the
hook's secret; a receiver refuses old times. `Evenshare-Delivery` is the same at every attempt.
"""

import hashlib
import hmac
import http.client
import socket
import ssl
from urllib.parse import urlsplit

from portal.common import clock, sealing
from portal.common.errors import Invalid
from portal.common.models import OutboxMessage
from portal.common.outbox import NotSent
from portal.notifications.models import SEALED, Hook
from portal.notifications.sending import guard

SECONDS = 10
GONE = 410


def signature(secret: str, at: int, body: str) -> str:
    """Return the header by which a receiver knows that it was us."""
    digest = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def send(message: OutboxMessage) -> None:
    """Post the message. Raises `NotSent` for anything but a 2xx within ten seconds."""
    hook = Hook.objects.filter(pk=int(message.address), retired_at=None).first()
    if hook is None:
        raise NotSent("the hook was retired", final=True)
    try:
        url = sealing.unseal(hook.address, purpose=SEALED)
        secret = sealing.unseal(hook.secret, purpose=SEALED)
        host, port, address = guard.check(url)
    except sealing.Unreadable:
        raise NotSent("sealed under a secret key that is gone", final=True) from None
    except Invalid as fault:
        raise NotSent(str(fault.message)) from None
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Evenshare",
        "Evenshare-Delivery": message.key,
        "Evenshare-Signature": signature(secret, int(clock.real_now().timestamp()), message.body),
    }
    status = _post(url, host, port, address, message.body.encode(), headers)
    if not 200 <= status < 300:
        raise NotSent(f"answered {status}", final=status == GONE)


def _post(
    url: str, host: str, port: int, address: str, body: bytes, headers: dict[str, str]
) -> int:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        raw = socket.create_connection((address, port), timeout=SECONDS)
        connection.sock = (
            ssl.create_default_context().wrap_socket(raw, server_hostname=host)
            if parts.scheme == "https"
            else raw
        )
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as fault:
        raise NotSent(f"{type(fault).__name__}: {fault}"[:200]) from None
    finally:
        connection.close()
