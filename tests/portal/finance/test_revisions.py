"""A correction makes a revision, never an edit; the month adds up before and after."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from portal.common.errors import Conflict, Invalid, Refusal
from portal.finance import selectors, services
from portal.finance.models import LineComment, Statement, StatementLine, StatementState
from portal.finance.services import Correction
from portal.teams.models import Role, Team
from tests import builders
from tests.portal.finance.hand_worked import MONTH_ENDS, MONTH_STARTS, WON, World, at, three_days

pytestmark = pytest.mark.django_db
LATER = MONTH_ENDS + timedelta(days=3)


@pytest.fixture
def world() -> World:
    made = three_days()
    services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)
    return made


def standing(team: Team | None) -> Statement:
    """The statement that counts."""
    rows = Statement.objects.filter(superseded_at__isnull=True, month__name="2026-11")
    return next(row for row in rows if row.team_id == (team.pk if team else None))


def a_line(statement: Statement, **what: object) -> int:
    """The id of one of its lines."""
    return StatementLine.objects.get(statement=statement, **what).pk


def revise(statement: Statement, *corrections: Correction, reason: str = "Agreed") -> Statement:
    return services.revise_statement(
        statement_id=statement.pk, corrections=corrections, reason=reason, actor_id=7, now=LATER
    )


def adds_up() -> bool:
    found = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert found is not None
    return found.adds_up


def test_a_wrong_rate_makes_a_revision_and_the_organisation_bears_the_difference(
    world: World,
) -> None:
    before, own = standing(world.vision), standing(None)
    new = revise(
        before, Correction(a_line(before, charged_to="guaranteed"), rate_micro=10_000 * WON)
    )
    # 288 GPU-hours at 10,000 instead of 12,000: 2,880,000 + 302,400; 576,000 less.
    assert (new.revision, new.total_micro, new.tax_micro) == (1, 3_182_400 * WON, 318_240 * WON)
    assert (new.state, new.reason) == (StatementState.FINAL, "Agreed")
    before.refresh_from_db()
    assert before.superseded_at == LATER
    assert before.total_micro == 3_758_400 * WON
    assert before.lines.count() == 2
    assert standing(None).total_micro == own.total_micro + 576_000 * WON
    assert standing(None).revision == 1
    assert standing(world.speech).revision == 0
    assert adds_up()


def test_a_wrong_owner_moves_the_line_and_its_tax(world: World) -> None:
    before = standing(world.vision)
    search = builders.a_team("search")
    revise(before, Correction(a_line(before, charged_to="borrowed"), team_id=search.pk))
    moved = standing(search)
    assert (moved.revision, moved.total_micro, moved.tax_micro) == (1, 302_400 * WON, 30_240 * WON)
    assert standing(world.vision).total_micro == 3_456_000 * WON
    assert standing(None).revision == 0
    assert adds_up()


def test_work_of_no_team_that_was_a_teams_is_its_borrowed_use_and_taxed(world: World) -> None:
    own = standing(None)
    revise(own, Correction(a_line(own, kind="unowned"), team_id=world.speech.pk))
    speech = standing(world.speech)
    assert (speech.total_micro, speech.tax_micro) == (3_036_000 * WON, 303_600 * WON)
    line = speech.lines.get(kind="use", charged_to="borrowed")
    assert line.amount_micro == 48_000 * WON
    assert adds_up()


def test_a_wrong_tax_changes_the_tax_alone(world: World) -> None:
    before = standing(world.speech)
    corrections = [
        Correction(pk, tax_basis_points=0) for pk in before.lines.values_list("pk", flat=True)
    ]
    new = revise(before, *corrections)
    assert (new.total_micro, new.tax_micro) == (before.total_micro, 0)
    assert standing(None).revision == 0


def test_what_was_corrected_by_hand_is_not_undone_when_late_use_comes(world: World) -> None:
    before = standing(world.vision)
    revise(before, Correction(a_line(before, charged_to="guaranteed"), rate_micro=10_000 * WON))
    builders.use(world.vision, world.pool, at(20), at(20, 2), gpus=3)
    services.compute_month(month_start=LATER, now=LATER)
    december = Statement.objects.get(team=world.vision, month__name="2026-12")
    (line,) = december.lines.filter(kind="adjustment")
    # Only what came late: 6 GPU-hours at 12,000.
    assert line.amount_micro == 72_000 * WON
    assert adds_up()


@pytest.mark.parametrize("state", [StatementState.OPEN, StatementState.PAID])
def test_an_open_or_paid_statement_is_not_revised(world: World, state: StatementState) -> None:
    Statement.objects.filter(team=world.vision).update(state=state)
    before = standing(world.vision)
    with pytest.raises(Conflict):
        revise(before, Correction(a_line(before, charged_to="borrowed"), rate_micro=1))


def test_nothing_moves_into_a_paid_statement(world: World) -> None:
    services.mark_paid(statement_id=standing(world.speech).pk, actor_id=7, now=LATER)
    before = standing(world.vision)
    with pytest.raises(Conflict):
        revise(before, Correction(a_line(before, charged_to="borrowed"), team_id=world.speech.pk))
    assert standing(world.vision).revision == 0


def test_a_replaced_revision_is_neither_revised_nor_paid(world: World) -> None:
    before = standing(world.vision)
    line = a_line(before, charged_to="borrowed")
    revise(before, Correction(line, rate_micro=WON))
    with pytest.raises(Conflict):
        revise(before, Correction(line, rate_micro=2 * WON))
    with pytest.raises(Conflict):
        services.mark_paid(statement_id=before.pk, actor_id=7, now=LATER)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"rate_micro": -1},
        {"rate_micro": 10**16},
        {"tax_basis_points": 10_001},
        {"team_id": 987654},
    ],
)
def test_a_correction_that_makes_no_sense_is_refused(world: World, wrong: dict[str, Any]) -> None:
    before = standing(world.vision)
    with pytest.raises(Invalid):
        revise(before, Correction(a_line(before, charged_to="borrowed"), **wrong))
    with pytest.raises(Invalid):
        revise(before, Correction(a_line(before, charged_to="borrowed"), rate_micro=1), reason=" ")


def test_idle_time_is_nobodys_to_be_moved(world: World) -> None:
    own = standing(None)
    with pytest.raises(Refusal):
        revise(own, Correction(a_line(own, kind="idle"), team_id=world.vision.pk))


def test_finance_corrects_in_the_browser_and_the_lead_reads_why(
    client: Client, world: World
) -> None:
    client.force_login(builders.a_user("boram", Role.FINANCE))
    before = standing(world.vision)
    line = a_line(before, charged_to="borrowed")
    page = client.post(
        f"/costs/statements/{before.pk}/revise/",
        {"reason": "The discount was not given.", f"rate_{line}": "6000"},
        follow=True,
    ).content.decode()
    assert "The discount was not given." in page
    assert "Revision 1 is made." in page
    new = standing(world.vision)
    assert new.total_micro == (3_456_000 + 36 * 6_000) * WON
    client.force_login(builders.a_user("minji", Role.LEAD, world.vision))
    assert "A later revision" in client.get(f"/costs/statements/{before.pk}/").content.decode()
    assert client.get(f"/costs/statements/{before.pk}/revise/").status_code == 404
    listed = client.get("/api/v1/statements?month=2026-11").json()["results"]
    assert [row["id"] for row in listed] == [new.pk]
    every = client.get("/api/v1/statements?month=2026-11&revisions=1").json()["results"]
    assert [row["revision"] for row in every] == [1, 0]


def test_the_same_by_the_api_with_the_version_one_saw(client: Client, world: World) -> None:
    client.force_login(builders.a_user("boram", Role.FINANCE))
    before = standing(world.vision)
    body = {
        "reason": "Agreed",
        "corrections": [{"line": a_line(before, charged_to="borrowed"), "rate_micro": 0}],
    }
    address = f"/api/v1/statements/{before.pk}/revisions"
    answer = None
    for tag, status in ((f'"{before.version + 1}"', 412), (f'"{before.version}"', 201)):
        answer = client.post(
            address, body, content_type="application/json", headers={"If-Match": tag}
        )
        assert answer.status_code == status
    assert answer is not None
    assert answer.json()["total_micro"] == 3_456_000 * WON


def test_a_remark_on_a_line_outlives_computing_and_revisions(client: Client) -> None:
    world = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=at(2))
    open_one = Statement.objects.get(team=world.vision)
    line = a_line(open_one, charged_to="guaranteed")
    minji = builders.a_user("minji", Role.LEAD, world.vision)
    client.force_login(minji)
    client.post(
        f"/costs/statements/{open_one.pk}/comments/", {"line": line, "text": "Was this ours?"}
    )
    answer = client.post(
        f"/api/v1/statements/{open_one.pk}/comments", {"text": "And the whole?"},
        content_type="application/json",
    )  # fmt: skip
    assert answer.status_code == 201
    services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)
    before = standing(world.vision)
    revise(before, Correction(a_line(before, charged_to="guaranteed"), rate_micro=WON))
    now = standing(world.vision)
    rows = client.get(f"/api/v1/statements/{now.pk}/comments").json()["results"]
    assert [(r["line"], r["text"], r["author"]) for r in rows] == [
        (a_line(now, charged_to="guaranteed"), "Was this ours?", "minji"),
        (None, "And the whole?", "minji"),
    ]
    assert "Was this ours?" in client.get(f"/costs/statements/{now.pk}/").content.decode()


def test_a_remark_needs_words_and_a_line_of_the_statement(client: Client, world: World) -> None:
    vision, speech = standing(world.vision), standing(world.speech)
    for line, text in ((None, "  "), (None, "x" * 2001), (a_line(speech, kind="use"), "hm")):
        with pytest.raises(Refusal):
            services.comment(statement_id=vision.pk, text=text, line_id=line, actor_id=1, now=LATER)
    client.force_login(builders.a_user("wonho", Role.AUDITOR))
    assert client.post(f"/costs/statements/{vision.pk}/comments/", {"text": "a"}).status_code == 404
    assert not LineComment.objects.exists()
