"""Home, Queue, Workload and Capacity: who sees what, and that the numbers are those of the rows."""

import csv
import io
import json
import re
import zlib
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.common import clock
from portal.dashboards import pictures
from portal.inventory.models import Cluster
from portal.requests.models import Request
from portal.reservations.models import ReservationState
from portal.scheduling.models import Tick
from portal.workloads.models import Workload
from tests import builders
from tests.portal.dashboards.world import World

PAGES = ("/", "/queue/", "/capacity/")


def get(world: World, who: str, path: str) -> HttpResponse:
    client = Client()
    client.force_login(world.people[who])
    return client.get(path)  # type: ignore[return-value]


def text(response: HttpResponse) -> str:
    """What a reader reads: tags away, white space single."""
    body = response.content.decode()
    main = body[body.index("<main") : body.index("</main>")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"</?(b|time)\b[^>]*>", "", main)))


@pytest.mark.parametrize("who", ["member", "lead", "branch_admin", "admin", "finance", "auditor"])
def test_home_answers_for_every_role(world: World, who: str) -> None:
    assert get(world, who, "/").status_code == 200


def test_home_of_somebody_without_a_role_says_what_to_do(world: World) -> None:
    assert "An admin gives you a role" in text(get(world, "nobody", "/"))


@pytest.mark.parametrize(
    ("path", "shut_to"),
    [("/queue/", {"finance", "nobody"}), ("/capacity/", {"nobody"})],
)
def test_a_page_is_found_by_those_whose_role_opens_it(
    world: World, path: str, shut_to: set[str]
) -> None:
    for who in world.people:
        assert get(world, who, path).status_code == (404 if who in shut_to else 200), who


def test_a_workload_is_found_only_in_its_branch(world: World) -> None:
    path = f"/queue/{world.waiting.pk}/"
    found = {who for who in world.people if get(world, who, path).status_code == 200}
    assert found == {"member", "lead", "branch_admin", "admin", "auditor"}


def test_home_counts_what_the_pods_hold(world: World) -> None:
    said = text(get(world, "member", "/"))
    assert "18 h100 GPUs in use of 16 guaranteed, 24 at most" in said
    assert "You run 14 of your own and borrow 4 from Speech, who use 6 of their 10." in said


def test_home_names_what_runs_in_a_reservation_apart(world: World) -> None:
    builders.a_reservation(
        world.vision, world.pool, world.now, 9, gpus=8, state=ReservationState.ACTIVE
    )
    world.running.pods.filter(gpu_milli=8000).update(charged_to="reserved")
    said = text(get(world, "member", "/"))
    assert "18 h100 GPUs in use of 16 guaranteed + 8 reserved, 24 at most" in said
    assert "You run 6 guaranteed and 8 reserved of your own and borrow 4 from Speech" in said
    drawn = get(world, "member", "/").content.decode()
    # 8 of 24, after the 6.
    fenced = '<svg x="25.000%" width="33.333%" height="100%" class="hue-1"><rect width="100%"'
    assert f'{fenced} height="100%" class="ink-fenced">' in drawn


def test_home_tells_the_lender_to_whom_and_when_it_comes_back(world: World) -> None:
    said = text(get(world, "outsider", "/"))
    assert "You lend 4 to Vision" in said
    assert "they come back as soon as a job of yours needs them" in said


def test_home_of_many_teams_speaks_of_them_in_the_third_person(world: World) -> None:
    for slug in ("search", "robotics"):
        builders.a_quota(builders.a_team(slug), world.pool, guaranteed=2)
    said = text(get(world, "admin", "/"))
    assert "Uses 14 of its own and borrows 4 from Speech." in said
    assert "Uses 6 of its own and lends 4 to Vision." in said
    assert said.count("Uses nothing now.") == 2


def test_home_lists_what_waits_with_its_reason_and_planned_start(world: World) -> None:
    said = text(get(world, "lead", "/"))
    assert "llm-sft-07" in said
    assert "9 GPUs of h100 are free, but no node has more than 3" in said
    assert "Today 10:30 KST" in said


def test_home_lists_the_next_reservation(world: World) -> None:
    assert "Tomorrow 09:00–18:00 KST 8 h100" in text(get(world, "lead", "/"))


