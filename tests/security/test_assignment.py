"""What a form or a body does not offer cannot be set by naming it."""

import ast
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

import portal
from portal.requests.models import Request, RequestState
from portal.teams.models import RoleAssignment, User
from tests.doors import ROUTES, table
from tests.world import World

ROOMS = Path(portal.__file__).parent
# What says who did it, when, how far it is, and what somebody may do: only services write it.
OURS_ALONE = {
    "id", "pk", "state", "actor", "actor_id", "user", "user_id", "created_by", "created_by_id",
    "created_at", "requested_by", "submitted_by", "decided_by", "decided_at", "approvals_needed",
    "is_staff", "is_superuser", "is_active", "digest", "hash", "previous_hash", "expires_at", "cost_micro",
}  # fmt: skip
FILTERS = {"FilterForm", "FilterSet"}


def _fields(path: Path) -> list[tuple[str, str]]:
    """Form or serializer, and field, of all there are in a module, but for those that filter."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases}
            made = [
                target.id
                for line in node.body
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call)
                for target in line.targets
                if isinstance(target, ast.Name) and "Field" in ast.unparse(line.value.func)
            ]
            if not bases & {*FILTERS, "Model", "AbstractUser"} and "admin" not in path.name:
                found += [(node.name, name) for name in made]
    return found


def test_no_form_and_no_body_offers_what_only_services_write() -> None:
    modules = [
        p for p in ROOMS.rglob("*.py") if "migrations" not in p.parts and p.name != "models.py"
    ]
    offered = [(str(p.relative_to(ROOMS)), *pair) for p in modules for pair in _fields(p)]
    assert len(offered) > 60
    said = {(form, field) for _module, form, field in offered if field in OURS_ALONE}
    # One's own news, by its number.
    assert said <= {("ReadBody", "id")}


def test_no_form_or_serializer_takes_whatever_columns_a_row_has() -> None:
    for path in ROOMS.rglob("*.py"):
        text = path.read_text()
        assert "ModelSerializer" not in text, path
        assert 'fields = "__all__"' not in text, path


FOREIGN = {
    "state": "approved", "status": "approved", "actor_id": 1, "actor": 1, "requested_by": 1,
    "granted_gpus": 99, "granted": True, "is_superuser": True, "approvals_needed": 0, "id": 1,
    "team_id": 1, "cost_micro": 0,
}  # fmt: skip


def test_no_write_of_the_api_sets_what_its_body_does_not_offer(world: World, admin: Client) -> None:
    """Each is refused for it, or says all the same what it would have said to an empty body."""
    ids, wrong = world.ids(world.ours), []
    for (route, does), row in table().items():
        if does != "write" or not route.startswith("api-") or not row["admin"]:
            continue
        address = reverse(route, kwargs={name: ids[name] for name in ROUTES[route]})
        before = _standing()
        told = admin.post(address, FOREIGN, content_type="application/json")
        after = _standing()
        new = set(after) - set(before)  # a role taken back is what that route is for
        if told.status_code < 300 and new:
            wrong.append(f"{route}: {told.status_code} {new}")
    assert wrong == []


def _standing() -> list[tuple[object, ...]]:
    """Who may do what, and how far requests are, save for moves that take no body."""
    held = RoleAssignment.objects.values_list("user_id", "role", "team_id")
    people = User.objects.values_list("username", "is_superuser", "is_active")
    asked = Request.objects.values_list(
        "pk", "team_id", "requested_by_id", "granted_gpus", "approvals_needed", "cost_micro"
    )
    return [*held, *people, *asked]


@pytest.mark.parametrize("key", sorted(FOREIGN))
def test_a_draft_takes_no_word_it_does_not_know(key: str, world: World, admin: Client) -> None:
    body = {
        "kind": "reservation", "team": world.ours.team.pk, "pool": world.pool.pk, "gpus": 1,
        "reason": "x", key: FOREIGN[key],
    }  # fmt: skip
    answer = admin.post("/api/v1/requests", body, content_type="application/json")
    assert answer.status_code == 422
    assert key in answer.json()["fields"]


def test_a_page_s_form_leaves_out_what_it_does_not_show(world: World, admin: Client) -> None:
    count = Request.objects.count()
    filled_in = {
        "team": world.ours.team.pk, "pool": world.pool.pk, "gpus": 1, "gpus_per_node": "",
        "source": "pool", "starts_at": "2026-11-03T09:00", "ends_at": "2026-11-03T17:00",
        "zone": "Asia/Seoul", "reason": "x", "do": "save",
    }  # fmt: skip
    admin.post(reverse("requests:reserve"), {**FOREIGN, **filled_in})
    made = Request.objects.order_by("-pk")[0]
    assert Request.objects.count() == count + 1
    assert made.state == RequestState.DRAFT
    assert (made.granted_gpus, made.requested_by.username) == (None, "admin")


def test_nobody_makes_more_of_themselves_by_their_preferences(world: World, client: Client) -> None:
    member = User.objects.get(username="member-vision")
    client.force_login(member)
    client.post(reverse("teams:preferences"), {"theme": "dark", "username": "root", **FOREIGN})
    member.refresh_from_db()
    assert (member.theme, member.username, member.is_superuser) == ("dark", "member-vision", False)


def test_an_invitation_gives_the_role_it_was_made_for(world: World, client: Client) -> None:
    from hashlib import sha256

    from portal.teams.models import Invitation

    Invitation.objects.filter(pk=world.ours.invitation.pk).update(
        digest=sha256(b"opens").hexdigest()
    )
    client.post(
        "/welcome/opens/",
        {"username": "new", "first_name": "N", "last_name": "N", "password": "long enough for this",
         "role": "admin", "team": "", "is_staff": "1", "email": "other@example.org", **FOREIGN},
    )  # fmt: skip
    user = User.objects.get(username="new")
    held = list(user.role_assignments.values_list("role", "team_id"))
    assert held == [("member", world.ours.team.pk)]
    assert (user.is_staff, user.is_superuser, user.email) == (False, False, "new@example.org")
