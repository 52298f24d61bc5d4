"""Writes of the room: spreading news, reading it, how one wants it, and who else is told."""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from portal.common import audit, outbox, sealing
from portal.common.errors import Invalid
from portal.common.models import AuditEvent, Channel
from portal.notifications import words
from portal.notifications.audience import Crowd
from portal.notifications.kinds import BY_NAME, KINDS, NEWS
from portal.notifications.models import (
    SEALED,
    Hook,
    Mailing,
    Notification,
    Preference,
    Progress,
)
from portal.notifications.sending import chat, guard
from portal.teams import selectors as teams
from portal.teams.models import User
from portal.teams.selectors import Tree

BATCH = 500
KEPT = timedelta(days=365)


@transaction.atomic
def spread(*, now: datetime, real_now: datetime) -> int:
    """Tell of the audit lines that are new, each exactly once; return how many were read.

    Lines are committed in the order of their ids, since the end of the chain is locked, so that
    none can appear behind the mark.
    """
    Progress.objects.get_or_create(id=1, defaults={"last_event_id": _newest()})
    mark = Progress.objects.select_for_update(no_key=True).get(id=1)
    events = list(AuditEvent.objects.filter(pk__gt=mark.last_event_id).order_by("pk")[:BATCH])
    if not events:
        return 0
    told = [event for event in events if event.action in NEWS]
    if told:
        tree = teams.get_tree(now=now)
        _tell_people(told, tree, real_now)
        _tell_programs(told, tree, real_now)
    Progress.objects.filter(id=1).update(last_event_id=events[-1].pk)
    return len(events)


def _newest() -> int:
    """Where reading begins in an installation that had a past before it had news."""
    last = AuditEvent.objects.order_by("-pk").values_list("pk", flat=True).first()
    return last or 0


def _tell_people(events: Sequence[AuditEvent], tree: Tree, real_now: datetime) -> None:
    crowd = Crowd(tree)
    rows = [
        _told(event, user_id)
        for event in events
        for user_id in sorted(crowd.concerned(event, NEWS[event.action].audience))
    ]
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    users = User.objects.in_bulk({row.user_id for row in rows})
    wishes = _wishes(users)
    names, people = teams.team_names(), _names_of(rows)
    for row in rows:
        user = users[row.user_id]
        if user.email and wishes[user.pk, row.kind] == Mailing.NOW:
            with translation.override(user.language or settings.LANGUAGE_CODE):
                _mail(user, [words.sentence(row, people=people, teams=names)], [row], real_now)


def _told(event: AuditEvent, user_id: int = 0) -> Notification:
    """Give the line as news; of nobody where it is only to be put into words."""
    return Notification(
        user_id=user_id, event_id=event.pk, kind=NEWS[event.action].kind, action=event.action,
        actor_id=event.actor_id, target_type=event.target_type, target_id=event.target_id,
        team_id=event.team_id, data=event.data, at=event.at,
    )  # fmt: skip


def _wishes(users: Mapping[int, User]) -> dict[tuple[int, str], str]:
    """How each wants each kind: their own choice, else the kind's."""
    wishes = {(user, kind.name): str(kind.mailing) for user in users for kind in KINDS}
    chosen = Preference.objects.filter(user_id__in=users)
    return wishes | {(row.user_id, row.kind): row.mailing for row in chosen}


def _names_of(rows: Sequence[Notification]) -> dict[int, str]:
    ids = {row.actor_id for row in rows if row.actor_id}
    return {user.pk: str(user) for user in User.objects.filter(pk__in=ids)}


def _mail(
    user: User, lines: Sequence[str], rows: Sequence[Notification], real_now: datetime
) -> None:
    """Put one mail; its key is the person and the newest line it tells of."""
    site = settings.SITE_URL
    told = [
        f"{line}\n{site}{words.page(row)}" if words.page(row) else line
        for line, row in zip(lines, rows, strict=True)
    ]
    foot = _("How you are told: %(url)s") % {"url": f"{site}/inbox/settings/"}
    count = len(lines)
    subject = lines[0] if count == 1 else _("%(count)d pieces of news") % {"count": count}
    outbox.put(
        key=f"mail:{user.pk}:{rows[-1].event_id}:{count}", channel=Channel.MAIL,
        address=user.email, subject=f"Evenshare: {subject}"[:200],
        body="\n\n".join([*told, foot]) + "\n", real_now=real_now,
    )  # fmt: skip


def _tell_programs(events: Sequence[AuditEvent], tree: Tree, real_now: datetime) -> None:
    hooks = list(Hook.objects.filter(retired_at=None))
    if not hooks:
        return
    rows = [_told(event) for event in events]
    people, names = _names_of(rows), teams.team_names()
    for hook in hooks:
        branch = None if hook.team_id is None else tree.branch(hook.team_id)
        for event, row in zip(events, rows, strict=True):
            if hook.kinds and row.kind not in hook.kinds:
                continue
            if branch is None or event.team_id in branch:
                text = words.sentence(row, people=people, teams=names)
                url = f"{settings.SITE_URL}{words.page(row)}"
                chatty = hook.way == Hook.Way.CHAT
                outbox.put(
                    key=f"hook:{hook.pk}:{event.pk}", channel=Channel(hook.way),
                    address=str(hook.pk), subject=text[:200],
                    body=f"{text}\n{url}" if chatty else _as_json(event, text, url),
                    real_now=real_now,
                )  # fmt: skip


