"""The straight path: a request in the browser's words to a decision, a used GPU-hour and a bill.

Everything is real but the clock: the rooms' services, the simulated cluster in its own file, its
own books, and one turn (collect, tick, sync) after another.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import Sum
from pytest_django import Settings

from portal.common import audit, clock
from portal.common.models import AuditEvent
from portal.finance import services as finance
from portal.finance.models import Statement, StatementLine
from portal.finance.services import NewRate
from portal.inventory.models import Cluster, Pool
from portal.kubernetes import ports
from portal.kubernetes.simulated.building import Plan
from portal.kubernetes.simulated.records import Spec
from portal.kubernetes.simulated.workshop import Rules
from portal.operations import cycle, history
from portal.quotas import services as quotas
from portal.requests import services as requests
from portal.requests.services import Asked
from portal.reservations.models import Reservation, ReservationState
from portal.teams.models import Organisation, Role, Team, User
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload, WorkloadState
from scheduler_core.traces import Job, Node
from tests import builders

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)  # 09:00 in Seoul
HOUR = timedelta(hours=1)


@dataclass
class Lab:
    """Two teams on two nodes of eight GPUs, 4 guaranteed to each, 8 left to reserve."""

    cluster: Cluster
    pool: Pool
    vision: Team
    search: Team
    lead: User
    admin: User
    finance: User
    now: datetime = MONDAY

    def turn_until(self, until: datetime, step: timedelta = timedelta(minutes=15)) -> None:
        """Let time pass, one turn a step."""
        while self.now < until:
            self.now = min(self.now + step, until)
            cycle.turn(cluster_id=self.cluster.pk, now=self.now)

    @property
    def port(self):  # type: ignore[no-untyped-def]
        """The simulated cluster itself, to submit to and to read its books."""
        return ports.open_simulated(ports.simulated_file(self.cluster))


@pytest.fixture
def lab(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(clock, "real_now", lambda: MONDAY)
    Organisation.objects.create(name="Test", currency="KRW")
    vision, search = builders.a_team("vision"), builders.a_team("search")
    plan = Plan(
        nodes=tuple(Node(f"n{i}", 8, 128_000, 1_048_576, "H100") for i in range(2)),
        jobs=(Job("early", 0, 60, 1000, team="search"), Job("v", 0, 60, 1000, team="vision")),
        rules=Rules(seed=3, starts_at=int(MONDAY.timestamp())),
        namespace_of=lambda job: job.team, unowned_share=0.0,
    )  # fmt: skip
    cluster = history.set_up_cluster(name="lab", plan=plan, now=MONDAY, actor_id=None)
    cycle.turn(cluster_id=cluster.pk, now=MONDAY)
    pool = Pool.objects.get()
    admin = builders.a_user("jihye", role=Role.ADMIN)
    for team in (vision, search):
        quotas.change(
            team_id=team.pk, pool_id=pool.pk, guaranteed=4, limit=16, valid_from=MONDAY,
            actor_id=admin.pk, now=MONDAY,
        )  # fmt: skip
    finance.set_rate_card(
        name="2026", currency="KRW", valid_from=MONDAY, actor_id=None, now=MONDAY,
        rates=[NewRate(pool_id=pool.pk, gpu_hour_micro=3_000_000_000, borrowed_milli=700)],
    )  # fmt: skip
    return Lab(
        cluster, pool, vision, search, admin=admin,
        lead=builders.a_user("minji", role=Role.LEAD, team=vision),
        finance=builders.a_user("boram", role=Role.FINANCE),
    )  # fmt: skip


def _reserved(lab: Lab) -> Reservation:
    """A lead asks for eight GPUs tomorrow from 10 to 14 o'clock, and an admin agrees."""
    asked = Asked(
        kind="reservation", team_id=lab.vision.pk, pool_id=lab.pool.pk, gpus=8, zone="Asia/Seoul",
        starts_at=MONDAY + 25 * HOUR, ends_at=MONDAY + 29 * HOUR, reason="The spring release",
    )  # fmt: skip
    draft = requests.save_draft(asked=asked, actor_id=lab.lead.pk, now=lab.now)
    requests.submit(request_id=draft.pk, actor_id=lab.lead.pk, now=lab.now)
    approved = requests.approve(request_id=draft.pk, actor_id=lab.admin.pk, now=lab.now)
    return Reservation.objects.get(request_id=approved.pk)


