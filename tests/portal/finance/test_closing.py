"""From open to final to paid; late use; nothing closed is ever altered."""

from datetime import timedelta

import pytest

from portal.common.errors import Conflict, Invalid, Missing, Refusal
from portal.common.models import AuditEvent
from portal.finance import selectors, services
from portal.finance.models import LineKind, Month, Statement, StatementLine, StatementState
from portal.inventory.models import Cluster, Node, NodeOutage
from portal.teams.models import Team
from tests import builders
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    HOUR,
    MONTH_ENDS,
    MONTH_STARTS,
    WON,
    World,
    at,
    statements_of,
    three_days,
)

pytestmark = pytest.mark.django_db

DECEMBER = MONTH_ENDS
IN_DECEMBER = MONTH_ENDS + timedelta(days=2)


@pytest.fixture
def world() -> World:
    return three_days()


def close_november() -> Month:
    return services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)


def everything() -> list[object]:
    return [
        *Statement.objects.order_by("id").values(),
        *StatementLine.objects.order_by("id").values(),
        *Month.objects.order_by("id").values(),
    ]


def test_computing_twice_changes_no_row(world: World) -> None:
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    before = everything()
    services.compute_month(month_start=at(2), now=AFTER_THREE_DAYS + timedelta(seconds=40))
    assert everything() == before


def test_computing_later_brings_the_statements_up_to_date(world: World) -> None:
    services.compute_month(month_start=MONTH_STARTS, now=at(2))
    early = {s.team_id: (s.pk, s.version, s.total_micro) for s in Statement.objects.all()}
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    late = {s.team_id: (s.pk, s.version, s.total_micro) for s in Statement.objects.all()}
    assert early[world.vision.pk][2] == 144 * 12_000 * WON
    assert late[world.vision.pk] == (early[world.vision.pk][0], 2, 3_758_400 * WON)


def test_an_older_answer_never_overwrites_a_newer_one(world: World) -> None:
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    before = everything()
    services.compute_month(month_start=MONTH_STARTS, now=at(2))
    assert everything() == before


def test_every_team_of_the_tree_gets_a_statement_and_so_does_the_organisation(
    world: World,
) -> None:
    builders.a_team("products")
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    names = set(Statement.objects.values_list("team_name", flat=True))
    assert names == {"Vision", "Speech", "Products", "Hangang Labs"}


def test_a_month_is_only_counted_as_far_as_the_clusters_have_been_read(world: World) -> None:
    Cluster.objects.update(seen_at=at(2, 0, 7))
    month = services.compute_month(month_start=MONTH_STARTS, now=at(2, 1))
    assert month.computed_at == at(2, 0, 5)


def test_a_cluster_that_was_left_long_ago_holds_nobody_up(world: World) -> None:
    Cluster.objects.update(seen_at=at(1))
    month = services.compute_month(month_start=MONTH_STARTS, now=at(3, 1))
    assert month.computed_at == at(3, 1)


