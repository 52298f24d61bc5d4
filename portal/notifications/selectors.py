"""Reads of the room."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from portal.common import sealing
from portal.common.models import Channel, OutboxMessage
from portal.notifications.kinds import KINDS, Kind
from portal.notifications.models import SEALED, Hook, Notification, Preference


def query_inbox(*, user_id: int, unread: bool = False, kind: str = "") -> QuerySet[Notification]:
    """Return a person's news, newest first."""
    rows = Notification.objects.filter(user_id=user_id)
    if unread:
        rows = rows.filter(read_at=None)
    return rows.filter(kind=kind) if kind else rows


def count_unread(*, user_id: int) -> int:
    """How much of a person's news is unread: one query on an index of the unread."""
    return Notification.objects.filter(user_id=user_id, read_at=None).count()


def list_wishes(*, user_id: int) -> list[tuple[Kind, str]]:
    """Return every kind of news with how the person wants it by e-mail."""
    chosen = dict(Preference.objects.filter(user_id=user_id).values_list("kind", "mailing"))
    return [(kind, chosen.get(kind.name, str(kind.mailing))) for kind in KINDS]


@dataclass(frozen=True, slots=True)
class HookRow:
    """A program or chat that is told, and how the last delivery went; `where` hides its keys."""

    id: int
    name: str
    way: str
    where: str
    kinds: tuple[str, ...]
    team_id: int | None
    waiting: int
    last_sent_at: datetime | None
    error: str


def list_hooks() -> list[HookRow]:
    """Return those told now, by name."""
    rows = []
    for hook in Hook.objects.filter(retired_at=None):
        own = OutboxMessage.objects.filter(channel=Channel(hook.way), address=str(hook.pk))
        waiting = own.filter(sent_at=None, given_up_at=None)
        failed = own.exclude(error="").order_by("-pk").values_list("error", flat=True).first()
        last = own.filter(sent_at__isnull=False).order_by("-sent_at").first()
        rows.append(
            HookRow(
                id=hook.pk, name=hook.name, way=hook.way, where=_where(hook),
                kinds=tuple(hook.kinds), team_id=hook.team_id, waiting=waiting.count(),
                last_sent_at=last.sent_at if last else None, error=failed or "",
            )
        )  # fmt: skip
    return rows


def _where(hook: Hook) -> str:
    """Return scheme and host: what stands behind them may be a key."""
    try:
        address = sealing.unseal(hook.address, purpose=SEALED)
    except sealing.Unreadable:
        return "?"
    scheme, _colon, rest = address.partition("://")
    return f"{scheme}://{rest.split('/')[0]}" if scheme.startswith("http") else f"{scheme}://…"
