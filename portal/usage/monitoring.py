"""Which Prometheus watches a cluster, and reading it hour by hour, late data and gaps included."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.common import audit, sealing
from portal.common.errors import Missing
from portal.inventory.models import Cluster, ClusterKind
from portal.usage import measuring, prometheus, services, simulated
from portal.usage.appending import hour_of
from portal.usage.models import Monitoring
from portal.usage.prometheus import Series, Source, Unanswered
from portal.usage.rollups import HOUR

SEALED = "prometheus token"
SETTLED = timedelta(minutes=3)
"""How long after an hour its last samples may take to arrive."""
AGAIN = timedelta(hours=24)
"""What is read anew each time: samples and rows of the ledger may come late."""
FARTHEST = timedelta(days=14)
"""How far back a first or late reading goes; a Prometheus keeps some 15 days."""
AT_ONCE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class MonitoringRow:
    """Where a cluster's monitoring is, and how its reading goes; the token is never shown."""

    cluster_id: int
    address: str
    selector: str
    has_token: bool
    read_until: datetime | None
    read_at: datetime | None
    pods: int
    last_error: str


def get_monitoring(*, cluster_id: int) -> MonitoringRow | None:
    """What is set for a cluster. Raises `Missing` where there is no such cluster."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        raise Missing
    row = Monitoring.objects.filter(cluster_id=cluster_id).first()
    if row is None:
        return None
    return MonitoringRow(
        row.cluster_id, row.address, row.selector, bool(row.token), row.read_until, row.read_at,
        row.pods, row.last_error,
    )  # fmt: skip


@transaction.atomic
def set_monitoring(
    *,
    cluster_id: int,
    address: str,
    selector: str = "",
    token: str | None = None,
    actor_id: int | None,
    now: datetime,
) -> None:
    """Say which Prometheus to ask about a cluster; an empty address asks none any more.

    `token` None leaves the one that is set, unless the address changes: it is never sent to
    another place than it was given for. Raises `Missing`; `Invalid` for an address that no
    operator allows.
    """
    address, selector = address.strip().rstrip("/"), selector.strip()
    if not Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).exists():
        raise Missing
    before = Monitoring.objects.filter(cluster_id=cluster_id).first()
    if address:
        prometheus.check(address, selector)
        kept = before.token if before is not None and before.address == address else ""
        sealed = kept if token is None else sealing.seal(token, purpose=SEALED) if token else ""
        Monitoring.objects.update_or_create(
            cluster_id=cluster_id,
            defaults={
                "address": address, "selector": selector, "token": sealed, "last_error": "",
                "changed_at": now,
            },
        )  # fmt: skip
    elif before is not None:
        before.delete()
    audit.record(
        actor_id=actor_id, action="usage.monitoring_set", target_type="cluster",
        target_id=cluster_id, data={"address": address, "selector": selector},
    )  # fmt: skip


def due() -> list[int]:
    """Clusters that are measured: those with a Prometheus, and those that are simulated."""
    watched = Q(monitoring__isnull=False) | Q(kind=ClusterKind.SIMULATED)
    return list(Cluster.objects.filter(watched).values_list("pk", flat=True))


def read_due(*, cluster_id: int, now: datetime) -> int:
    """Read the hours that are over and not read, and the day before them anew.

    Returns how many measurements were new. Where nobody answers, nothing is skipped: the next
    call begins at the same hour. A simulated cluster needs nobody to be set.
    """
    row = Monitoring.objects.filter(cluster_id=cluster_id).first()
    if row is None and Cluster.objects.filter(pk=cluster_id, kind=ClusterKind.SIMULATED).exists():
        row = Monitoring.objects.create(cluster_id=cluster_id, changed_at=now)
    last = hour_of(now - SETTLED)
    if row is None or (row.read_until is not None and row.read_until >= last):
        return 0
    first = max((row.read_until or last) - AGAIN, hour_of(now - FARTHEST))
    return read_hours(cluster_id=cluster_id, from_at=first, to_at=last, now=now)


def read_hours(*, cluster_id: int, from_at: datetime, to_at: datetime, now: datetime) -> int:
    """Read whole hours of a period; a repeat adds nothing. Returns how many were new.

    A failure is kept as the row's last error. Raises `Missing` where no monitoring is set.
    """
    row = Monitoring.objects.filter(cluster_id=cluster_id).first()
    if row is None:
        raise Missing
    noted, since = 0, hour_of(from_at)
    while since + HOUR <= to_at:
        until = min(since + AT_ONCE, hour_of(to_at))
        try:
            series = _series(row, since, until)
        except Unanswered as fault:
            Monitoring.objects.filter(pk=row.pk).update(last_error=str(fault))
            return noted
        noted += _note(row, series, since, until, now)
        since = until
    return noted


@transaction.atomic
def _note(
    row: Monitoring,
    series: list[Series],
    since: datetime,
    until: datetime,
    now: datetime,
) -> int:
    found = measuring.work_out(row.cluster_id, series, since, until)
    new = measuring.news(found)
    source = "prometheus" if row.address else "simulated"
    services.note_measured(measurements=new, source=source, now=now)
    Monitoring.objects.filter(pk=row.pk).update(
        read_at=now, last_error="", pods=len({(one.namespace, one.pod) for one in series}),
        read_until=max(until, row.read_until or until),
    )  # fmt: skip
    return len(new)


def _series(row: Monitoring, since: datetime, until: datetime) -> list[Series]:
    if not row.address:
        return simulated.read(row.cluster_id, since, until)
    return prometheus.read(_source(row), since, until)


def _source(row: Monitoring) -> Source:
    try:
        token = sealing.unseal(row.token, purpose=SEALED) if row.token else ""
    except sealing.Unreadable:
        fault = _("The token was sealed under a secret key that is gone: set it again.")
        raise Unanswered(fault) from None
    return Source(row.address, row.selector, token)
