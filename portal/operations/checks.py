"""What can be wrong with an installation, what is, and what to do about it.

`manage.py doctor` prints all findings; `/readyz` asks only for those without which no page works.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from smtplib import SMTPException

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis, RedisError

from portal.common import audit, clock, outbox
from portal.common.models import OutboxMessage
from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.kubernetes.port import ClusterError
from portal.operations import heartbeats
from portal.operations.models import Report
from portal.teams.models import Role, RoleAssignment

PATIENCE_SECONDS = 3
MISSED_BEATS = 3
BACKLOG = 100
UPKEEP_HOURS = 26
PROBE = "operations.probe"


class Level(Enum):
    """How bad a finding is."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it is and, unless it is good, what to do."""

    subject: str
    level: Level
    says: str
    do: str = ""


Check = Callable[[datetime], Iterator[Finding]]


def database(_now: datetime) -> Iterator[Finding]:
    """Find whether the database answers and has all its tables."""
    try:
        executor = MigrationExecutor(connection)
        behind = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        yield Finding("database", Level.BAD, f"does not answer: {error}", "Check DATABASE_URL.")
        return
    if behind:
        names = ", ".join(sorted({migration.app_label for migration, _ in behind}))
        yield Finding(
            "database", Level.BAD, f"tables are behind: {names}", "Run manage.py migrate."
        )
    elif connection.vendor == "sqlite" and not settings.EMBEDDED:
        yield Finding(
            "database", Level.WARN, "is SQLite, which serves one web process only",
            "Set DATABASE_URL to a PostgreSQL database.",
        )  # fmt: skip
    else:
        yield Finding("database", Level.GOOD, f"{connection.vendor} answers, tables are current")


