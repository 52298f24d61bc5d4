"""The tree stands as its dated terms say, and a role reaches just its branch."""

from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from portal.common.errors import Conflict, Invalid
from portal.common.models import AuditEvent
from portal.teams import selectors, services
from portal.teams.models import Role, RoleAssignment, Team
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def research() -> Team:
    """Research with Vision and Speech below; Products with Search."""
    research = a_team("research")
    a_team("vision", parent=research)
    a_team("speech", parent=research)
    a_team("search", parent=a_team("products"))
    return research


def _id(slug: str) -> int:
    return Team.objects.get(slug=slug).pk


def test_parents_come_before_children(research: Team, now: datetime) -> None:
    slugs = [row.slug for row in selectors.get_tree(now=now).rows]
    assert slugs.index("research") < slugs.index("vision")
    assert slugs.index("products") < slugs.index("search")


def test_a_path_is_named_from_the_top(research: Team, now: datetime) -> None:
    assert selectors.get_tree(now=now).path_name(_id("vision")) == "Research / Vision"


def test_a_lead_of_a_branch_reaches_the_teams_below_and_no_other(
    research: Team, now: datetime
) -> None:
    user = a_user(role=Role.LEAD, team=research)
    access = selectors.get_access(user_id=user.pk, now=now)
    reached = frozenset({_id("research"), _id("vision"), _id("speech")})
    assert access.teams([Role.LEAD]) == reached
    assert access.holds([Role.LEAD], team_id=_id("vision"))
    assert not access.holds([Role.LEAD], team_id=_id("search"))
    assert not access.holds([Role.ADMIN], team_id=_id("vision"))
    assert not access.holds([Role.LEAD])


def test_a_role_without_a_team_reaches_everything(research: Team, now: datetime) -> None:
    user = a_user(role=Role.AUDITOR)
    access = selectors.get_access(user_id=user.pk, now=now)
    assert access.teams([Role.AUDITOR]) is None
    assert access.holds([Role.AUDITOR])
    assert access.holds([Role.AUDITOR], team_id=_id("search"))


def test_a_team_moved_today_stood_elsewhere_yesterday(research: Team, now: datetime) -> None:
    services.move_team(
        team_id=_id("vision"), parent_id=_id("products"), weight=3, priority=0, now=now,
        actor_id=None,
    )  # fmt: skip
    before = selectors.get_tree(now=now - timedelta(seconds=1)).get(_id("vision"))
    after = selectors.get_tree(now=now).get(_id("vision"))
    assert before is not None
    assert after is not None
    assert (before.parent_id, before.weight) == (_id("research"), 1)
    assert (after.parent_id, after.weight) == (_id("products"), 3)


def test_a_team_cannot_stand_below_itself(research: Team, now: datetime) -> None:
    with pytest.raises(Invalid, match="below itself"):
        services.move_team(
            team_id=research.pk, parent_id=_id("vision"), weight=1, priority=0, now=now,
            actor_id=None,
        )  # fmt: skip


def test_the_last_admin_of_the_organisation_stays(now: datetime) -> None:
    only = a_user("yuna")
    held = services.grant_role(
        user_id=only.pk, role=Role.ADMIN, team_id=None, now=now, actor_id=None
    )
    with pytest.raises(Conflict, match="last admin"):
        services.revoke_role(assignment_id=held.pk, actor_id=None)
    second = a_user("jiho")
    services.grant_role(user_id=second.pk, role=Role.ADMIN, team_id=None, now=now, actor_id=None)
    services.revoke_role(assignment_id=held.pk, actor_id=second.pk)
    assert selectors.get_access(user_id=only.pk, now=now).grants == ()


def test_a_role_granted_twice_is_held_once_and_written_down_once(now: datetime) -> None:
    user = a_user()
    for _ in range(2):
        services.grant_role(user_id=user.pk, role=Role.ADMIN, team_id=None, now=now, actor_id=None)
    assert user.role_assignments.count() == 1
    assert AuditEvent.objects.filter(action="teams.role_granted").count() == 1


def test_the_database_itself_lets_a_role_be_held_once(now: datetime) -> None:
    user = a_user()
    team = a_team()
    for where in (None, team):
        RoleAssignment.objects.create(user=user, role=Role.LEAD, team=where, created_at=now)
        with pytest.raises(IntegrityError), transaction.atomic():
            RoleAssignment.objects.create(user=user, role=Role.LEAD, team=where, created_at=now)