def test_from_a_request_to_the_line_on_the_bill(lab: Lab) -> None:
    reservation = _reserved(lab)
    lab.turn_until(reservation.starts_at)
    assert Reservation.objects.get().state == ReservationState.ACTIVE

    lab.port.submit(
        Spec(
            name="release", namespace="vision", pool=lab.pool.name, gpus=8,
            work_seconds=2 * 3600, cpu_milli=32_000, memory_mib=65_536, start_delay=60,
            priority_class=f"evenshare-guaranteed-{lab.pool.name}",
            annotations={
                "evenshare.io/reservation": str(reservation.pk),
                "evenshare.io/user": "minji",
                "evenshare.io/class": "training",
            },
        )
    )  # fmt: skip
    lab.turn_until(reservation.ends_at)
    assert Reservation.objects.get().state == ReservationState.COMPLETED

    job = Workload.objects.get(name="release")
    assert (job.state, job.reservation_id, job.user_id) == (
        WorkloadState.SUCCEEDED, reservation.pk, lab.lead.pk,
    )  # fmt: skip
    rows = LedgerEntry.objects.filter(workload_id=job.pk)
    assert set(rows.values_list("reservation_id", flat=True)) == {reservation.pk}
    held = _from_books(lab)[job.uid]
    assert rows.aggregate(sum=Sum("seconds"))["sum"] == held

    lab.turn_until(datetime(2026, 11, 30, 15, 0, tzinfo=UTC), step=timedelta(hours=12))
    finance.compute_month(month_start=MONDAY, now=lab.now)
    lines = StatementLine.objects.filter(statement__team=lab.vision, reservation_id=reservation.pk)
    by_kind: dict[str, int] = {}
    for line in lines:
        by_kind[line.kind] = by_kind.get(line.kind, 0) + line.gpu_milli_seconds
    # Four hours of eight GPUs; what the job did not hold of them stands as reserved, not used.
    assert by_kind["reserved_unused"] > 0
    assert sum(by_kind.values()) <= 8 * 1000 * 4 * 3600
    assert Statement.objects.filter(team=lab.vision).get().total_micro > 0


def test_a_job_seen_late_is_charged_to_its_reservation_from_its_first_second(lab: Lab) -> None:
    reservation = _reserved(lab)
    lab.turn_until(reservation.starts_at)
    lab.port.submit(
        Spec(
            name="release", namespace="vision", pool=lab.pool.name, gpus=8, work_seconds=3600,
            priority_class=f"evenshare-guaranteed-{lab.pool.name}",
            annotations={"evenshare.io/reservation": str(reservation.pk)},
        )
    )  # fmt: skip
    lab.turn_until(reservation.starts_at + 2 * HOUR, step=timedelta(minutes=40))
    job = Workload.objects.get(name="release")
    charges = LedgerEntry.objects.filter(workload_id=job.pk).values_list("charged_to", flat=True)
    assert set(charges) == {"reserved"}


def test_every_change_on_the_way_left_its_audit_line(lab: Lab) -> None:
    reservation = _reserved(lab)
    lab.turn_until(reservation.ends_at, step=HOUR)
    actions = list(AuditEvent.objects.order_by("id").values_list("action", flat=True))
    for action in ("requests.drafted", "requests.submitted", "requests.approved"):
        assert action in actions
    assert any(action.startswith("reservations.") for action in actions)
    assert audit.first_broken() is None


def test_the_ledger_equals_the_clusters_own_books_to_the_second(lab: Lab) -> None:
    for number in range(6):
        lab.port.submit(
            Spec(
                name=f"job-{number}", namespace=("vision", "search")[number % 2],
                pool=lab.pool.name, gpus=1 + number % 4, work_seconds=1700 + 977 * number,
                cpu_milli=1000, memory_mib=1000,
            )
        )  # fmt: skip
        lab.turn_until(lab.now + timedelta(minutes=20), step=timedelta(minutes=5))
    lab.turn_until(lab.now + 3 * HOUR)
    ledger: dict[str, int] = {}
    for row in LedgerEntry.objects.all():
        uid = Workload.objects.get(pk=row.workload_id).uid
        ledger[uid] = ledger.get(uid, 0) + row.sign * row.seconds
    assert ledger == _from_books(lab)


def test_a_turn_repeated_at_the_same_instant_changes_nothing(lab: Lab) -> None:
    lab.port.submit(Spec("job", "vision", lab.pool.name, gpus=2, work_seconds=7200))
    lab.turn_until(MONDAY + HOUR)
    before = _everything()
    cycle.turn(cluster_id=lab.cluster.pk, now=lab.now)
    assert _everything() == before


def test_a_month_computed_and_closed_twice_is_the_same_month(lab: Lab) -> None:
    lab.port.submit(Spec("job", "vision", lab.pool.name, gpus=6, work_seconds=9000))
    lab.turn_until(MONDAY + 4 * HOUR)
    lab.turn_until(datetime(2026, 11, 30, 16, 0, tzinfo=UTC), step=timedelta(hours=12))
    finance.compute_month(month_start=MONDAY, now=lab.now)
    once = list(StatementLine.objects.order_by("id").values())
    finance.compute_month(month_start=MONDAY, now=lab.now)
    assert list(StatementLine.objects.order_by("id").values()) == once
    finance.close_month(month_start=MONDAY, actor_id=lab.finance.pk, now=lab.now)
    closed = list(Statement.objects.order_by("id").values())
    finance.close_month(month_start=MONDAY, actor_id=lab.finance.pk, now=lab.now)
    assert list(Statement.objects.order_by("id").values()) == closed


def _from_books(lab: Lab) -> dict[str, int]:
    """Seconds each job's pods held devices, as the cluster itself wrote them down."""
    held: dict[str, int] = {}
    for entry in lab.port.books():
        held[entry.job_uid] = held.get(entry.job_uid, 0) + entry.to_s - entry.from_s
    return held


def _everything() -> tuple[object, ...]:
    return (
        list(LedgerEntry.objects.order_by("id").values()),
        list(Workload.objects.order_by("id").values("state", "charged_to", "ended_at")),
        list(Reservation.objects.order_by("id").values("state")),
    )
