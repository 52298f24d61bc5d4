"""The queue as one reader may see it: every open job, by name only in the reader's branches."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.inventory import selectors as inventory
from portal.scheduling import naming, sentences
from portal.scheduling.models import Decision, Standing
from portal.scheduling.selectors import forecasts
from portal.scheduling.selectors.forecasts import OutlookRow
from portal.scheduling.sentences import Names, Said, Sentence
from portal.teams import selectors as teams
from portal.teams.permissions import WORK
from portal.teams.selectors import Access
from portal.workloads.models import OPEN_STATES, Workload, WorkloadState

SORTS: dict[str, tuple[F, ...]] = {
    "position": (F("standing__position"),),
    "submitted_at": (F("submitted_at"),),
    "team": (F("team__name"),),
    "pool": (F("pool__name"),),
    "state": (F("state"),),
    "gpus": (F("total_milli"),),
    "planned_start": (F("standing__planned_start"),),
}
REFERS = ("workload", "for")
"""Keys of a detail that name a job."""
KEPT = ExpressionWrapper(Q(tick__snapshot__isnull=False), BooleanField())


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One job in the queue. What this reader may not see is empty: `visible` says which it is."""

    id: int
    visible: bool
    name: str
    person: str
    kind: str
    team_id: int | None
    team_name: str
    cluster_id: int
    pool_id: int | None
    pool_name: str
    tasks: int
    gpu_milli: int
    state: str
    submitted_at: datetime
    scheduled_at: datetime | None
    ended_at: datetime | None
    verb: str
    reason: str
    detail: Mapping[str, Any]
    position: int | None
    planned_start: datetime | None
    charged_to: str
    sentence: Sentence
    outlook: OutlookRow | None

    @property
    def title(self) -> str:
        """Its name, or whose it is."""
        if self.visible:
            return self.name
        if self.team_name:
            return _("a job of %(team)s") % {"team": self.team_name}
        return _("a job of no team")

    @property
    def waits(self) -> bool:
        """Whether it has not been let in."""
        return self.state == WorkloadState.WAITING

    def waited_seconds(self, now: datetime) -> int:
        """How long it waited, or has waited by now."""
        until = self.scheduled_at or self.ended_at or now
        return max(0, int((until - self.submitted_at).total_seconds()))


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What a tick newly decided of a job."""

    id: int
    tick_id: int
    at: datetime
    verb: str
    reason: str
    detail: Mapping[str, Any]
    charged_to: str
    planned_start: datetime | None
    sentence: Sentence
    has_snapshot: bool = False
    """Whether the engine's input of that tick is still kept."""


def list_queue(
    access: Access,
    *,
    team_ids: Iterable[int] | None = None,
    pool_id: int | None = None,
    states: Iterable[str] = (),
    kind: str = "",
    q: str = "",
    sort: str = "position",
) -> QuerySet[Workload]:
    """Jobs in the order asked for, for a paged list; turn a page of them into `queue_rows`.

    Open ones unless other `states` are named; ended ones only of the reader's branches. A search
    finds names and people there, and team names everywhere. Raises `Invalid` for an unknown sort.
    """
    mine = _mine(access)
    jobs = (
        Workload.objects.filter(Q(state__in=OPEN_STATES) | mine)
        .filter(state__in=list(states) or OPEN_STATES)
        .select_related("team", "pool", "user", "standing")
        .annotate(total_milli=F("tasks") * F("gpu_milli"))
    )
    if team_ids is not None:
        jobs = jobs.filter(team_id__in=list(team_ids))
    if pool_id is not None:
        jobs = jobs.filter(pool_id=pool_id)
    if kind:
        jobs = jobs.filter(mine, kind=kind)
    if q:
        jobs = jobs.filter(_found(q, mine))
    return jobs.order_by(*_order(sort))


def list_first_waiting(access: Access, *, team_ids: Iterable[int], most: int) -> QuerySet[Workload]:
    """The first so many jobs of each of these teams that wait, in queue order: one query."""
    place = Window(RowNumber(), partition_by=F("team_id"), order_by=_order("position"))
    jobs = list_queue(access, team_ids=team_ids, states=[WorkloadState.WAITING])
    return jobs.annotate(place=place).filter(place__lte=most)


def _mine(access: Access) -> Q:
    """Jobs this reader may see by name."""
    reached = access.teams(WORK)
    return Q(pk__isnull=False) if reached is None else Q(team_id__in=sorted(reached))


def _found(q: str, mine: Q) -> Q:
    named = Q(name__icontains=q) | Q(user__username__icontains=q) | Q(person__icontains=q)
    return (named & mine) | Q(team__name__icontains=q)


