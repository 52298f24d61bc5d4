"""The Policy page: in words, tried before it is applied, applied with a reason, taken back."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from portal.common import clock
from portal.common.models import AuditEvent
from portal.inventory.models import Pool
from portal.scheduling import policies, services, trying
from portal.scheduling.forms import PolicyForm
from portal.scheduling.models import Policy
from portal.teams.models import Role, Team
from tests import builders

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: now)


@pytest.fixture
def pool(now: datetime) -> Pool:
    """One node of 8 GPUs; a job of a day and one of an hour want all of it, the long one first."""
    pool = builders.a_pool(nodes=1)
    team = builders.a_team("vision")
    builders.a_quota(team, pool, guaranteed=8)
    for name, hours, ago in (("long", 24, 2), ("short", 1, 1)):
        builders.a_workload(
            team, pool, name, tasks=1, gpu_milli=8000,
            submitted_at=now - ago * HOUR, duration_seconds=hours * 3600,
        )  # fmt: skip
    return pool


def signed_in(name: str, role: Role, team: Team | None = None) -> Client:
    client = Client()
    client.force_login(builders.a_user(name, role=role, team=team))
    return client


@pytest.fixture
def admin() -> Client:
    return signed_in("jihye", Role.ADMIN)


def words(answer: Any) -> str:
    return " ".join(strip_tags(answer.content.decode()).split())


def filled(pool: Pool, now: datetime, **changes: Any) -> dict[str, Any]:
    """The form as the page shows it, with some fields filled in otherwise."""
    row = policies.get_policy(cluster_id=pool.cluster_id, now=now)
    rules = services.checked_rules(policies.rules_of(row, cluster_id=pool.cluster_id))
    form = PolicyForm(None, rules=rules, seen=row.pk if row else 0)
    shown = {
        name: value
        for name, value in form.initial.items()
        if value is not None and value is not False
    }
    return shown | changes


def test_no_cluster_no_policy(admin: Client) -> None:
    assert "There is no cluster yet" in words(admin.get("/policy/"))


def test_the_policy_stands_there_in_words(admin: Client, pool: Pool) -> None:
    said = words(admin.get("/policy/"))
    assert "Order Fair share Who has used least for their weight goes first" in said
    assert "by default, since nobody set any" in said
    assert "Past use halves in 7 d" in said
    assert "Nobody has changed it yet." in said


def test_what_is_not_touched_stays_to_the_second(pool: Pool, now: datetime) -> None:
    odd = {
        **policies.DEFAULT_RULES, "half_life_seconds": 100_001, "usage_weight_k": 0.25,
        "hybrid": {"high": 0.7, "low": 0.6, "min_dwell_seconds": 900},
        "preemption": {"enabled": True, "strategies": ["final", "initial"],
                       "max_lost_gpu_seconds_per_cycle": 7, "min_runtime_seconds": 61},
    }  # fmt: skip
    rules = services.checked_rules(odd)
    services.set_policy(cluster_id=pool.cluster_id, rules=rules, actor_id=None, now=now)
    form = PolicyForm(filled(pool, now), rules=rules, seen=1)
    assert form.is_valid(), form.errors
    assert services.checked_rules(form.rules()) == rules


def test_a_dry_run_says_who_would_start_and_writes_nothing(
    admin: Client, pool: Pool, now: datetime
) -> None:
    path = f"/policy/{pool.cluster_id}/edit/"
    said = words(admin.post(path, filled(pool, now, order="sjf", do="try")))
    assert "Order: Fair share → Shortest first" in said
    assert "vision/short has to wait starts at once" in said
    assert "vision/long starts at once has to wait" in said
    assert "1 has to wait instead1 starts at once" in said
    assert not Policy.objects.exists()


def test_what_a_dry_run_finds_is_as_worked_out_by_hand(pool: Pool, now: datetime) -> None:
    # Now the long one starts; by length the short one does, and the long one an hour later.
    found = trying.try_policy(
        cluster_id=pool.cluster_id, rules={**policies.DEFAULT_RULES, "order": "sjf"}, now=now
    )
    assert dict(found.counts) == {"starts": 1, "holds": 1}
    (held,) = [move for move in found.moves if move.kind == "holds"]
    assert (held.name, held.now_at) == ("vision/long", now + HOUR)
    assert (found.starts_before, found.starts_after) == (1, 1)
    assert not [team for team in found.teams if team.differs]
    same = trying.try_policy(cluster_id=pool.cluster_id, rules=policies.DEFAULT_RULES, now=now)
    assert same.is_same


def test_a_policy_is_applied_with_its_reason_and_taken_back(
    admin: Client, pool: Pool, now: datetime
) -> None:
    path = f"/policy/{pool.cluster_id}/"
    asked = filled(pool, now, order="sjf", do="apply")
    refused = admin.post(f"{path}edit/", asked)
    assert refused.status_code == 422
    assert "Say why, for those who read the history." in words(refused)
    assert admin.post(f"{path}edit/", asked | {"note": "Short ones first."}).status_code == 302
    policy = Policy.objects.get()
    assert (policy.rules["order"], policy.note) == ("sjf", "Short ones first.")
    assert AuditEvent.objects.latest("id").action == "scheduling.policy_set"
    said = words(admin.get("/policy/"))
    assert "Short ones first. Order: Fair share → Shortest first" in said
    assert "vision/long has to wait starts at once" in words(admin.get(f"{path}undo/"))
    undone = admin.post(f"{path}undo/", {"seen": policy.pk, "note": "It hurt."})
    assert undone.status_code == 302
    assert Policy.objects.latest("id").rules["order"] == "fair_share"
    assert Policy.objects.count() == 2


def test_who_was_overtaken_is_told_and_overwrites_nothing(
    admin: Client, pool: Pool, now: datetime
) -> None:
    path = f"/policy/{pool.cluster_id}/edit/"
    asked = filled(pool, now, order="sjf", do="apply", note="mine")
    rules = {**policies.DEFAULT_RULES, "order": "fifo"}
    services.set_policy(cluster_id=pool.cluster_id, rules=rules, actor_id=None, now=now)
    answer = admin.post(path, asked)
    assert answer.status_code == 422
    assert "The policy was changed meanwhile." in words(answer)
    assert Policy.objects.get().rules["order"] == "fifo"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"order": "nonsense"}, "nonsense is not one of"),
        ({"half_life": "0"}, "The policy is not valid"),
        ({"hybrid": "on"}, "Give a percentage."),
        ({"hybrid": "on", "high": "60", "low": "70"}, "It must not be above the other"),
        ({"do": "apply", "note": "x"}, "Nothing changes: that is the policy already."),
        ({"half_life": "9" * 30}, "less than or equal to"),
    ],
)
def test_a_faulty_policy_is_refused_with_what_is_wrong(
    admin: Client, pool: Pool, now: datetime, changes: dict[str, str], told: str
) -> None:
    path = f"/policy/{pool.cluster_id}/edit/"
    answer = admin.post(path, filled(pool, now) | {"do": "try"} | changes)
    assert answer.status_code == 422
    assert told in words(answer)


def test_an_auditor_reads_and_changes_nothing(pool: Pool, now: datetime) -> None:
    client = signed_in("wonho", Role.AUDITOR)
    assert "Change it" not in words(client.get("/policy/"))
    assert client.get(f"/policy/{pool.cluster_id}/edit/").status_code == 404
    assert client.post(f"/policy/{pool.cluster_id}/edit/", filled(pool, now)).status_code == 404
    assert signed_in("lead", Role.LEAD, Team.objects.get()).get("/policy/").status_code == 404


def test_the_api_tries_lists_and_takes_back(admin: Client, pool: Pool, now: datetime) -> None:
    base = f"/api/v1/clusters/{pool.cluster_id}/policy"
    rules = {**policies.DEFAULT_RULES, "order": "sjf"}
    kind = "application/json"
    tried = admin.post(f"{base}/dry-run", rules, content_type=kind).json()
    assert tried["counts"] == {"starts": 1, "holds": 1}
    assert tried["starts"] == {"now": 1, "then": 1}
    assert admin.put(f"{base}?note=why", rules, content_type=kind).status_code == 200
    (row,) = admin.get(f"{base}/history").json()["results"]
    assert (row["note"], row["rules"]["order"]) == ("why", "sjf")
    stale = admin.post(f"{base}/undo", {}, content_type=kind, headers={"If-Match": '"0"'})
    assert stale.status_code == 412
    undone = admin.post(f"{base}/undo", {"note": "no"}, content_type=kind)
    assert (undone.status_code, undone.json()["rules"]["order"]) == (200, "fair_share")


def test_pages_ask_few_queries(
    admin: Client, pool: Pool, now: datetime, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    for number in range(10):
        rules = {**policies.DEFAULT_RULES, "seed": number}
        services.set_policy(
            cluster_id=pool.cluster_id, rules=rules, actor_id=None, now=now + number * HOUR / 60
        )
    admin.get("/policy/")
    with django_assert_max_num_queries(12):
        admin.get("/policy/")
    with django_assert_max_num_queries(12):
        admin.get(f"/policy/{pool.cluster_id}/edit/")