def database_clock(_now: datetime) -> Iterator[Finding]:
    """Find whether this machine and the database agree on the time."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs: datetime = cursor.fetchone()[0]
    apart = abs((clock.real_now() - theirs).total_seconds())
    if apart > 2:
        yield Finding(
            "clock", Level.BAD, f"this machine and the database are {apart:.1f} s apart",
            "Run a time service (chrony, systemd-timesyncd) on both.",
        )  # fmt: skip
    else:
        yield Finding("clock", Level.GOOD, f"{apart:.2f} s from the database's")


def broker(_now: datetime) -> Iterator[Finding]:
    """Find whether the broker answers; an embedded installation has none."""
    if not settings.BROKER:
        return
    try:
        with _redis() as server:
            server.ping()
    except RedisError as error:
        yield Finding(
            "broker", Level.BAD, f"does not answer: {error}", "Check EVENSHARE_BROKER and Redis."
        )
    else:
        yield Finding("broker", Level.GOOD, "answers")


def shared_cache(_now: datetime) -> Iterator[Finding]:
    """Find whether what is remembered for all processes is kept; embedded, it is in memory."""
    if not settings.CACHE:
        return
    try:
        cache.set(PROBE, "kept", timeout=60)
        kept = cache.get(PROBE) == "kept"
    except RedisError as error:
        yield Finding(
            "cache", Level.BAD, f"does not answer: {error}", "Check EVENSHARE_CACHE and Redis."
        )
        return
    if not kept:
        yield Finding("cache", Level.BAD, "forgets at once", "Give its Redis more memory.")
    elif settings.CACHE == settings.BROKER:
        yield Finding(
            "cache", Level.WARN, "shares its database with the broker: emptying one loses both",
            "Set EVENSHARE_CACHE to another database.",
        )  # fmt: skip
    else:
        yield Finding("cache", Level.GOOD, "answers")


def workers(now: datetime) -> Iterator[Finding]:
    """Find whether beat asks, workers answer in time, and nothing piles up."""
    if not settings.BROKER:
        return
    for queue in (queue.name for queue in current_app.conf.task_queues):
        try:
            yield _queue(queue, now)
        except RedisError:
            return


def _queue(queue: str, now: datetime) -> Finding:
    subject, heard = f"queue {queue}", heartbeats.last(queue)
    start = f"Run celery -A portal beat, and celery -A portal worker (or with -Q {queue})."
    if heard is None:
        return Finding(subject, Level.BAD, "was never served", start)
    age = max(0, int((now - heard).total_seconds()))
    if age > MISSED_BEATS * settings.CHORE_SECONDS:
        return Finding(subject, Level.BAD, f"was last served {age} s ago", start)
    with _redis() as server:
        waiting = int(server.llen(queue))
    if waiting > BACKLOG:
        return Finding(
            subject, Level.WARN, f"{waiting} messages wait", "Start more workers for it."
        )
    return Finding(subject, Level.GOOD, f"served {age} s ago, {waiting} messages wait")


def _redis() -> Redis:
    return Redis.from_url(
        settings.BROKER, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
    )


def mail(_now: datetime) -> Iterator[Finding]:
    """Find whether the mail server takes mail, and whether there is one."""
    if not outbox.has_mail_server():
        yield Finding(
            "mail", Level.WARN, "no server is set: e-mails are not sent", "Set EVENSHARE_MAIL."
        )
    if not settings.EMAIL_HOST:
        return
    where = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        with get_connection():
            yield Finding("mail", Level.GOOD, f"{where} answers")
    except (OSError, SMTPException) as error:
        yield Finding("mail", Level.BAD, f"{where}: {error}", "Check EVENSHARE_MAIL.")


def leaving(_now: datetime) -> Iterator[Finding]:
    """Find whether messages to the world were given up."""
    given_up = OutboxMessage.objects.filter(given_up_at__isnull=False).count()
    if given_up:
        yield Finding(
            "outbox", Level.WARN, f"{given_up} messages were given up",
            f"See why, and send them again: {settings.SITE_URL}/inbox/outbox/",
        )  # fmt: skip
    else:
        yield Finding("outbox", Level.GOOD, "no message was given up")


def clusters(now: datetime) -> Iterator[Finding]:
    """Find clusters that were not seen, or not for too long."""
    rows = list(Cluster.objects.all())
    if not rows:
        yield Finding(
            "clusters", Level.WARN, "none yet", "Add one, or run manage.py demo to look around."
        )
    for row in rows:
        yield _cluster(row, now)


def _cluster(row: Cluster, now: datetime) -> Finding:
    subject = f"cluster {row.name}"
    if row.seen_real_at is None:
        why = row.last_error or "no reason known"
        return Finding(
            subject, Level.BAD, f"was never read: {why}", "Check its address and account."
        )
    age = int((now - row.seen_real_at).total_seconds())
    if age > row.stale_after_seconds:
        return Finding(
            subject, Level.BAD, f"last read {age} s ago; {row.last_error or 'nobody reads it'}",
            "See that the loop or the workers run and reach it.",
        )  # fmt: skip
    return Finding(subject, Level.GOOD, f"read {max(age, 0)} s ago, mode {row.mode}")


def reach(_now: datetime) -> Iterator[Finding]:
    """Find whether each cluster can be read from here now, with all that collecting reads."""
    for row in Cluster.objects.all():
        subject = f"reach {row.name}"
        try:
            seen = kubernetes.look(cluster_id=row.pk, now=clock.now())
        except ClusterError as error:
            yield Finding(subject, Level.BAD, str(error), "Check its address, account and rights.")
            continue
        devices = sum(seen.pools.values())
        yield Finding(subject, Level.GOOD, f"{devices} devices, {seen.pods} pods with devices")


def rights(_now: datetime) -> Iterator[Finding]:
    """Find whether our account may do in each cluster all that its mode needs."""
    for row in Cluster.objects.all():
        subject = f"rights {row.name}"
        try:
            missing = kubernetes.missing_rights(cluster_id=row.pk, now=clock.now())
        except ClusterError:
            continue  # `reach` says why it does not answer.
        if missing:
            yield Finding(
                subject, Level.BAD, f"may not {', '.join(map(str, missing))}",
                f"Apply its role: kubectl apply -k deploy/kubernetes/{row.mode}",
            )  # fmt: skip
        else:
            yield Finding(subject, Level.GOOD, f"may do all that the mode {row.mode} needs")


def people(_now: datetime) -> Iterator[Finding]:
    """Find whether two people can approve: nobody may approve their own request."""
    admins = RoleAssignment.objects.filter(role=Role.ADMIN, team=None, user__is_active=True)
    match admins.count():
        case 0:
            yield Finding(
                "people", Level.BAD, "nobody is admin of the organisation",
                "Run manage.py make_admin NAME.",
            )  # fmt: skip
        case 1:
            yield Finding(
                "people", Level.WARN, "one admin only: their own requests cannot be approved",
                "Make somebody else admin as well.",
            )  # fmt: skip
        case many:
            yield Finding("people", Level.GOOD, f"{many} admins")


def audit_chain(_now: datetime) -> Iterator[Finding]:
    """Find whether the audit chain is whole."""
    broken = audit.first_broken()
    if broken is None:
        yield Finding("audit", Level.GOOD, "the chain is whole")
    else:
        yield Finding(
            "audit", Level.BAD, f"the chain breaks at line {broken}",
            "Somebody changed the table: compare it with the last backup.",
        )  # fmt: skip


def upkeep(now: datetime) -> Iterator[Finding]:
    """Find whether what the installation does for itself went well, and lately."""
    for report in Report.objects.order_by("name"):
        subject = f"upkeep {report.name}"
        age = int((now - report.at).total_seconds()) // 3600
        if not report.ok:
            yield Finding(
                subject, Level.BAD, f"failed {age} h ago: {report.says}", "Run it by hand."
            )
        elif age > UPKEEP_HOURS:
            yield Finding(
                subject, Level.WARN, f"last ran {age} h ago",
                "See that beat and workers run; backups are yours to run.",
            )  # fmt: skip
        else:
            yield Finding(subject, Level.GOOD, f"ran {age} h ago")


def files(_now: datetime) -> Iterator[Finding]:
    """Find whether the folder for the installation's own files can be written."""
    folder = settings.VAR_DIR
    if folder.is_dir() and os.access(folder, os.W_OK):
        yield Finding("files", Level.GOOD, f"{folder} can be written")
    else:
        yield Finding(
            "files", Level.WARN, f"{folder} cannot be written", "Create it, or set EVENSHARE_VAR."
        )


READY: tuple[Check, ...] = (database, broker, shared_cache)
ALL: tuple[Check, ...] = (
    database, database_clock, broker, shared_cache, workers, mail, leaving, files, people, clusters, reach, rights, audit_chain, upkeep,
)  # fmt: skip


def examine(checks: tuple[Check, ...]) -> list[Finding]:
    """Run checks in order; the first that finds the database bad ends the round."""
    now = clock.real_now()
    findings: list[Finding] = []
    for check in checks:
        findings += check(now)
        if any(f.subject == "database" and f.level is Level.BAD for f in findings):
            break
    return findings
