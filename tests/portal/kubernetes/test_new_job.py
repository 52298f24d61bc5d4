"""New job: whether it would start now or why it waits, and a manifest that says just that."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.common import clock
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterMode, Pool
from portal.reservations.models import ReservationState
from portal.scheduling import rehearsing
from portal.scheduling.models import Share, Tick, TickState, Verb
from portal.scheduling.rehearsing import Wish
from portal.scheduling.sentences import Said
from portal.teams.models import Organisation, Role, Team, User
from portal.workloads.models import Workload
from tests import builders


@dataclass
class Place:
    """A pool of two nodes with 8 GPUs each; Vision is guaranteed 8 of at most 12."""

    now: datetime
    pool: Pool
    vision: Team
    member: User
    namespace_id: int


@pytest.fixture
def place(db: None, now: datetime) -> Iterator[Place]:
    Organisation.objects.create(id=1, name="Hanbit")
    clock.set_anchor(real_at=clock.real_now(), organisation_at=now, speed=1)
    pool = builders.a_pool(nodes=2)
    Cluster.objects.update(seen_at=now, seen_real_at=clock.real_now())
    vision = builders.a_team("vision")
    builders.a_quota(vision, pool, guaranteed=8, limit=12)
    namespace = inventory.register_namespace(
        cluster_id=pool.cluster_id, name="vision-train", team_id=vision.pk, now=builders.LONG_AGO
    )
    member = builders.a_user("junho", role=Role.MEMBER, team=vision)
    return Place(now, pool, vision, member, namespace.pk)  # type: ignore[return-value]


def ask(place: Place, tasks: int, gpus: int, **more: object) -> Said:
    """What the engine would say."""
    wish = Wish(place.vision.pk, place.pool.pk, tasks, gpus, **more)  # type: ignore[arg-type]
    return rehearsing.ask(cluster_id=place.pool.cluster_id, wish=wish, now=place.now)


@pytest.mark.parametrize(
    ("tasks", "gpus", "charged"), [(1, 8, "guaranteed"), (2, 4, "guaranteed"), (3, 4, "borrowed")]
)
def test_what_fits_would_start_and_says_as_what(
    place: Place, tasks: int, gpus: int, charged: str
) -> None:
    found = ask(place, tasks, gpus)
    assert (found.verb, found.charged_to) == (Verb.START, charged)


@pytest.mark.parametrize(
    ("tasks", "gpus", "reason"), [(1, 16, "never_fits"), (4, 4, "quota_exceeded")]
)
def test_what_does_not_fit_says_why(place: Place, tasks: int, gpus: int, reason: str) -> None:
    found = ask(place, tasks, gpus)
    assert (found.verb, found.reason) == (Verb.WAIT, reason)


def test_a_team_without_a_place_in_the_tree_has_no_quota(place: Place) -> None:
    wish = Wish(place.vision.pk + 99, place.pool.pk, 1, 1)
    said = rehearsing.ask(cluster_id=place.pool.cluster_id, wish=wish, now=place.now)
    assert said.reason == "no_quota_in_pool"


def test_a_reservation_ahead_keeps_a_long_job_waiting(place: Place) -> None:
    other = builders.a_team("speech")
    builders.a_reservation(
        other, place.pool, place.now + timedelta(hours=1), 4, gpus=16,
        state=ReservationState.PENDING,
    )  # fmt: skip
    assert ask(place, 1, 8, duration_seconds=1800).verb == Verb.START
    assert ask(place, 1, 8, duration_seconds=7200).reason == "reservation_ahead"


def test_nothing_is_written_by_asking(place: Place) -> None:
    with CaptureQueriesContext(connection) as seen:
        ask(place, 1, 8)
    assert all(query["sql"].startswith("SELECT") for query in seen)
    assert not Tick.objects.exists()
    assert not Workload.objects.exists()


def get(place: Place, path: str, who: User | None = None, **query: Any) -> HttpResponse:
    """The page, as a member of Vision unless somebody else is named."""
    client = Client()
    client.force_login(who or place.member)
    return client.get(path, query)  # type: ignore[return-value]


def filled(place: Place, **more: object) -> dict[str, Any]:
    """The form as the page sends it."""
    return {
        "namespace": place.namespace_id, "pool": place.pool.pk, "kind": "Job",
        "job_class": "training", "pods": 1, "gpus": 4, "cpu": 8, "memory_gib": 64, "hours": 2,
        "name": "train", "image": "registry/train:1", "command": "python train.py", **more,
    }  # fmt: skip


def text(response: HttpResponse) -> str:
    """What a reader reads."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def manifest(place: Place, **more: object) -> dict[str, dict[str, object]]:
    """The manifest that can be downloaded."""
    response = get(place, "/new-job/manifest.yaml", **filled(place, **more))
    found: dict[str, dict[str, object]] = yaml.safe_load(response.content)
    return found


