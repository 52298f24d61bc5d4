"""The list of requests: whose it shows, how it narrows, and what it asks of the database."""

import re
from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from portal.requests import services
from portal.requests.models import RequestState
from tests.portal.requests.world import (
    World,
    a_draft,
    a_submitted,
    a_submitted_quota,
    asked,
    signed_in,
    text_of,
)

S = RequestState
pytestmark = pytest.mark.usefixtures("at_now")


def test_the_inbox_shows_each_person_what_is_theirs(
    client: Client, world: World, now: datetime
) -> None:
    a_draft(world, now)
    a_submitted(world, now)
    services.save_draft(
        asked=asked(world, now, team_id=world.speech.pk), actor_id=world.other_lead.pk, now=now
    )
    counts = {
        ("lead", "waiting"): 0,
        ("lead", "teams"): 2,
        ("lead", "all"): 2,
        ("member", "all"): 1,  # no draft of others
        ("admin", "waiting"): 1,
        ("admin", "all"): 3,
        ("other_lead", "all"): 1,
        ("finance", "all"): 1,
    }
    for (person, tab), count in counts.items():
        signed_in(client, getattr(world, person))
        page = client.get(reverse("requests:list"), {"tab": tab})
        found = re.findall(r'href="/requests/\d+/"', page.content.decode())
        assert len(found) == count, (person, tab)


def test_the_inbox_filters_sorts_and_exports(client: Client, world: World, now: datetime) -> None:
    a_submitted(world, now, gpus=2)
    a_submitted(world, now, gpus=3)
    a_submitted_quota(world, now)
    signed_in(client, world.admin)
    address = reverse("requests:list")
    only = client.get(address, {"tab": "all", "kind": "quota"})
    assert len(re.findall(r'href="/requests/\d+/"', only.content.decode())) == 1
    for order, first in (("gpus", "2"), ("-gpus", "3")):
        page = client.get(address, {"tab": "all", "kind": "reservation", "sort": order})
        assert re.search(r"(\d) GPUs of h100", text_of(page))[1] == first  # type: ignore[index]
    export = client.get(address, {"tab": "all", "format": "csv"})
    lines = b"".join(export.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 4


def test_the_inbox_opens_where_there_is_something_to_see(
    client: Client, world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    link = reverse("requests:detail", args=[row.pk]).encode()
    for person, tabs in (
        ("admin", [b"?tab=waiting", b"?tab=all"]),
        ("lead", [b"?tab=teams", b"?tab=all"]),
        ("finance", []),
    ):
        signed_in(client, getattr(world, person))
        body = client.get(reverse("requests:list")).content
        assert link in body, person
        shown = [tab for tab in (b"?tab=waiting", b"?tab=teams", b"?tab=all") if tab in body]
        assert shown == tabs, person


def test_the_inbox_asks_the_database_no_more_for_ten_times_the_rows(
    client: Client, world: World, now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:  # fmt: skip
    signed_in(client, world.admin)
    address = f"{reverse('requests:list')}?tab=all"
    for _ in range(4):
        a_submitted(world, now)
    with django_assert_max_num_queries(18) as few:
        client.get(address)
    for _ in range(36):
        a_submitted(world, now)
    with django_assert_max_num_queries(len(few.captured_queries)):
        client.get(address)
