"""Reads of studies and traces, as frozen answers; only the paged list stays a queryset."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet

from portal.finance import selectors as finance
from portal.inventory.models import Pool
from portal.scheduling import naming
from portal.studies import comparing, words
from portal.studies.comparing import Comparison
from portal.studies.models import Study, StudyState, Trace
from portal.teams.models import Team, User
from portal.teams.permissions import COST, WORK
from portal.teams.selectors import Access

THOUSAND = 1000


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One study of a list."""

    id: int
    name: str
    state: str
    jobs_of: str
    change: str
    draw: str
    seeds: tuple[int, ...]
    team_id: int | None
    team: str
    is_kept: bool
    created_at: datetime
    by: str
    share: float
    headline: Mapping[str, Any]
    message: str

    @property
    def result(self) -> str:
        """Its result in a line, or why there is none."""
        if self.state == StudyState.FAILED:
            return words.fault(self.message)
        return words.headline(self.headline)


@dataclass(frozen=True, slots=True)
class TeamName:
    """A team as a study's page names it; hue 0 where it is a trace's own."""

    id: int | None
    name: str
    hue: int


@dataclass(frozen=True, slots=True)
class StudyDetail:
    """One study with what may be said of it so far."""

    row: StudyRow
    note: str
    cluster_id: int | None
    cluster: str
    trace: str
    nodes: str
    from_at: datetime | None
    to_at: datetime | None
    change: Mapping[str, Any]
    base_rules: Mapping[str, Any]
    job_count: int | None
    left_out: int
    never_fit: int
    doing: Mapping[str, Any]
    is_to_stop: bool
    eta: timedelta | None
    took: timedelta | None
    waits_before: int
    comparison: Comparison | None
    teams: Mapping[str, TeamName]
    currency: str


def query_studies(
    access: Access, *, state: str = "", kind: str = "", q: str = ""
) -> QuerySet[Study]:
    """The studies the reader may see, newest first."""
    found = Study.objects.defer("terms", "jobs").select_related("cluster", "trace", "team")
    ids = access.teams(WORK)
    if ids is not None:
        found = found.filter(team_id__in=ids)
    if state:
        found = found.filter(state=state)
    if kind:
        found = found.filter(change__kind=kind)
    if q:
        found = found.filter(Q(name__icontains=q) | Q(note__icontains=q))
    return found.order_by("-id")


def rows(studies: Iterable[Study]) -> list[StudyRow]:
    """Studies of such a list: three queries for all of them."""
    found = list(studies)
    names = _names()
    people = User.objects.in_bulk({one.created_by_id for one in found if one.created_by_id})
    return [_row(one, names, people) for one in found]


def _row(study: Study, names: words.Names, people: Mapping[int, User]) -> StudyRow:
    by = people.get(study.created_by_id or 0)
    return StudyRow(
        id=study.pk, name=study.name, state=study.state, jobs_of=_jobs_of(study),
        change=words.change(study.change, study.base_rules, names), draw=study.draw,
        seeds=tuple(study.seeds), team_id=study.team_id, team=study.team.name if study.team else "",
        is_kept=study.is_kept, created_at=study.created_at, by=str(by) if by else "",
        share=study.done_share, headline=study.headline, message=study.message,
    )  # fmt: skip


def _jobs_of(study: Study) -> str:
    if study.trace is not None:
        return study.trace.name
    return study.cluster.name if study.cluster else ""


def _names() -> words.Names:
    return words.Names(
        dict(Team.objects.values_list("id", "name")), dict(Pool.objects.values_list("id", "name"))
    )


def get_study(access: Access, *, study_id: int, real_now: datetime) -> StudyDetail | None:
    """One study; who may see it at all was decided at the door."""
    study = query_all().filter(pk=study_id).first()
    if study is None:
        return None
    outcomes = list(study.outcomes.all())
    prices, currency = _prices(study) if access.holds_anywhere(COST) else ({}, "")
    teams = _teams({name for one in outcomes for name in one.figures["teams"]})
    whole = access.holds(COST) and bool(prices)
    priced = [
        name for name, team in teams.items() if prices and access.holds(COST, team_id=team.id)
    ]
    found = comparing.compare(outcomes, prices=prices, priced=priced)
    if found is not None and not whole:
        found = comparing.without_cost(found)
    return StudyDetail(
        row=rows([study])[0], note=study.note, cluster_id=study.cluster_id,
        cluster=study.cluster.name if study.cluster else "",
        trace=study.trace.name if study.trace else "", nodes=study.nodes, from_at=study.from_at,
        to_at=study.to_at, change=study.change, base_rules=study.base_rules,
        job_count=study.job_count,
        left_out=max((one.figures["left_out"] for one in outcomes), default=0),
        never_fit=max((one.figures["never_fit"] for one in outcomes), default=0),
        doing=study.doing, is_to_stop=study.is_to_stop, eta=_eta(study, real_now),
        took=_took(study), waits_before=_before(study), comparison=found, teams=teams,
        currency=currency,
    )  # fmt: skip