def test_a_month_to_come_has_no_statements(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        services.compute_month(month_start=IN_DECEMBER, now=AFTER_THREE_DAYS)
    assert refused.value.code == "not_begun"


def test_closing_makes_every_statement_final_and_says_who_did_it(world: World) -> None:
    month = close_november()
    assert (month.state, month.closed_at, month.closed_by_id) == ("final", MONTH_ENDS, 7)
    states = set(Statement.objects.values_list("state", "closed_at"))
    assert states == {(StatementState.FINAL, MONTH_ENDS)}
    line = AuditEvent.objects.get(action="finance.month_closed")
    assert (line.actor_id, line.target_id) == (7, month.pk)
    assert line.data["total_micro"] == 16 * 720 * 12_000 * WON


def test_closing_or_computing_after_closing_changes_nothing(world: World) -> None:
    close_november()
    before = everything()
    close_november()
    services.compute_month(month_start=MONTH_STARTS, now=IN_DECEMBER)
    builders.use(world.vision, world.pool, at(9), at(9, 1), gpus=2)
    services.close_month(month_start=MONTH_STARTS, actor_id=8, now=IN_DECEMBER)
    services.compute_month(month_start=MONTH_STARTS, now=IN_DECEMBER)
    assert everything() == before
    assert AuditEvent.objects.filter(action="finance.month_closed").count() == 1


def test_names_are_frozen_when_a_month_is_closed(world: World) -> None:
    close_november()
    Team.objects.filter(pk=world.vision.pk).update(name="Seeing")
    world.pool.name = "renamed"
    world.pool.save()
    services.compute_month(month_start=MONTH_STARTS, now=IN_DECEMBER)
    statement = Statement.objects.get(team=world.vision)
    assert (statement.team_name, statement.team_path) == ("Vision", "Vision")
    assert {line.pool_name for line in statement.lines.all()} == {"h100"}


def test_a_month_that_still_runs_cannot_be_closed(world: World) -> None:
    with pytest.raises(Conflict) as refused:
        services.close_month(
            month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS - timedelta(seconds=1)
        )
    assert refused.value.code == "not_over"
    assert not Statement.objects.filter(state=StatementState.FINAL).exists()


def test_months_are_closed_in_order(world: World) -> None:
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    with pytest.raises(Conflict) as refused:
        services.close_month(month_start=DECEMBER, actor_id=7, now=DECEMBER + timedelta(days=32))
    assert refused.value.details == {"month": "2026-11"}


def test_a_month_waits_for_the_last_of_its_use_to_be_read(world: World) -> None:
    Cluster.objects.update(seen_at=MONTH_ENDS - timedelta(minutes=2))
    with pytest.raises(Conflict) as refused:
        services.close_month(
            month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS + timedelta(minutes=1)
        )
    assert refused.value.code == "use_not_read"


def adjustments(team_id: int | None) -> list[tuple[str, str, int, int]]:
    """What is adjusted, charged to, GPU-hours, won."""
    return [
        (line.adjusts, line.charged_to, line.gpu_milli_seconds // HOUR, line.amount_micro // WON)
        for line in StatementLine.objects.filter(
            statement__in=statements_of(team_id), kind=LineKind.ADJUSTMENT
        )
    ]


def test_use_known_late_becomes_an_adjustment_of_the_next_month(world: World) -> None:
    close_november()
    builders.use(world.vision, world.pool, at(9), at(9, 10), gpus=2)
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    # 20 GPU-hours at 12,000 won; they were idle time of the organisation.
    assert adjustments(world.vision.pk) == [("use", "guaranteed", 20, 240_000)]
    assert adjustments(None) == [("idle", "", -20, -240_000)]
    december = Statement.objects.get(team=world.vision, month__name="2026-12")
    assert (december.total_micro, december.tax_micro) == (240_000 * WON, 24_000 * WON)
    line = december.lines.get()
    assert (line.from_at, line.to_at) == (MONTH_STARTS, MONTH_ENDS)


def test_late_use_inside_a_reservation_takes_its_unused_hours_back(world: World) -> None:
    close_november()
    builders.use(
        world.speech, world.pool, at(2, 10), at(2, 16), gpus=2, charged_to="reserved",
        reservation=world.reservation,
    )  # fmt: skip
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    # 2 x 6 hours used for 144,000; of 3 free then 1 is left unused: 12 hours less at 6,000.
    assert adjustments(world.speech.pk) == [
        ("use", "reserved", 12, 144_000),
        ("reserved_unused", "", -12, -72_000),
    ]
    assert adjustments(None) == [("rate_difference", "", 0, -72_000)]


def test_adjustments_leave_both_months_adding_up(world: World) -> None:
    close_november()
    builders.use(world.vision, world.pool, at(9), at(9, 10), gpus=2)
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    for instant in (MONTH_STARTS, DECEMBER):
        answer = selectors.get_reconciliation(instant=instant)
        assert answer is not None
        assert answer.adds_up


def test_what_was_adjusted_is_not_adjusted_again(world: World) -> None:
    close_november()
    builders.use(world.vision, world.pool, at(9), at(9, 10), gpus=2)
    january = DECEMBER + timedelta(days=31)
    services.close_month(month_start=DECEMBER, actor_id=7, now=january)
    services.compute_month(month_start=january, now=january + timedelta(days=2))
    assert adjustments(world.vision.pk) == [("use", "guaranteed", 20, 240_000)]
    builders.use(world.vision, world.pool, at(10), at(10, 1), gpus=1)
    services.compute_month(month_start=january, now=january + timedelta(days=3))
    assert adjustments(world.vision.pk) == [
        ("use", "guaranteed", 20, 240_000),
        ("use", "guaranteed", 1, 12_000),
    ]


def test_a_correction_after_closing_moves_the_cost_to_whom_it_belongs(world: World) -> None:
    wrong = builders.use(world.vision, world.pool, at(9), at(9, 10), gpus=2)
    close_november()
    for row in wrong:
        row.pk, row.sign, row.revision = None, -1, 1
        row.save(force_insert=True)
        row.pk, row.sign, row.revision, row.team = None, 1, 2, world.speech
        row.save(force_insert=True)
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    assert adjustments(world.vision.pk) == [("use", "guaranteed", -20, -240_000)]
    assert adjustments(world.speech.pk) == [("use", "guaranteed", 20, 240_000)]


def test_a_node_found_missing_after_closing_is_adjusted_too(world: World) -> None:
    close_november()
    node = world.pool.nodes.order_by("id")[1]
    node.removed_at = MONTH_ENDS - timedelta(days=1)
    node.save()
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert not answer.adds_up
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    assert adjustments(None) == [("idle", "", -192, -192 * 12_000)]
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.adds_up


def test_an_outage_known_late_costs_the_organisation_the_same(world: World) -> None:
    close_november()
    NodeOutage.objects.create(node=world.pool.nodes.all()[1], starts_at=at(20), ends_at=at(20, 10))
    builders.use(world.vision, world.pool, at(9), at(9, 10), gpus=2)
    services.compute_month(month_start=DECEMBER, now=IN_DECEMBER)
    assert adjustments(None) == [("idle", "", -100, -1_200_000), ("down", "", 80, 960_000)]


def test_a_final_statement_can_be_paid_once(world: World) -> None:
    close_november()
    statement = Statement.objects.get(team=world.vision)
    paid = services.mark_paid(statement_id=statement.pk, actor_id=7, now=IN_DECEMBER)
    assert (paid.state, paid.paid_at, paid.version) == ("paid", IN_DECEMBER, statement.version + 1)
    before = everything()
    services.mark_paid(statement_id=statement.pk, actor_id=8, now=IN_DECEMBER + timedelta(days=1))
    assert everything() == before
    assert AuditEvent.objects.filter(action="finance.statement_paid").count() == 1


def test_an_open_statement_cannot_be_paid(world: World) -> None:
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    statement = Statement.objects.get(team=world.vision)
    with pytest.raises(Refusal):
        services.mark_paid(statement_id=statement.pk, actor_id=7, now=AFTER_THREE_DAYS)
    with pytest.raises(Missing):
        services.mark_paid(statement_id=0, actor_id=7, now=AFTER_THREE_DAYS)


def test_use_on_a_node_nobody_knows_makes_the_month_red(world: World) -> None:
    builders.use(world.vision, world.pool, at(1), at(1, 1), gpus=1, node=Node(pk=999))
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.beyond == HOUR
    assert answer.accounted == answer.capacity
    assert answer.billed_micro == answer.cost_micro
    assert not answer.adds_up
