"""What people of the demo organisation ask of each other over its three weeks.

A story is data: who does what when, in hours from the end of the history (negative: before it).
`Teller` plays it through the requests room as the clock reaches each line.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from portal.common.errors import Refusal
from portal.inventory.models import Pool
from portal.requests import services as requests
from portal.requests.services import Asked
from portal.teams.models import Team, User

log = logging.getLogger(__name__)
ZONE = "Asia/Seoul"


@dataclass(frozen=True, slots=True)
class Ask:
    """A lead asks for GPUs of the n-th pool on a day, from hour to hour, local time.

    `decided` names the admin ("" leaves it waiting); `granted` fewer than asked is a part;
    `refused` is the reason of a no. A draft is never submitted.
    """

    day: int
    who: str
    pool: int
    gpus: int
    on: int
    hours: tuple[int, int]
    reason: str
    decided: str = ""
    granted: int | None = None
    refused: str = ""
    per_node: int | None = None
    draft: bool = False
    source: str = "pool"
    says: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AskQuota:
    """A lead asks for another guarantee and limit in the n-th pool, from a day on."""

    day: int
    who: str
    pool: int
    more: int
    from_day: int
    reason: str
    decided: str = ""
    refused: str = ""


# Days count from the end of the history: day 0 is today, -1 yesterday.
STORY: tuple[Ask | AskQuota, ...] = (
    Ask(-20, "minji", -1, 8, -19, (9, 18), "Ablation runs for the spring release", "jihye"),
    Ask(-18, "jiwoo", 0, 4, -17, (8, 20), "Streaming recogniser, full evaluation", "seungmin"),
    Ask(-17, "sujin", -1, 8, -16, (20, 32), "Re-index with the new encoder", "jihye"),
    AskQuota(-16, "jiwoo", 0, 2, -14, "Two more people joined in October", "jihye"),
    Ask(-13, "dohyun", -1, 16, -12, (9, 21), "Sim-to-real sweep", "jihye", granted=8,
        says=(("jihye", "Half of it now; the other half is lent to Vision until Friday."),)),
    Ask(-11, "hyejin", 1, 4, -10, (10, 16), "Driver update rehearsal", "seungmin"),
    Ask(-9, "minji", 0, 8, -8, (9, 17), "Data cleaning with the old detector", "",
        refused="This is small preprocessing; the smaller pool has room all day."),
    Ask(-6, "sujin", -1, 8, -5, (9, 17), "Ranking model, weekly training", "jihye", per_node=8),
    Ask(-4, "jiwoo", 1, 4, -3, (0, 24), "Long-form speech, one full day", "seungmin"),
    AskQuota(-3, "dohyun", -1, 40, 7, "We would like half of the large pool", "",
             refused="The pool has no such room; ask for a reservation for the week you need."),
    Ask(-2, "minji", -1, 8, 0, (0, 47), "Final training run before the deadline", "jihye",
        says=(("minji", "It has to finish by tomorrow night."), ("jihye", "Approved, good luck."))),
    Ask(-1, "sujin", 0, 4, 1, (9, 18), "Query understanding, nightly evaluation", "seungmin"),
    Ask(-1, "dohyun", -1, 8, 3, (9, 21), "Grasping, second sweep", "jihye", per_node=8),
    Ask(0, "jiwoo", -1, 8, 2, (13, 19), "Multilingual run; nothing else fits it", "",
        says=(("haneul", "The data is ready, we only wait for the slot."),)),
    AskQuota(0, "hyejin", 1, 2, 7, "Two build machines move to GPUs", ""),
    Ask(0, "minji", 0, 4, 4, (9, 18), "Annotation tool, first draft of the plan", draft=True),
)  # fmt: skip


@dataclass(slots=True)
class Teller:
    """Plays the lines of the story whose time has come, each once."""

    ends_at: datetime
    pools: list[Pool]
    people: Mapping[str, User]
    told: set[int] = field(default_factory=set)

    def tell(self, now: datetime) -> None:
        """Play every line that is due and not yet told."""
        for number, line in enumerate(STORY):
            if number in self.told or min(self._day(line.day, 10), self.ends_at) > now:
                continue
            self.told.add(number)
            try:
                self._ask(line, now)
            except Refusal as refusal:
                log.warning("the story's line %d was refused: %s", number, refusal.message)

    def _day(self, day: int, hour: int) -> datetime:
        """An hour of a day counted from the end, in local time; hours past 24 run on."""
        local = self.ends_at.astimezone(ZoneInfo(ZONE))
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + timedelta(days=day, hours=hour)

    def _ask(self, line: Ask | AskQuota, now: datetime) -> None:
        asker = self.people[line.who]
        asked = self._slot(line, now) if isinstance(line, Ask) else self._quota(line, now)
        row = requests.save_draft(asked=asked, actor_id=asker.pk, now=now)
        if isinstance(line, Ask) and line.draft:
            return
        requests.submit(request_id=row.pk, actor_id=asker.pk, now=now)
        for who, text in line.says if isinstance(line, Ask) else ():
            requests.comment(request_id=row.pk, actor_id=self.people[who].pk, text=text, now=now)
        if line.decided:
            requests.approve(
                request_id=row.pk, actor_id=self.people[line.decided].pk, now=now,
                granted_gpus=line.granted if isinstance(line, Ask) else None,
            )  # fmt: skip
        elif line.refused:
            requests.reject(
                request_id=row.pk, actor_id=self.people["jihye"].pk, note=line.refused, now=now
            )

    def _slot(self, line: Ask, now: datetime) -> Asked:
        starts_at = max(self._day(line.on, line.hours[0]), now + timedelta(minutes=15))
        return Asked(
            kind="reservation", team_id=self._team_of(line.who), pool_id=self.pools[line.pool].pk,
            gpus=line.gpus, gpus_per_node=line.per_node, source=line.source, zone=ZONE,
            starts_at=starts_at, ends_at=self._day(line.on, line.hours[1]), reason=line.reason,
        )  # fmt: skip

    def _quota(self, line: AskQuota, now: datetime) -> Asked:
        pool = self.pools[line.pool]
        team_id = self._team_of(line.who)
        held = pool.quotas.get(team_id=team_id, valid_to=None)
        return Asked(
            kind="quota", team_id=team_id, pool_id=pool.pk, guaranteed=held.guaranteed + line.more,
            limit=None if held.limit is None else held.limit + line.more, reason=line.reason,
            starts_at=max(self._day(line.from_day, 0), now + timedelta(hours=1)), zone=ZONE,
        )  # fmt: skip

    def _team_of(self, username: str) -> int:
        return Team.objects.get(roleassignment__user=self.people[username]).pk
