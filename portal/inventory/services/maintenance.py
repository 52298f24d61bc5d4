"""Planned work on nodes. It is never refused for what was promised: that becomes a conflict."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory.models import MaintenanceWindow, Node


@transaction.atomic
def plan_maintenance(
    *,
    node_id: int,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    actor_id: int | None,
    reason: str = "",
    drain_from: datetime | None = None,
) -> MaintenanceWindow:
    """Take a node out of capacity for a time to come.

    From `drain_from` on nothing new starts there, so that what runs may end before. Raises `Invalid` for a time that ends before it starts or has passed, `Missing` for a node
    that is not there, or not any more.
    """
    node = (
        Node.objects.select_for_update(no_key=True)
        .filter(pk=node_id, removed_at__isnull=True)
        .first()
    )
    if node is None:
        raise Missing
    if starts_at < now - timedelta(seconds=settings.TICK_SECONDS):
        raise Invalid(
            _("Maintenance cannot begin in the past."), fields={"starts_at": _("is in the past")}
        )
    starts_at = max(starts_at, now)
    if ends_at <= starts_at:
        raise Invalid(
            _("Maintenance must end after it begins."),
            fields={"ends_at": _("is not after the beginning")},
        )
    if drain_from is not None and drain_from > starts_at:
        raise Invalid(
            _("A node is drained before its maintenance begins."),
            fields={"drain_from": _("is after the beginning")},
        )
    window = MaintenanceWindow.objects.create(
        node=node, starts_at=starts_at, ends_at=ends_at, reason=reason, created_by_id=actor_id,
        drain_from=drain_from,
    )  # fmt: skip
    _record("inventory.maintenance_planned", window, actor_id)
    return window


@transaction.atomic
def plan_on_all(
    *,
    node_ids: Iterable[int],
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    actor_id: int | None,
    reason: str = "",
    drain_from: datetime | None = None,
) -> list[MaintenanceWindow]:
    """Plan the same work on several nodes, or on none; raises what `plan_maintenance` does."""
    ids = sorted(set(node_ids))
    # All rows before the end of the audit's chain, which the first plan holds.
    list(Node.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
    return [
        plan_maintenance(
            node_id=node_id, starts_at=starts_at, ends_at=ends_at, now=now, actor_id=actor_id,
            reason=reason, drain_from=drain_from,
        )
        for node_id in ids
    ]  # fmt: skip


@transaction.atomic
def cancel_maintenance(*, window_id: int, now: datetime, actor_id: int | None) -> None:
    """Call planned work off, or end it now if it has begun; twice is once.

    Raises `Missing`, or `Conflict` for work that is over.
    """
    window = MaintenanceWindow.objects.select_for_update(no_key=True).filter(pk=window_id).first()
    if window is None:
        raise Missing
    if window.cancelled_at is not None:
        return
    if window.ends_at <= now:
        raise Conflict(_("This maintenance is over."), code="over")
    if window.starts_at < now:
        window.ends_at = now
    else:
        window.cancelled_at = now
    window.save(update_fields=["ends_at", "cancelled_at"])
    _record("inventory.maintenance_cancelled", window, actor_id)


def _record(action: str, window: MaintenanceWindow, actor_id: int | None) -> None:
    audit.record(
        actor_id=actor_id,
        action=action,
        target_type="maintenance",
        target_id=window.pk,
        data={
            "node": window.node_id,
            "starts_at": window.starts_at.isoformat(),
            "ends_at": window.ends_at.isoformat(),
            "drain_from": window.drain_from.isoformat() if window.drain_from else None,
        },
    )