def test_the_page_opens_with_an_answer_and_a_manifest(place: Place) -> None:
    said = text(get(place, "/new-job/"))
    assert "It would start. Now, on 1 node." in said
    assert "It would count within the team's guarantee." in said
    assert "namespace: vision-train" in said
    assert "priorityClassName: evenshare-guaranteed-h100" in said


def test_the_check_answers_with_the_verdict_and_the_manifest(place: Place) -> None:
    said = text(get(place, "/new-job/check/", **filled(place, gpus=8, pods=2)))
    assert "It would not start as things are." in said
    assert "The limit of Vision is 12 and 0 are in use; it asks for 16: 4 too many." in said
    assert "parallelism: 2" in said


def test_what_never_fits_is_given_no_number_in_the_queue(place: Place) -> None:
    said = text(get(place, "/new-job/check/", **filled(place, gpus=9)))
    assert "no node of h100 has more than 8" in said
    assert "in the queue" not in said


def test_of_a_deployment_no_end_is_foretold(place: Place) -> None:
    said = text(get(place, "/new-job/check/", **filled(place)))
    assert "It would be done" in said
    said = text(get(place, "/new-job/check/", **filled(place, kind="Deployment")))
    assert "It would start." in said
    assert "It would be done" not in said


def test_a_borrowing_job_is_given_the_class_of_borrowed_work(place: Place) -> None:
    assert "evenshare-burst-h100" in str(manifest(place, gpus=4, pods=3))
    assert "evenshare-guaranteed-h100" in str(manifest(place, gpus=4, pods=3, charge="guaranteed"))


def test_the_file_is_named_and_says_what_was_filled_in(place: Place) -> None:
    response = get(place, "/new-job/manifest.yaml", **filled(place, save_seconds=60))
    assert response["Content-Disposition"] == 'attachment; filename="train.yaml"'
    found = yaml.safe_load(response.content)
    assert found["metadata"]["annotations"] == {
        "evenshare.io/class": "training", "evenshare.io/duration": "7200",
        "evenshare.io/save-seconds": "60",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"name": "Train_1"}, "Small letters, digits and hyphens"),
        ({"name": "a" * 50, "kind": "RayJob"}, "at most 47 characters"),
        ({"gpus": 0}, "GPUs of a pod"),
        ({"gpus": "9" * 30}, "GPUs of a pod"),
        ({"restore_seconds": 5}, "say how long it takes"),
        ({"namespace": "9" * 30}, "Namespace"),
        ({"hours": "nan"}, "Hours it takes"),
        ({"reservation": "77"}, "Reservation"),
        ({"image": "a\x00b"}, "Image"),
    ],
)
def test_what_cannot_be_handed_in_is_named(
    place: Place, more: dict[str, object], fault: str
) -> None:
    said = text(get(place, "/new-job/check/", **filled(place, **more)))
    assert "Not yet." in said
    assert fault in said
    assert get(place, "/new-job/manifest.yaml", **filled(place, **more)).status_code == 422


def test_a_reservation_of_another_pool_is_refused(place: Place) -> None:
    other = builders.a_pool("a100", cluster=place.pool.cluster, nodes=1)
    row = builders.a_reservation(
        place.vision, other, place.now, 4, gpus=4, state=ReservationState.ACTIVE
    )
    said = text(get(place, "/new-job/check/", **filled(place, reservation=row.pk)))
    assert "another team or another pool" in said
    fits = filled(place, reservation=row.pk, pool=other.pk)
    assert f"R-{row.pk}" in text(get(place, "/new-job/check/", **fits))


def test_a_pool_of_another_cluster_is_refused(place: Place) -> None:
    far = builders.a_pool("far", cluster=builders.a_cluster("far"), nodes=1)
    inventory.register_namespace(
        cluster_id=far.cluster_id, name="vision-far", team_id=place.vision.pk,
        now=builders.LONG_AGO,
    )  # fmt: skip
    said = text(get(place, "/new-job/check/", **filled(place, pool=far.pk)))
    assert "This pool is in another cluster than the namespace." in said


