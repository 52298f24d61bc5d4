"""The admin site: people, teams and roles change through services, each with its audit line."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from portal.common.models import AuditEvent
from portal.teams.models import Organisation, Role, RoleAssignment, Team, TeamTerm, User
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


@pytest.fixture
def admin(client: Client) -> User:
    call_command("make_admin", a_user("jihye").username, stdout=StringIO())
    user = User.objects.get()
    client.force_login(user)
    return user


def _actions() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


def test_the_command_makes_an_admin_who_may_use_the_site(client: Client, admin: User) -> None:
    assert (admin.is_staff, admin.is_superuser) == (True, True)
    assert Organisation.objects.exists()
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("page", ["user", "team", "teamterm", "roleassignment", "organisation"])
def test_lists_and_forms_open(client: Client, admin: User, page: str) -> None:
    a_team()
    assert client.get(f"/admin/teams/{page}/").status_code == 200
    added = client.get(f"/admin/teams/{page}/add/")
    assert added.status_code == 200


def test_a_person_is_added_given_a_role_and_loses_it(client: Client, admin: User) -> None:
    team = a_team()
    client.post(
        "/admin/teams/user/add/",
        {
            "username": "minji",
            "email": "m@x.example",
            "is_active": "on",
            "first_password": PASSWORD,
        },
    )
    minji = User.objects.get(username="minji")
    assert minji.check_password(PASSWORD)
    client.post(
        "/admin/teams/roleassignment/add/",
        {"user": minji.pk, "role": Role.LEAD, "team": team.pk},
    )
    held = RoleAssignment.objects.get(user=minji)
    assert (held.role, held.team_id) == (Role.LEAD, team.pk)
    client.post(f"/admin/teams/roleassignment/{held.pk}/delete/", {"post": "yes"})
    assert not RoleAssignment.objects.filter(user=minji).exists()
    assert _actions()[-3:] == ["teams.user_created", "teams.role_granted", "teams.role_revoked"]


def test_a_short_password_adds_nobody(client: Client, admin: User) -> None:
    client.post("/admin/teams/user/add/", {"username": "minji", "first_password": "short"})
    assert not User.objects.filter(username="minji").exists()


def test_the_last_admin_can_neither_be_revoked_nor_shut_out(client: Client, admin: User) -> None:
    held = RoleAssignment.objects.get(user=admin)
    client.post(f"/admin/teams/roleassignment/{held.pk}/delete/", {"post": "yes"})
    assert RoleAssignment.objects.filter(pk=held.pk).exists()
    client.post(f"/admin/teams/user/{admin.pk}/change/", {"first_name": "J", "email": ""})
    admin.refresh_from_db()
    assert admin.is_active


def test_a_team_is_added_at_the_top_and_moved_by_a_new_row(client: Client, admin: User) -> None:
    research = a_team("research")
    client.post("/admin/teams/team/add/", {"slug": "vision", "name": "Vision", "hue": 1})
    vision = Team.objects.get(slug="vision")
    client.post(
        "/admin/teams/teamterm/add/",
        {"team": vision.pk, "parent": research.pk, "weight": 3, "priority": 0},
    )
    terms = TeamTerm.objects.filter(team=vision).order_by("id")
    assert [(t.parent_id, t.valid_to is None) for t in terms] == [
        (None, False),
        (research.pk, True),
    ]


def test_an_admin_of_a_branch_may_not_use_the_site(client: Client) -> None:
    client.force_login(a_user("branch", role=Role.ADMIN, team=a_team()))
    assert client.get("/admin/").status_code == 404


def test_a_new_organisation_lives_in_the_zone_the_installation_is_set_to(
    settings: Settings,
) -> None:
    settings.DEFAULT_ZONE = "Europe/Berlin"
    call_command("make_admin", a_user("jihye").username, stdout=StringIO())
    organisation = Organisation.objects.get()
    assert (organisation.zone, organisation.billing_zone) == ("Europe/Berlin", "Europe/Berlin")


def test_how_a_teams_jobs_are_isolated_is_set_by_a_name_a_cluster_takes(
    client: Client, admin: User
) -> None:
    team = {"slug": "vision", "name": "Vision", "hue": 1}
    client.post("/admin/teams/team/add/", {**team, "runtime_class": "kata"})
    row = Team.objects.get()
    assert row.runtime_class == "kata"
    change = {"name": "Vision", "hue": 1, "runtime_class": "Not A Name!"}
    answer = client.post(f"/admin/teams/team/{row.pk}/change/", change, follow=True)
    assert "small letters, digits and dashes" in answer.content.decode()
    row.refresh_from_db()
    assert row.runtime_class == "kata"
