"""Pages in Korean have no English left on them but names, and reasons keep their numbers."""

import re
from collections import Counter
from datetime import UTC, datetime
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import translation

from portal.common import clock
from portal.requests.models import Request
from portal.scheduling import sentences
from portal.scheduling.models import Decision, Verb
from portal.scheduling.sentences import Names
from portal.teams.models import Organisation
from tests.portal.scheduling.test_sentences import EXAMPLES
from tests.world import World, a_holder, a_world

SPOKEN = ("title", "aria-label", "placeholder", "alt", "data-label")
HIDDEN = ("script", "style")
NAMES = re.compile(
    r"(vision|search)-secret-job|(vision|search) secret (reason|purpose)|(vision|search)-person"
    r"|asker-(vision|search)|h100-?\d*(gb)?|h100-80gb|\d × \dg\.\d+gb(, \d × \dg\.\d+gb)*|\blab\b|\bcalendar\b|\bvision/|Asia/Seoul|R-\d+|branch-admin|\b(admin|lead|member|finance|auditor)\b",
    re.IGNORECASE,
)
"""What the rows of this world are called."""
LATIN = frozenset({
    "Evenshare", "English", "GPU", "KST", "UTC", "CSV", "CPU", "GiB", "Vision", "Search", "Hanbit", "KRW",
    "Job", "R", "SLA", "API", "MIG", "gold", "FOCUS", "PDF", "XLSX", "iCal",
})  # fmt: skip
"""Names, units and zones, written alike in both languages."""
PAGES: dict[str, tuple[str, ...]] = {
    "member": ("dashboards:home", "dashboards:queue", "dashboards:capacity", "dashboards:workload",
               "requests:list", "requests:detail", "requests:reserve"),
    "lead": ("dashboards:home", "requests:list", "requests:detail", "requests:reserve",
             "requests:quotas", "requests:slas", "requests:rules", "requests:maintenance",
             "requests:extension", "requests:give-back", "requests:sla", "requests:feeds",
             "requests:quota", "finance:costs", "finance:statement",),
    "admin": ("dashboards:home", "dashboards:queue", "dashboards:capacity", "requests:list",
              "requests:detail", "requests:reserve", "account_logout"),
    "finance": ("dashboards:home", "finance:costs", "finance:rates", "finance:set-rates",
                "finance:statement"),
    "auditor": ("dashboards:home", "dashboards:queue", "finance:costs"),
}  # fmt: skip
"""By role, the pages each kind of reader begins from."""


class Reader(HTMLParser):
    """What is read or read out of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Words in attributes."""
        self.inside = tag
        self.said += [value for name, value in attrs if name in SPOKEN and value]

    def handle_data(self, data: str) -> None:
        """Words in between."""
        if self.inside not in HIDDEN and data.strip():
            self.said.append(data.strip())


def english(body: str) -> set[str]:
    """Pieces of a page that hold words of neither Korean nor a name."""
    reader = Reader()
    reader.feed(body)
    return {
        piece for piece in reader.said
        if set(re.findall(r"[A-Za-z]{2,}", NAMES.sub("", piece))) - LATIN
    }  # fmt: skip


@pytest.fixture
def world(db: None, now: datetime) -> World:
    """Two teams with one of each thing, on a Monday morning; our job waits for a reason."""
    clock.set_anchor(real_at=clock.real_now(), organisation_at=now, speed=1)
    Organisation.objects.create(id=1, name="Hanbit", zone="Asia/Seoul")
    world = a_world(now)
    Decision.objects.filter(workload=world.ours.workload).update(
        verb=Verb.WAIT, reason="pool_full",
        detail={"pool": f"p{world.pool.pk}", "free_gpu_milli": 1000, "needs_gpu_milli": 2000},
    )  # fmt: skip
    Request.objects.update(submitted_by=F("requested_by"))
    return world


def address(name: str, world: World) -> str:
    """Where a page of ours is."""
    thing = {"dashboards:workload": "workload_id", "requests:detail": "request_id",
             "finance:statement": "statement_id", "requests:feeds": "team_id"}.get(name)  # fmt: skip
    return reverse(name, kwargs={thing: world.ids(world.ours)[thing]} if thing else {})


@pytest.mark.parametrize("who", PAGES)
def test_pages_in_korean_have_no_english_sentence(world: World, client: Client, who: str) -> None:
    client.force_login(a_holder(who, world.ours.team))
    for name in PAGES[who]:
        answer = client.get(address(name, world), headers={"accept-language": "ko"})
        body = answer.content.decode()
        assert answer.status_code == 200, name
        assert '<html lang="ko"' in body, name
        assert re.search("[가-힣]", body), name
        assert english(body) == set(), name


def test_doors_before_and_beside_sign_in_are_korean_too(client: Client, db: None) -> None:
    for path, status in (("/account/login/", 200), ("/nowhere/", 404)):
        answer = client.get(path, headers={"accept-language": "ko"}, follow=True)
        assert answer.status_code in {status, 200}
        assert english(answer.content.decode()) == set()


def test_the_language_a_person_chose_goes_before_the_browsers(world: World, client: Client) -> None:
    person = a_holder("member", world.ours.team)
    person.language = "ko"
    person.save()
    client.force_login(person)
    answer = client.get("/queue/", headers={"accept-language": "en"})
    assert "대기열" in answer.content.decode()


@pytest.mark.parametrize(("word", "detail", "text"), EXAMPLES)
def test_a_reason_in_korean_keeps_its_numbers_and_its_strong_part(
    word: str, detail: dict[str, object], text: str
) -> None:
    names = Names(
        teams={3: "Vision", 4: "Speech"}, pools={1: "h100"}, workloads={7: "asr-pretrain"}
    )
    with translation.override("ko"):
        found = sentences.reason_sentence(
            word, {"pool": "p1", **detail}, names=names, zone=ZoneInfo("Asia/Seoul"),
            now=datetime(2026, 11, 2, tzinfo=UTC),
        )  # fmt: skip
    assert re.search("[가-힣]", found.text)
    assert numbers(text) <= numbers(found.text)
    assert found.strong
    assert found.strong in found.text
    assert found.text.endswith((".", "니다"))


def numbers(text: str) -> Counter[str]:
    """The figures in a sentence."""
    return Counter(re.findall(r"\d+(?:\.\d+)?", text))
