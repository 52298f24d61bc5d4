"""An organisation made of somebody's own trace: its jobs, its machines, its teams.

The trace says who submits what and how long it runs; teams come from a column of it. Quotas are a
first proposal: two thirds of each pool guaranteed, in proportion to what each team asks for.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils.text import slugify

from portal.inventory.models import Pool
from portal.kubernetes.simulated.building import Plan
from portal.kubernetes.simulated.workshop import Rules
from portal.operations import history
from portal.operations.organisation import PASSWORD
from portal.quotas import services as quotas
from portal.teams import services as teams
from portal.teams.models import Organisation, Role, Team, User
from scheduler_core.traces import READERS, Job, Node, NoNodeList

MOST_TEAMS = 24
OTHERS = "others"
GUARANTEED_PERCENT = 67
# What the column may be called: the trace's own word for a team, the person, or the class.
COLUMNS: dict[str, Callable[[Job], str]] = {
    **dict.fromkeys(("team", "vc", "account", "group", "cluster", "queue"), lambda job: job.team),
    "user": lambda job: job.user,
    "kind": lambda job: job.kind,
}
_GRID = re.compile(r"(\d+)x(\d+)")


@dataclass(frozen=True, slots=True)
class OwnTrace:
    """A trace as read: machines, jobs, and the team of each job as a short name."""

    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    team_of: Callable[[Job], str]

    @property
    def teams(self) -> list[str]:
        """Short names of all teams, busiest first."""
        asked: Counter[str] = Counter()
        for job in self.jobs:
            asked[self.team_of(job)] += job.total_gpu_milli * (job.duration_seconds or 3600)
        return [team for team, _ in asked.most_common()]


def read(*, trace: str, nodes: str, workloads: Path, teams_from: str) -> OwnTrace:
    """Read both files. `nodes` is a file or a grid such as 64x8 (nodes x GPUs).

    Raises `scheduler_core.traces.TraceError` and `OSError`, `KeyError` for an unknown column.
    """
    column = COLUMNS[teams_from]
    with workloads.open("rb") as stream:
        jobs = tuple(READERS[trace].jobs(stream))
    return OwnTrace(nodes=_nodes(trace, nodes), jobs=jobs, team_of=_naming(jobs, column))


def _nodes(trace: str, nodes: str) -> tuple[Node, ...]:
    grid = _GRID.fullmatch(nodes)
    if grid:
        count, gpus = map(int, grid.groups())
        return tuple(
            Node(f"node-{n:04d}", gpus, gpus * 16_000, gpus * 131_072, "GPU") for n in range(count)
        )
    with Path(nodes).open("rb") as stream:
        try:
            return tuple(READERS[trace].nodes(stream))
        except NoNodeList:
            # Traces without machines of their own borrow the plainest list of any format.
            stream.seek(0)
            return tuple(READERS["openb"].nodes(stream))


def _naming(jobs: Sequence[Job], column: Callable[[Job], str]) -> Callable[[Job], str]:
    """Short names for the busiest teams; the rest are one team together."""
    counted = Counter(column(job) for job in jobs)
    names = {
        value: (slugify(value) or OTHERS)[:40] if rank < MOST_TEAMS else OTHERS
        for rank, (value, _) in enumerate(counted.most_common())
    }
    return lambda job: names[column(job)]


@transaction.atomic
def set_up(*, own: OwnTrace, name: str, now: datetime) -> list[tuple[str, str]]:
    """Write the organisation and its cluster; returns logins with what each may do."""
    Organisation.objects.update_or_create(id=1, defaults={"name": name})
    logins = [(_person("admin", Role.ADMIN, None, now), "Admin")]
    logins += [(_person("admin-2", Role.ADMIN, None, now), "Admin, to approve what the first asks")]
    logins += [(_person("finance", Role.FINANCE, None, now), "Finance")]
    for rank, slug in enumerate(own.teams):
        team = teams.create_team(
            slug=slug, name=slug, parent_id=None, now=now, actor_id=None, hue=rank % 8 + 1
        )
        logins.append((_person(f"lead-{slug}", Role.LEAD, team, now), f"Lead of {slug}"))
    plan = Plan(
        nodes=own.nodes, jobs=own.jobs, namespace_of=own.team_of, unowned_share=0.0,
        rules=Rules(seed=1, starts_at=int(now.timestamp()), repeat_seconds=None),
    )  # fmt: skip
    history.set_up_cluster(name="own", plan=plan, now=now, actor_id=None)
    return logins


@transaction.atomic
def promise(*, own: OwnTrace, now: datetime) -> None:
    """Give every team its part of every pool; call it once the nodes were seen."""
    asked: Counter[str] = Counter()
    for job in own.jobs:
        asked[own.team_of(job)] += job.total_gpu_milli * (job.duration_seconds or 3600)
    total = max(asked.total(), 1)
    ids = dict(Team.objects.values_list("slug", "id"))
    for pool in Pool.objects.all():
        capacity = sum(pool.nodes.filter(removed_at=None).values_list("gpus", flat=True))
        for slug, amount in asked.items():
            quotas.change(
                team_id=ids[slug], pool_id=pool.pk, limit=None, valid_from=now, actor_id=None,
                guaranteed=capacity * GUARANTEED_PERCENT * amount // (100 * total), now=now,
            )  # fmt: skip


def _person(username: str, role: Role, team: Team | None, now: datetime) -> str:
    user = User.objects.create(username=username[:150], password=make_password(PASSWORD))
    teams.grant_role(
        user_id=user.pk, role=role, team_id=team.pk if team else None, now=now, actor_id=None
    )
    return user.username