def _order(sort: str) -> list[Any]:
    columns = SORTS.get(sort.removeprefix("-"))
    if columns is None:
        raise Invalid(
            _("The list cannot be sorted by %(sort)s.") % {"sort": sort},
            fields={"sort": _("must be one of %(sorts)s") % {"sorts": ", ".join(SORTS)}},
        )
    down = sort.startswith("-")
    ordered = [c.desc(nulls_last=True) if down else c.asc(nulls_last=True) for c in columns]
    return [*ordered, "submitted_at", "id"]


def queue_rows(
    jobs: Iterable[Workload], access: Access, *, zone: tzinfo = UTC, now: datetime | None = None,
    likely: bool = True,
) -> list[QueueRow]:  # fmt: skip
    """A page of `list_queue` as this reader may see it; four queries however long it is.

    Without `likely` nothing is said of when they will probably start.
    """
    page = list(jobs)
    details = [job.standing.detail for job in page if hasattr(job, "standing")]
    names = names_for(details, access)
    waiting = [job.pk for job in page if likely and job.state == WorkloadState.WAITING]
    outlooks = forecasts.outlooks(waiting) if waiting else {}
    return [queue_row(job, access, names, zone, now, outlooks.get(job.pk)) for job in page]


def queue_row(
    job: Workload,
    access: Access,
    names: Names,
    zone: tzinfo,
    now: datetime | None,
    outlook: OutlookRow | None = None,
) -> QueueRow:
    """One job as this reader may see it."""
    reached = access.teams(WORK)
    visible = reached is None or job.team_id in reached
    standing: Standing | None = getattr(job, "standing", None)
    said = Said(
        verb=standing.verb if standing else "",
        reason=standing.reason if standing else "",
        detail=standing.detail if standing else {},
        charged_to=standing.charged_to if standing else "",
        position=standing.position if standing else None,
        planned_start=standing.planned_start if standing else None,
        cluster_reason=job.cluster_reason,
        cluster_message=job.cluster_message if visible else "",
        cluster_detail=job.cluster_detail if visible else {},
    )
    return QueueRow(
        id=job.pk, visible=visible, name=job.name if visible else "",
        person=person_of(job) if visible else "", kind=job.kind if visible else "",
        team_id=job.team_id, team_name=job.team.name if job.team else "",
        cluster_id=job.cluster_id, pool_id=job.pool_id,
        pool_name=job.pool.name if job.pool else "", tasks=job.tasks,
        gpu_milli=job.tasks * job.gpu_milli, state=job.state, submitted_at=job.submitted_at,
        scheduled_at=job.scheduled_at, ended_at=job.ended_at, verb=said.verb, reason=said.reason,
        detail=said.detail if visible else {}, position=said.position, planned_start=said.planned_start,
        charged_to=job.charged_to, sentence=sentences.build(said, names=names, zone=zone, now=now),
        outlook=outlook,
    )  # fmt: skip


def person_of(job: Workload) -> str:
    """Whose job it is, by the name we know or the one the cluster gives."""
    return str(job.user) if job.user else job.person


def names_for(details: Iterable[Mapping[str, Any]], access: Access) -> Names:
    """The names these details speak of, as far as this reader may see them."""
    referred = set(_referred(details))
    found = Workload.objects.filter(_mine(access), pk__in=referred) if referred else None
    return Names(
        teams=teams.team_names(),
        pools=inventory.pool_names(),
        workloads=dict(found.values_list("id", "name")) if found is not None else {},
    )


def _referred(details: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    for detail in details:
        for key in REFERS:
            row_id = naming.row_id(str(detail.get(key) or ""), "w")
            if row_id is not None:
                yield row_id


def get_standing(*, workload_id: int) -> Standing | None:
    """What the newest tick says of a workload, as a row."""
    return Standing.objects.filter(workload_id=workload_id).select_related("tick").first()


def list_decisions(
    access: Access, *, workload_id: int, zone: tzinfo = UTC, now: datetime | None = None
) -> list[DecisionRow]:
    """How one workload was decided upon over time, newest first; empty when it is not theirs."""
    mine = Workload.objects.filter(_mine(access), pk=workload_id)
    rows = list(
        Decision.objects.filter(workload__in=mine).select_related("tick").order_by("-id")
        .defer("tick__snapshot").annotate(has_snapshot=KEPT)
    )  # fmt: skip
    names = names_for((row.detail for row in rows), access)
    return [_decision_row(row, names, zone, now) for row in rows]


def _decision_row(row: Decision, names: Names, zone: tzinfo, now: datetime | None) -> DecisionRow:
    said = Said(row.verb, row.reason, row.detail, row.charged_to, planned_start=row.planned_start)
    return DecisionRow(
        id=row.pk, tick_id=row.tick_id, at=row.tick.at, verb=row.verb, reason=row.reason,
        detail=row.detail, charged_to=row.charged_to, planned_start=row.planned_start,
        sentence=sentences.build(said, names=names, zone=zone, now=now),
        has_snapshot=getattr(row, "has_snapshot", False),
    )  # fmt: skip