def test_home_shows_an_admin_the_requests_of_others_and_never_their_own(world: World) -> None:
    rows = {
        who: Request.objects.create(
            kind="reservation", team=world.vision, pool=world.pool, state="submitted", gpus=8,
            requested_by=world.people[who], starts_at=world.now + timedelta(days=1),
            ends_at=world.now + timedelta(days=2), created_at=world.now, submitted_at=world.now,
        )
        for who in ("lead", "admin")
    }  # fmt: skip
    body = get(world, "admin", "/").content.decode()
    inbox = body[body.index('id="inbox"') : body.index('id="mine"')]
    assert f"/requests/{rows['lead'].pk}/" in inbox
    assert f"/requests/{rows['admin'].pk}/" not in inbox


def test_names_of_other_teams_jobs_are_hidden_and_their_place_is_not(world: World) -> None:
    said = text(get(world, "member", "/queue/"))
    assert "llm-sft-07" in said
    assert "a job of Speech" in said
    assert "asr-secret" not in said


def test_a_reason_names_a_job_only_to_those_who_may_see_it(world: World) -> None:
    assert "behind llm-sft-07" in text(get(world, "admin", "/queue/"))
    outside = text(get(world, "outsider", "/queue/"))
    assert "behind a job of Vision" in outside
    assert "llm-sft-07" not in outside


def test_the_queue_says_who_stands_ahead(world: World) -> None:
    assert "1 job stands ahead: Vision 1." in text(get(world, "outsider", "/queue/"))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"llm-sft-07", "asr-secret"}),
        ("?state=running", {"llm-sft-04", "ablate-15", "asr-pretrain", "stray"}),
        ("?search=sft", {"llm-sft-07"}),
        ("?search=sft&state=running", {"llm-sft-04"}),
        ("?kind=training", {"llm-sft-07", "asr-secret"}),
        ("?state=nonsense&kind=training", {"llm-sft-07", "asr-secret"}),
        ("?state=ended", set()),
    ],
)
def test_the_queue_filters(world: World, query: str, shown: set[str]) -> None:
    said = text(get(world, "admin", f"/queue/{query}"))
    assert {job.name for job in Workload.objects.all() if job.name in said} == shown


def test_the_queues_tabs_count_under_the_same_filters(world: World) -> None:
    assert "Waiting 2 Running 4 Ended 0" in text(get(world, "admin", "/queue/"))
    assert "Waiting 1 Running 1 Ended 0" in text(get(world, "admin", "/queue/?search=sft"))


def test_the_queue_sorts_by_size_both_ways(world: World) -> None:
    up = text(get(world, "admin", "/queue/?state=running&sort=gpus"))
    down = text(get(world, "admin", "/queue/?state=running&sort=-gpus"))
    assert up.index("stray") < up.index("llm-sft-04")
    assert down.index("llm-sft-04") < down.index("stray")


def test_an_empty_queue_says_what_to_do(world: World) -> None:
    assert "Clear the filters" in text(get(world, "admin", "/queue/?search=nothing-like-it"))


def test_the_queue_as_csv_hides_the_same_names_and_runs_no_formula(world: World) -> None:
    Workload.objects.filter(pk=world.waiting.pk).update(name="=HYPERLINK(1)")
    client = Client()
    client.force_login(world.people["member"])
    response = client.get("/queue/?format=csv")
    body = response.getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(body.lstrip("\ufeff"))))
    assert [row["Job"] for row in rows][:2] == ["'=HYPERLINK(1)", "a job of Speech"]
    assert rows[0]["Planned start"] == "2026-11-02T10:30:00+09:00"
    assert rows[0]["GPUs"] == "8.0"
    assert len(rows) == 2


def test_a_workload_shows_its_reason_its_decision_and_its_place(world: World) -> None:
    said = text(get(world, "lead", f"/queue/{world.waiting.pk}/"))
    assert "place 2" in said
    assert said.count("no node has more than 3") == 2
    assert "It holds no GPU yet." in said


def test_a_running_workload_shows_its_stages_and_places(world: World) -> None:
    said = text(get(world, "lead", f"/queue/{world.running.pk}/"))
    assert "Waiting Today 08:30 KST 10 m" in said
    assert "Starting Today 08:40 KST 1 m" in said
    assert "Running Today 08:41 KST 19 m so far" in said
    assert "h100-0" in said
    assert "h100-1" in said


def test_a_start_is_shown_by_what_it_waited_for(world: World) -> None:
    begun = world.now - timedelta(minutes=20)
    world.running.pods.update(
        scheduled_at=begun, mounted_at=begun + timedelta(seconds=12),
        started_at=begun + timedelta(seconds=50), restarts=2,
    )  # fmt: skip
    said = text(get(world, "lead", f"/queue/{world.running.pk}/"))
    assert "volumes and network 12 s · images 38 s · until ready 10 s" in said
    assert "Restarts 4 times in place" in said
    assert "Its last start, by what it waited for" in said


