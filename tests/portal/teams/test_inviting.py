"""Roles given in a scope, and invitations that open once."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from portal.common import clock
from portal.common.errors import Invalid, Missing
from portal.common.models import AuditEvent, OutboxMessage
from portal.teams import inviting, selectors
from portal.teams.models import Invitation, Role, RoleAssignment, Team, User
from portal.teams.selectors import Access
from tests.builders import a_team, a_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 6, tzinfo=UTC)
GOOD = {
    "username": "haru", "first_name": "Haru", "last_name": "Kim", "password": "long and unusual 7",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: NOW)


@pytest.fixture
def vision() -> Team:
    return a_team("vision", parent=a_team("research"))


def _access(role: Role, team: Team | None) -> Access:
    user = a_user(f"{role}-{team.slug if team else 'all'}", role=role, team=team)
    return selectors.get_access(user_id=user.pk, now=NOW)


def test_who_may_give_what_where(vision: Team) -> None:
    research, search = Team.objects.get(slug="research"), a_team("search")
    given = {
        (who, where): set(inviting.grantable(access, team.pk if team else None))
        for who, access in {
            "lead": _access(Role.LEAD, vision),
            "branch admin": _access(Role.ADMIN, research),
            "admin": _access(Role.ADMIN, None),
            "finance": _access(Role.FINANCE, None),
            "auditor": _access(Role.AUDITOR, None),
            "member": _access(Role.MEMBER, vision),
        }.items()
        for where, team in {"vision": vision, "search": search, "everywhere": None}.items()
    }
    branch, every = {Role.MEMBER, Role.LEAD, Role.ADMIN}, set(Role)
    expected = {
        ("lead", "vision"): {Role.MEMBER},
        ("branch admin", "vision"): branch,
        ("admin", "vision"): every,
        ("admin", "search"): every,
        ("admin", "everywhere"): every,
    }
    assert {key: roles for key, roles in given.items() if roles} == expected


def test_a_lead_makes_nobody_an_admin_of_anything(vision: Team) -> None:
    a_user("junho")
    lead = _access(Role.LEAD, vision)
    for role, team_id in ((Role.ADMIN, vision.pk), (Role.LEAD, vision.pk), (Role.MEMBER, None)):
        with pytest.raises(Invalid):
            inviting.grant(access=lead, username="junho", role=role, team_id=team_id, now=NOW)
    assert not RoleAssignment.objects.filter(user__username="junho").exists()


def test_a_role_of_another_branch_is_as_if_it_were_not_there(vision: Team) -> None:
    other = a_user("junho", role=Role.MEMBER, team=a_team("search"))
    theirs = RoleAssignment.objects.get(user=other)
    for number in (theirs.pk, 987654):
        with pytest.raises(Missing):
            inviting.revoke(access=_lead(vision), assignment_id=number)
    assert RoleAssignment.objects.filter(pk=theirs.pk).exists()


def _lead(team: Team) -> Access:
    held = RoleAssignment.objects.filter(role=Role.LEAD, team=team).first()
    user_id = held.user_id if held else a_user("the-lead", role=Role.LEAD, team=team).pk
    return selectors.get_access(user_id=user_id, now=NOW)


def _invite(vision: Team) -> str:
    made = inviting.invite(
        access=_lead(vision), email="haru@example.org", role=Role.MEMBER, team_id=vision.pk,
        real_now=NOW,
    )  # fmt: skip
    return made.link.rstrip("/").rpartition("/")[2]


def test_an_invitation_makes_an_account_with_its_one_role(client: Client, vision: Team) -> None:
    token = _invite(vision)
    page = client.post(reverse("teams:accept", kwargs={"token": token}), GOOD)
    assert page.status_code == 302, page.context["form"].errors
    haru = User.objects.get(username="haru")
    assert haru.email == "haru@example.org"
    held = RoleAssignment.objects.get(user=haru)
    assert (held.role, held.team) == (Role.MEMBER, vision)
    client.post(reverse("account_login"), {"login": "haru", "password": GOOD["password"]})
    assert "_auth_user_id" in client.session


def test_it_opens_once(client: Client, vision: Team) -> None:
    where = reverse("teams:accept", kwargs={"token": _invite(vision)})
    client.post(where, GOOD)
    assert client.get(where).status_code == 404
    assert client.post(where, {**GOOD, "username": "other"}).status_code == 404
    assert not User.objects.filter(username="other").exists()


def test_late_withdrawn_and_made_up_links_read_alike(
    client: Client, vision: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, withdrawn = _invite(vision), _invite(vision)
    newest = Invitation.objects.order_by("-pk")[0]
    inviting.withdraw(access=_lead(vision), invitation_id=newest.pk, real_now=NOW)
    monkeypatch.setattr(clock, "real_now", lambda: NOW + timedelta(days=7))
    answers = [
        client.get(reverse("teams:accept", kwargs={"token": token}))
        for token in (late, withdrawn, "made-up")
    ]
    assert [answer.status_code for answer in answers] == [404] * 3


def test_a_refused_form_leaves_the_link_open(client: Client, vision: Team) -> None:
    a_user("haru")
    where = reverse("teams:accept", kwargs={"token": _invite(vision)})
    assert client.post(where, GOOD).status_code == 200, "the name is taken"
    weak = client.post(where, {**GOOD, "username": "new", "password": "short"})
    assert weak.status_code == 200
    assert weak.context["form"].errors["password"]
    assert client.post(where, {**GOOD, "username": "new"}).status_code == 302


def test_only_a_hash_of_the_link_is_kept_and_the_mail_is_forgotten_once_sent(
    vision: Team,
) -> None:
    from portal.common import outbox

    token = _invite(vision)
    assert token not in str(Invitation.objects.values()[0])
    assert token not in str(list(AuditEvent.objects.values()))
    outbox.deliver_due({"mail": lambda message: None}, clock=lambda: NOW)
    assert token not in str(list(OutboxMessage.objects.values()))


def test_a_lead_gives_and_takes_back_in_the_browser(client: Client, vision: Team) -> None:
    a_user("junho")
    lead = a_user("minji", role=Role.LEAD, team=vision)
    client.force_login(lead)
    client.post("/people/", {"who": "junho", "role": "member", "team": vision.pk})
    held = RoleAssignment.objects.get(user__username="junho")
    assert "junho" in client.get("/people/").content.decode()
    client.post(reverse("teams:revoke-role", kwargs={"assignment_id": held.pk}))
    assert not RoleAssignment.objects.filter(pk=held.pk).exists()
    actions = list(AuditEvent.objects.values_list("action", flat=True))
    assert actions[-2:] == ["teams.role_granted", "teams.role_revoked"]


def test_a_lead_sees_only_the_people_of_their_teams_and_only_those_roles(
    client: Client, vision: Team
) -> None:
    both = a_user("junho", role=Role.MEMBER, team=vision)
    RoleAssignment.objects.create(user=both, role=Role.FINANCE, team=None, created_at=NOW)
    a_user("stranger", role=Role.MEMBER, team=a_team("search"))
    client.force_login(a_user("minji", role=Role.LEAD, team=vision))
    shown = {
        p.username: [h.role for h in p.roles]
        for p, _roles in client.get("/people/").context["people"]
    }
    assert shown == {"junho": [Role.MEMBER], "minji": [Role.LEAD]}
