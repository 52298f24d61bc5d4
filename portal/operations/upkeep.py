"""What the installation does for itself: follow its audit chain, and forget what is past its time.

Forgotten is what explains the everyday: decisions, outlooks, what was written where, news sent.
Never forgotten are the ledger, statements, requests, quotas and reservations with their dates, jobs
and the audit chain. Rows go a few thousand at a time, each time in a transaction of its own, so
that nobody waits for a night's worth; what is cut off is forgotten the next time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Model, Q, QuerySet

from portal.common import audit
from portal.common.models import AuditEvent, IdempotencyKey, OutboxMessage
from portal.kubernetes.models import Ask, Drift, Stop, SyncRun, SyncState
from portal.notifications.models import Notification
from portal.operations import reports
from portal.scheduling.models import Forecast, Standing, Tick

BATCH = 2000
DAY = timedelta(days=1)


def verify_audit(*, now: datetime) -> bool:
    """Follow the audit chain from end to end and note whether it is whole."""
    broken = audit.first_broken()
    reports.note(
        name=reports.AUDIT, ok=broken is None, now=now,
        says="" if broken is None else f"the chain breaks at line {broken}",
        figures={"lines": AuditEvent.objects.count()},
    )  # fmt: skip
    return broken is None


def prune(*, keep_days: Mapping[str, int], now: datetime, real_now: datetime) -> dict[str, int]:
    """Forget what is past its time and note it; gives how many rows of each kind went, parts too.

    `keep_days` names for how long ticks, syncs, outlooks, news and messages are kept.
    """
    gone = {
        name: sum(_delete(rows) for rows in kinds)
        for name, kinds in _past(keep_days, now, real_now).items()
    }
    reports.note(name=reports.PRUNE, ok=True, now=real_now, figures=gone)
    return gone


def _past(
    keep: Mapping[str, int], now: datetime, real_now: datetime
) -> dict[str, tuple[QuerySet[Model], ...]]:
    """Kind → its rows past their time. Ticks and syncs bring their decisions and writes along."""
    tick, sync = now - keep["ticks"] * DAY, now - keep["syncs"] * DAY
    outlook = now - keep["forecasts"] * DAY
    news, message = real_now - keep["news"] * DAY, real_now - keep["messages"] * DAY
    needed = Standing.objects.values("tick_id")
    ended = Q(sent_at__lt=message) | Q(given_up_at__lt=message)
    return {
        "ticks": (Tick.objects.filter(at__lt=tick).exclude(pk__in=needed),),
        "forecasts": (Forecast.objects.filter(made_at__lt=outlook),),
        "syncs": (
            SyncRun.objects.filter(at__lt=sync).exclude(state=SyncState.RUNNING),
            Drift.objects.filter(closed_at__lt=sync),
            Stop.objects.filter(closed_at__lt=sync),
            Ask.objects.filter(last_at__lt=sync),
        ),
        "news": (Notification.objects.filter(at__lt=news),),
        "messages": (OutboxMessage.objects.filter(ended),),
        "answers": (IdempotencyKey.objects.filter(created_at__lt=real_now - DAY),),
        "sessions": (Session.objects.filter(expire_date__lt=real_now),),
    }


def _delete(rows: QuerySet[Model]) -> int:
    gone = 0
    while pks := list(rows.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            # Asked again, so that a row which changed meanwhile stays.
            now_gone, _each = rows.filter(pk__in=pks).delete()
        gone += now_gone
        if not now_gone:
            break
    return gone
