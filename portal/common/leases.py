"""One writer at a time: a lease with a fencing number, in the database all writers share.

Whoever takes a lease gets a number higher than any before. A writer that was paused past its time
still believes it holds the lease; its number is then too low, and `check`, called inside the
transaction that writes, refuses it. `keep` does so before each write elsewhere, such as to a
cluster, and prolongs a lease that runs out. Times are real time: a lease is about processes.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q

from portal.common import clock, logs
from portal.common.errors import Conflict
from portal.common.models import Lease


class Fenced(Conflict):
    """Somebody else took the lease meanwhile: nothing may be written any more."""

    code = "fenced"


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as its holder knows it."""

    name: str
    holder: str
    fence: int
    seconds: int = 0


def take(*, name: str, holder: str, seconds: int) -> Held | None:
    """Take a free or run-out lease; None while another holds it.

    One that runs out later than any taken now would was taken by a clock that was ahead, and may
    have died with it: it is free as well, since whoever still holds it is fenced off.
    """
    now = clock.real_now()
    Lease.objects.get_or_create(name=name)
    with transaction.atomic():
        row = (
            Lease.objects.select_for_update(no_key=True)
            .filter(name=name)
            .filter(
                Q(expires_at__isnull=True)
                | Q(expires_at__lte=now)
                | Q(expires_at__gt=now + 2 * timedelta(seconds=seconds))
                | Q(holder="")
            )
            .first()
        )
        if row is None:
            return None
        Lease.objects.filter(pk=row.pk).update(
            holder=holder, fence=F("fence") + 1, expires_at=now + timedelta(seconds=seconds)
        )
    return Held(name=name, holder=holder, fence=row.fence + 1, seconds=seconds)


def check(held: Held) -> None:
    """Raise `Fenced` unless this is still the newest taking; locks the row until commit."""
    row = Lease.objects.select_for_update(no_key=True).get(name=held.name)
    if row.fence != held.fence:
        raise _fenced(row)


def keep(held: Held) -> None:
    """Raise `Fenced` unless this is the newest taking; hold it on when half its time has passed."""
    row = Lease.objects.get(name=held.name)
    if row.fence != held.fence:
        raise _fenced(row)
    now = clock.real_now()
    if row.expires_at is None or row.expires_at - now < timedelta(seconds=held.seconds / 2):
        mine = Lease.objects.filter(name=held.name, fence=held.fence)
        if not mine.update(expires_at=now + timedelta(seconds=held.seconds)):
            raise _fenced(row)


def _fenced(row: Lease) -> Fenced:
    return Fenced(f"{row.name} was taken over by {row.holder or 'somebody else'}.")


def give_up(held: Held) -> None:
    """Let the next one in at once."""
    Lease.objects.filter(name=held.name, fence=held.fence).update(holder="", expires_at=None)


def myself() -> str:
    """Name this process for other people to read: machine, process, thread."""
    return f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident() % 10_000}"


@contextmanager
def holding(*, name: str, seconds: int, holder: str = "") -> Iterator[Held | None]:
    """Hold a lease for a block; gives None, and runs the block all the same, when it is taken."""
    held = take(name=name, holder=holder or myself(), seconds=seconds)
    if held is None:
        yield None
        return
    try:
        with logs.bound_to(lease=name, fence=held.fence):
            yield held
    finally:
        give_up(held)