def _as_json(event: AuditEvent, text: str, url: str) -> str:
    return json.dumps(
        {
            "id": event.pk, "at": event.at.isoformat(), "action": event.action, "text": text,
            "target": {"type": event.target_type, "id": event.target_id}, "team": event.team_id,
            "actor": event.actor_id, "data": event.data, "url": url,
        },
        ensure_ascii=False, sort_keys=True,
    )  # fmt: skip


@transaction.atomic
def send_digests(*, real_now: datetime) -> int:
    """Put the daily mail of each person for whom it is past eight in the morning; once a day."""
    unsent = Notification.objects.filter(digested_at=None, read_at=None).select_for_update(
        no_key=True, of=("self",)
    )
    by_user: dict[int, list[Notification]] = {}
    for row in unsent.order_by("event_id"):
        by_user.setdefault(row.user_id, []).append(row)
    users = User.objects.in_bulk(by_user)
    wishes, names, sent = _wishes(users), teams.team_names(), 0
    default_zone = teams.get_organisation().zone
    for user_id, held in by_user.items():
        user = users[user_id]
        rows = [row for row in held if wishes[user_id, row.kind] == Mailing.DAILY]
        if not rows or not user.email or not _is_morning(user.zone or default_zone, real_now):
            continue
        if not _is_new_day(user, user.zone or default_zone, real_now):
            continue
        with translation.override(user.language or settings.LANGUAGE_CODE):
            people = _names_of(rows)
            lines = [words.sentence(row, people=people, teams=names) for row in rows]
            _mail(user, lines, rows, real_now)
        Notification.objects.filter(pk__in=[row.pk for row in rows]).update(digested_at=real_now)
        sent += 1
    return sent


def _is_morning(zone: str, real_now: datetime) -> bool:
    return _local(zone, real_now).hour >= 8


def _is_new_day(user: User, zone: str, real_now: datetime) -> bool:
    sent = Notification.objects.filter(user=user, digested_at__isnull=False)
    last = sent.order_by("-digested_at").values_list("digested_at", flat=True).first()
    return last is None or _local(zone, last).date() < _local(zone, real_now).date()


def _local(zone: str, instant: datetime) -> datetime:
    return instant.astimezone(ZoneInfo(zone))


def mark_read(*, user_id: int, notification_id: int | None, real_now: datetime) -> None:
    """Note that one piece of a person's news, or without an id all of it, was read."""
    rows = Notification.objects.filter(user_id=user_id, read_at=None)
    if notification_id is not None:
        rows = rows.filter(pk=notification_id)
    rows.update(read_at=real_now)


@transaction.atomic
def set_preferences(*, user_id: int, mailing: Mapping[str, str]) -> None:
    """Keep how a person wants each kind of news by e-mail."""
    if not set(mailing) <= set(BY_NAME) or not set(mailing.values()) <= set(Mailing.values):
        raise Invalid(_("Choose how you want to be told."))
    for kind, choice in mailing.items():
        Preference.objects.update_or_create(
            user_id=user_id, kind=kind, defaults={"mailing": choice}
        )


@transaction.atomic
def add_hook(
    *, name: str, way: str, address: str, kinds: Sequence[str], team_id: int | None,
    actor_id: int | None, real_now: datetime,
) -> str:  # fmt: skip
    """Tell a program or a chat from now on; return the secret that signs, shown this once.

    Raises `Invalid` for an address that leads inside or that is not one.
    """
    if way == Hook.Way.WEBHOOK:
        guard.check(address)
    else:
        chat.check(address)
    secret = secrets.token_urlsafe(32) if way == Hook.Way.WEBHOOK else ""
    hook = Hook.objects.create(
        name=name, way=way, address=sealing.seal(address, purpose=SEALED),
        secret=sealing.seal(secret, purpose=SEALED) if secret else "", kinds=list(kinds),
        team_id=team_id, created_at=real_now,
    )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="notifications.hook_added", target_type="hook",
        target_id=hook.pk, team_id=team_id, data={"way": way, "kinds": list(kinds)},
    )  # fmt: skip
    return secret


@transaction.atomic
def retire_hook(*, hook_id: int, actor_id: int | None, real_now: datetime) -> None:
    """Tell a program or a chat no more."""
    if Hook.objects.filter(pk=hook_id, retired_at=None).update(retired_at=real_now):
        audit.record(
            actor_id=actor_id, action="notifications.hook_retired", target_type="hook",
            target_id=hook_id,
        )  # fmt: skip


@transaction.atomic
def try_again(*, message_id: int | None, actor_id: int | None, real_now: datetime) -> int:
    """Let one message that was given up, or without an id all of them, be sent once more.

    Returns how many.
    """
    again = outbox.try_again(message_id=message_id, real_now=real_now)
    if again:
        audit.record(
            actor_id=actor_id, action="notifications.tried_again", target_type="message",
            target_id=message_id, data={"messages": again},
        )  # fmt: skip
    return again


def forget_old(*, real_now: datetime) -> None:
    """Delete news older than a year."""
    Notification.objects.filter(at__lt=real_now - KEPT).delete()
