"""Everybody at once for an hour, in an order the seed decides: the house stays in order.

People ask, agree, refuse, cancel, book, give back and change quotas, machines come and go, and
workers read, decide and write, all on one cluster. Nobody may overcommit, nothing may be lost.
"""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from django.test import override_settings

from portal.common import leases
from portal.common.errors import Refusal
from portal.common.models import Lease
from portal.inventory import services as inventory
from portal.inventory.models import Node
from portal.kubernetes import services as kubernetes
from portal.quotas import services as quotas
from portal.requests import services as requests
from portal.requests.models import Request
from portal.requests.services import Asked
from portal.reservations import services as reservations
from portal.reservations.models import Reservation
from portal.scheduling import services as scheduling
from portal.scheduling.models import Decision
from portal.teams.models import Role, Team
from portal.usage.models import LedgerEntry
from tests import builders
from tests.portal.kubernetes.world import START, a_registered, a_spec, pool_of
from tests.races.crowd import Crowd
from tests.races.sound import assert_sound

HOURS = int(os.environ.get("RACES", "4"))
PEOPLE, ACTS = 6, 8
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Hour:
    """One cluster, two teams, and what anybody may do with them."""

    def __init__(self, folder: Path) -> None:
        self.cluster, self.port = a_registered(folder)
        kubernetes.collect(cluster_id=self.cluster.pk, now=START)
        self.pool = pool_of(self.cluster, "a100")
        self.teams = list(Team.objects.order_by("id"))
        self.leads = [
            builders.a_user(f"lead-{team.slug}", role=Role.LEAD, team=team) for team in self.teams
        ]
        self.admin = builders.a_user("admin", role=Role.ADMIN)
        for number in range(6):
            self.port.submit(a_spec(f"job-{number}", gpus=4, work=1500 + 300 * number))

    def deeds(self, draw: Random) -> list[Callable[[], object]]:
        """What one person does in this hour, minute by minute."""
        kinds = [self.ask, self.decide, self.book, self.end, self.promise, self.machine, self.work]
        chosen = [draw.choice(kinds) for _ in range(ACTS)]
        return [partial(act, draw, START + 7 * n * MINUTE) for n, act in enumerate(chosen, 1)]

    def ask(self, draw: Random, now: datetime) -> None:
        which = draw.randrange(2)
        asked = Asked(
            kind="reservation", team_id=self.teams[which].pk, pool_id=self.pool.pk, reason="Runs",
            gpus=draw.randint(1, 9), starts_at=now + 2 * HOUR, ends_at=now + 4 * HOUR, zone="UTC",
        )  # fmt: skip
        requests.ask(asked=asked, actor_id=self.leads[which].pk, now=now, submitting=True)

    def decide(self, draw: Random, now: datetime) -> None:
        for row in Request.objects.order_by("-id")[:3]:
            match draw.randrange(4):
                case 0:
                    requests.reject(request_id=row.pk, note="No", actor_id=self.admin.pk, now=now)
                case 1:
                    lead = self.leads[row.team_id == self.teams[1].pk]
                    requests.cancel(request_id=row.pk, actor_id=lead.pk, now=now)
                case _:
                    requests.approve(request_id=row.pk, actor_id=self.admin.pk, now=now)

    def book(self, draw: Random, now: datetime) -> None:
        begins = now + draw.choice([0, 5, 60]) * MINUTE
        reservations.hold(
            team_id=draw.choice(self.teams).pk, pool_id=self.pool.pk, gpus=draw.randint(1, 6),
            starts_at=begins, ends_at=begins + draw.choice([10, 90]) * MINUTE, zone="UTC",
            actor_id=None, now=now,
        )  # fmt: skip

    def end(self, draw: Random, now: datetime) -> None:
        row = Reservation.objects.order_by("-id").first()
        if row is not None:
            act = draw.choice([reservations.cancel, reservations.give_back])
            act(reservation_id=row.pk, actor_id=None, now=now)

    def promise(self, draw: Random, now: datetime) -> None:
        quotas.change(
            team_id=draw.choice(self.teams).pk, pool_id=self.pool.pk, guaranteed=draw.randint(0, 9),
            limit=None, valid_from=now, actor_id=self.admin.pk, now=now,
        )  # fmt: skip

    def machine(self, draw: Random, now: datetime) -> None:
        node = Node.objects.filter(pool=self.pool, removed_at=None).order_by("-id").first()
        if node is None:
            return
        if draw.random() < 0.5:
            inventory.node_down(node_id=node.pk, now=now)
        else:
            inventory.node_up(node_id=node.pk, now=now)

    def work(self, draw: Random, now: datetime) -> None:
        """A worker's turn, each part under its lease as in production."""
        turn: dict[str, Callable[..., object]] = {
            "collect": kubernetes.collect, "tick": scheduling.run_tick,
            "sync": kubernetes.sync_cluster,
        }  # fmt: skip
        for name, act in turn.items():
            with leases.holding(name=name, seconds=60) as lease:
                if lease is not None:
                    act(cluster_id=self.cluster.pk, now=now, lease=lease)


def _living(deeds: list[Callable[[], object]]) -> Callable[[], object]:
    def live() -> None:
        for deed in deeds:
            try:
                deed()
            except Refusal:
                continue

    return live


@pytest.mark.parametrize("seed", range(HOURS))
def test_a_busy_hour_leaves_everything_in_order(
    committed_database: str, tmp_path: Path, seed: int
) -> None:
    with override_settings(VAR_DIR=tmp_path):
        hour, draw = Hour(tmp_path), Random(seed)
        people = [hour.deeds(Random(draw.random())) for _ in range(PEOPLE)]
        Crowd(seed).at_once(*map(_living, people))
        end = START + 2 * HOUR
        for _ in range(2):
            for name in ("collect", "tick", "sync"):
                Lease.objects.filter(name=name).update(holder="", expires_at=None)
            hour.work(draw, end)
        assert_sound(end)
        # Every use stands in the ledger once, and what is said twice is written once.
        uses = LedgerEntry.objects.values_list("pod_uid", "from_at", "revision")
        assert len(set(uses)) == len(uses)
        said = Decision.objects.count()
        scheduling.run_tick(cluster_id=hour.cluster.pk, now=end)
        assert Decision.objects.count() == said