def query_all() -> QuerySet[Study]:
    """Every study without what it runs on."""
    return Study.objects.defer("terms", "jobs").select_related("cluster", "trace", "team")


def _eta(study: Study, real_now: datetime) -> timedelta | None:
    """How long it will still take, if it goes on as it has; None while that would be a guess."""
    if study.state != StudyState.RUNNING or study.started_real_at is None:
        return None
    if study.done_share < 0.02:
        return None
    spent = real_now - study.started_real_at
    return spent / study.done_share * (1 - study.done_share)


def _took(study: Study) -> timedelta | None:
    if study.started_real_at is None or study.ended_real_at is None:
        return None
    return study.ended_real_at - study.started_real_at


def _before(study: Study) -> int:
    if study.state != StudyState.QUEUED:
        return 0
    return Study.objects.filter(state=StudyState.QUEUED, id__lt=study.pk).count()


def _prices(study: Study) -> tuple[dict[str, int], str]:
    """What a GPU-hour costs in each pool at the end of the period, guaranteed, and the currency."""
    if study.cluster_id is None or study.nodes:
        return {}, ""
    card = finance.get_card_at(study.to_at or study.created_at)
    if card is None:
        return {}, ""
    of_pool = {rate.pool_id: rate for rate in card.rates if rate.pool_id is not None}
    of_model = {rate.gpu_model_id: rate for rate in card.rates if rate.pool_id is None}
    found: dict[str, int] = {}
    for pool in Pool.objects.filter(cluster_id=study.cluster_id):
        rate = of_pool.get(pool.pk) or of_model.get(pool.gpu_model_id)
        if rate is not None:
            found[naming.pool(pool.pk)] = rate.gpu_hour_micro * rate.guaranteed_milli // THOUSAND
    return found, card.currency


def _teams(names: set[str]) -> dict[str, TeamName]:
    """What the teams of a study are called: ours by their names, a trace's by its own."""
    ids = {name: naming.row_id(name, "t") for name in names}
    ours = Team.objects.in_bulk({pk for pk in ids.values() if pk})
    found: dict[str, TeamName] = {}
    for name in sorted(names):
        team = ours.get(ids[name] or 0)
        known = team is not None and naming.team(team.pk) == name
        found[name] = (
            TeamName(team.pk, team.name, team.hue) if known and team else TeamName(None, name, 0)
        )
    return found


def team_of_study(*, study_id: int) -> tuple[bool, int | None]:
    """Whether there is such a study, and the team it is shared with."""
    found = Study.objects.filter(pk=study_id).values_list("team_id", flat=True)
    return (True, found[0]) if found else (False, None)


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One uploaded trace."""

    id: int
    name: str
    form: str
    jobs: int
    bad_rows: int
    size: int
    length: timedelta
    by: str
    created_at: datetime
    studies: int


def list_traces() -> list[TraceRow]:
    """Every trace, newest first."""
    found = list(Trace.objects.annotate(used=Count("studies")).order_by("-id"))
    people = User.objects.in_bulk({one.created_by_id for one in found if one.created_by_id})
    return [
        TraceRow(
            id=one.pk, name=one.name, form=one.form, jobs=one.jobs, bad_rows=one.bad_rows,
            size=one.size, length=timedelta(seconds=one.last_second - one.first_second),
            by=str(people.get(one.created_by_id or 0, "")), created_at=one.created_at,
            studies=one.used,
        )
        for one in found
    ]  # fmt: skip


def get_trace(*, trace_id: int) -> TraceRow | None:
    """One trace."""
    return next((row for row in list_traces() if row.id == trace_id), None)
