"""Tells a cluster which reservations jobs of a namespace may name, so that its policies can refuse.

The list stands on the namespace, under a manager of its own: it changes with the calendar, the
label of the team with an admin's word.
"""

from collections import defaultdict
from datetime import datetime

from django.db.models import Q

from portal.common import leases
from portal.inventory.models import Cluster, NamespaceOwner
from portal.kubernetes.admitting.asking import Asker, Line
from portal.reservations.models import HOLDING, Reservation

RESERVATIONS = "evenshare.io/reservations"
WRITER = "evenshare-reservations"


def tell(asker: Asker, cluster: Cluster) -> None:
    """Write the list of every namespace where it is another; one without a team has none."""
    wanted = _wanted(cluster, asker.now)
    for item in asker.port.namespaces().items:
        metadata = item["metadata"]
        was = (metadata.get("annotations") or {}).get(RESERVATIONS)
        now = wanted.get(str(metadata["name"]))
        if was != now:
            _write(asker, str(metadata["name"]), was, now)


def _write(asker: Asker, name: str, was: str | None, now: str | None) -> None:
    if not asker.rehearses:
        if asker.lease is not None:
            leases.keep(asker.lease)
        change = {"metadata": {"annotations": {RESERVATIONS: now}}}
        asker.port.patch("Namespace", "", name, change, manager=WRITER)
    field = f"metadata.annotations[{RESERVATIONS}]"
    asker.lines.append(Line("Namespace", "", name, field, was, now))


def _wanted(cluster: Cluster, now: datetime) -> dict[str, str]:
    """Namespace → the reservations of its team that are open or still to come, by number."""
    rows = Reservation.objects.filter(pool__cluster=cluster, state__in=HOLDING, ends_at__gt=now)
    of_team: dict[int, list[int]] = defaultdict(list)
    for team_id, pk in rows.order_by("id").values_list("team_id", "id"):
        of_team[team_id].append(pk)
    owners = NamespaceOwner.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=now), namespace__cluster=cluster,
        valid_from__lte=now,
    )  # fmt: skip
    return {
        name: ",".join(f"R-{pk}" for pk in of_team[team_id])
        for name, team_id in owners.values_list("namespace__name", "team_id")
        if of_team[team_id]
    }