def test_a_workload_shows_what_the_ledger_has_of_it(world: World) -> None:
    begun = world.now - timedelta(hours=1)
    for entry in builders.use(world.vision, world.pool, begun, world.now, gpus=6):
        entry.workload_id = world.running.pk
        entry.pk = None
        entry.pod_uid = "again"
        entry.save(force_insert=True)
    assert "6.0 GPU-hours" in text(get(world, "lead", f"/queue/{world.running.pk}/"))


def test_a_snapshot_is_for_those_who_oversee_the_organisation(world: World) -> None:
    packed = zlib.compress(json.dumps({"schema": 1}).encode())
    Tick.objects.filter(pk=world.tick.pk).update(snapshot=packed)
    path = f"/queue/{world.waiting.pk}/snapshot/{world.tick.pk}.json"
    assert get(world, "auditor", path).json() == {"schema": 1}  # type: ignore[attr-defined]
    assert get(world, "lead", path).status_code == 404
    assert get(world, "auditor", path.replace("snapshot/", "snapshot/9")).status_code == 404


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["openb-node-0026", "openb-node-0127"], "openb-node-"),
        (["a.lab", "b.lab"], ""),
        (["gpu-1", "gpu-1a"], ""),
        (["gpu-1"], ""),
        ([], ""),
    ],
)
def test_a_node_is_told_by_what_its_name_does_not_share(names: list[str], start: str) -> None:
    assert pictures.common_start(names) == start


def test_capacity_counts_what_is_free_and_what_fits(world: World) -> None:
    said = text(get(world, "outsider", "/capacity/"))
    # 7 free: 1 on one node and 6 on another, so 7 of 1, 3 of 2, 1 of 4 and none of 8.
    assert "GPUs free 7" in said
    assert "jobs of 1 fit 7 of 2 3 of 4 1" in said
    assert "7 of 1 3 of 2 1 of 4 0 of 8" in said


def test_capacity_leaves_out_nodes_where_nothing_may_start(world: World) -> None:
    world.nodes[3].state = "cordoned"
    world.nodes[3].save()
    said = text(get(world, "admin", "/capacity/"))
    assert "GPUs free 1" in said
    assert "cordoned: nothing new starts" in said


def test_the_map_shows_each_device_by_team_and_kind(world: World) -> None:
    body = get(world, "member", "/capacity/").content.decode()
    cells = re.findall(r'<span class="cell ([^"]*)"', body)
    assert cells.count("solid hue-1") == 14
    assert cells.count("hatched hue-1") == 4
    assert cells.count("solid hue-2") == 6
    assert cells.count("hatched hue-none") == 1
    assert body.count('class="cell "') == 7


def test_pages_say_as_of_when_what_they_show_is_true(world: World) -> None:
    seen = world.now - timedelta(minutes=5)
    Cluster.objects.update(seen_at=seen, seen_real_at=clock.real_now())
    assert "as of Mon 2 Nov 08:55:00 KST" in text(get(world, "admin", "/capacity/"))
    assert "as of Mon 2 Nov 09:00:00 KST" in text(get(world, "admin", "/queue/"))


def test_every_page_says_when_a_cluster_no_longer_answers(world: World) -> None:
    Cluster.objects.update(seen_real_at=clock.real_now() - timedelta(hours=2, seconds=30))
    for path in PAGES:
        assert "lab was last read 2 h ago in real time" in text(get(world, "admin", path))
    Cluster.objects.update(seen_real_at=clock.real_now())
    assert "was last read" not in text(get(world, "admin", "/queue/"))


@pytest.mark.parametrize("path", PAGES)
def test_more_rows_ask_no_more_queries(world: World, path: str) -> None:
    def queries() -> int:
        client = Client()
        client.force_login(world.people["admin"])
        client.get(path)
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    before = queries()
    for number in range(6):
        job = builders.a_workload(world.vision, world.pool, f"more-{number}")
        node = builders.a_node(world.pool, f"more-{number}")
        builders.a_pod(job, node, charged_to="guaranteed")
        builders.a_workload(world.vision, world.pool, f"more-waiting-{number}")
        builders.a_reservation(world.vision, world.pool, world.now, 2, state="active")
    assert queries() == before
