"""Adds to the audit chain and checks it.

A line's hash covers the line and the hash before it, so a line changed, removed or slipped in
breaks every hash after it; and the database itself refuses update and delete (see the migrations).
"""

import hashlib
import json
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime

from django.db import transaction

from portal.common import clock
from portal.common.models import AuditEvent, AuditHead

GENESIS = "0" * 64
request_id: ContextVar[str] = ContextVar("request_id", default="")


def record(
    *,
    actor_id: int | None,
    action: str,
    target_type: str,
    target_id: int | None,
    team_id: int | None = None,
    data: Mapping[str, object] | None = None,
) -> AuditEvent:
    """Add one line; call it inside the transaction that makes the change.

    The end of the chain is locked until commit: take every other lock (pool, then rows) before,
    or two writers wait for each other.

    `data` must be plain JSON: ids and numbers, before and after; no names of people.
    """
    with transaction.atomic():
        AuditHead.objects.get_or_create(id=1, defaults={"hash": GENESIS})
        head = AuditHead.objects.select_for_update(no_key=True).get(id=1)
        event = AuditEvent(
            at=clock.real_now(),
            actor_id=actor_id,
            action=action,
            target_type=target_type,
            target_id=target_id,
            team_id=team_id,
            data=dict(data or {}),
            request_id=request_id.get(),
            previous_hash=head.hash,
        )
        event.hash = _digest(event)
        event.save(force_insert=True)
        AuditHead.objects.filter(id=1).update(hash=event.hash)
    return event


def first_broken() -> int | None:
    """The id of the first line that does not follow from the one before; None when all is well."""
    previous = GENESIS
    for event in AuditEvent.objects.order_by("id").iterator():
        if event.previous_hash != previous or event.hash != _digest(event):
            return event.pk
        previous = event.hash
    head = AuditHead.objects.filter(id=1).first()
    if head is not None and head.hash != previous:
        return 0
    return None


def _digest(event: AuditEvent) -> str:
    """SHA-256 over the line in one fixed spelling."""
    at: datetime = event.at
    body = [
        event.previous_hash,
        at.isoformat(timespec="microseconds"),
        event.actor_id,
        event.action,
        event.target_type,
        event.target_id,
        event.team_id,
        event.data,
        event.request_id,
    ]
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