def test_only_namespaces_of_ones_own_teams_are_offered(place: Place) -> None:
    speech = builders.a_team("speech")
    theirs = inventory.register_namespace(
        cluster_id=place.pool.cluster_id, name="speech-asr", team_id=speech.pk,
        now=builders.LONG_AGO,
    )  # fmt: skip
    assert "speech-asr" not in text(get(place, "/new-job/"))
    said = text(get(place, "/new-job/check/", **filled(place, namespace=theirs.pk)))
    assert "Not yet." in said
    admin = builders.a_user("jihye", role=Role.ADMIN)
    assert "speech-asr" in text(get(place, "/new-job/", admin))


def test_without_a_namespace_the_page_says_what_to_do(place: Place) -> None:
    lonely = builders.a_user("new", role=Role.MEMBER, team=builders.a_team("new-team"))
    assert "There is nowhere to put a job yet" in text(get(place, "/new-job/", lonely))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (ClusterMode.OBSERVE, "only observed"),
        (ClusterMode.QUOTA, "its own scheduler places it"),
        (ClusterMode.ADMISSION, "suspend: true"),
    ],
)
def test_the_mode_of_the_cluster_is_taken_into_account(
    place: Place, mode: ClusterMode, words: str
) -> None:
    Cluster.objects.update(mode=mode)
    said = text(get(place, "/new-job/"))
    assert words in said.replace("The cluster's own", "its own")


def test_the_copy_button_is_hidden_until_a_script_shows_it(place: Place) -> None:
    body = get(place, "/new-job/").content.decode()
    button = re.search(r"<button[^>]*data-copy[^>]*>", body)
    assert button
    assert "hidden" in button[0]
    assert "js/copy" in body


def test_more_rows_ask_no_more_queries(place: Place) -> None:
    client = Client()
    client.force_login(place.member)

    def queries() -> int:
        client.get("/new-job/")
        with CaptureQueriesContext(connection) as seen:
            assert client.get("/new-job/").status_code == 200
        return len(seen)

    builders.a_workload(place.vision, place.pool, "first")
    before = queries()
    for number in range(5):
        builders.a_workload(place.vision, place.pool, f"more-{number}")
        builders.a_node(place.pool, f"more-{number}")
        inventory.register_namespace(
            cluster_id=place.pool.cluster_id, name=f"more-{number}", team_id=place.vision.pk,
            now=builders.LONG_AGO,
        )  # fmt: skip
    assert queries() == before


def test_a_class_whose_quota_is_too_small_is_warned_of(place: Place) -> None:
    tick = Tick.objects.create(
        cluster=place.pool.cluster, at=place.now, state=TickState.DONE, started_real_at=place.now
    )
    Share.objects.create(
        tick=tick, team=place.vision, pool=place.pool, guaranteed=8000, reserved=0,
        fair_share=12_000, allocated=0, borrowed=0, lent=0, available=0, dominant_share=0,
        satisfaction=0, guaranteed_gpus=8, burst_gpus=4,
    )  # fmt: skip
    asked = filled(place, gpus=4, pods=3, charge="guaranteed")
    said = text(get(place, "/new-job/check/", **asked))
    assert "the quota of that class is 8, and they ask for 12" in said
    borrowed = text(get(place, "/new-job/check/", **{**asked, "charge": ""}))
    assert "the quota of that class" not in borrowed


def test_the_isolation_of_the_team_goes_before_that_of_the_pool(place: Place) -> None:
    Cluster.objects.update(mode=ClusterMode.ADMISSION)
    Pool.objects.update(runtime_class="gvisor")
    assert "runtimeClassName: gvisor" in text(
        get(place, "/new-job/check/", **filled(place, kind="Deployment"))
    )
    Team.objects.filter(pk=place.vision.pk).update(runtime_class="kata")
    assert "runtimeClassName: kata" in text(
        get(place, "/new-job/check/", **filled(place, kind="Deployment"))
    )


def test_on_a_picture_too_old_it_says_so_instead_of_promising(place: Place, client: Client) -> None:
    Cluster.objects.update(seen_real_at=clock.real_now() - timedelta(hours=2))
    client.force_login(place.member)
    text = client.get("/new-job/").content.decode()
    assert "By what was last known" in text
    assert "It would start." not in text
    assert "last read 2 h ago" in text
