"""Many at once: what was checked must still be true when it is written."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection, connections

from portal.common.errors import Refusal
from portal.common.models import AuditEvent
from portal.inventory.models import Commitment
from portal.quotas import services as quotas
from portal.reservations import services
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
MANY = 6


class Crowd:
    """Threads with a connection each, over one database all of them can reach."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if connection.vendor != "sqlite":
            return
        connection.ensure_connection()
        file = sqlite3.connect(folder / "shared.sqlite3")
        connection.connection.backup(file)
        file.close()
        monkeypatch.setitem(connections.settings["default"], "NAME", folder / "shared.sqlite3")

    def each(self, act: Callable[[int], object]) -> Counter[str]:
        """Do it MANY times at once; count how each ended."""
        ended: list[str] = []
        start = threading.Barrier(MANY)

        def run(number: int) -> None:
            start.wait()
            try:
                act(number)
                ended.append("done")
            except Refusal as refusal:
                ended.append(refusal.code)
            finally:
                connection.close()

        threads = [threading.Thread(target=run, args=(number,)) for number in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return Counter(ended)

    def alone(self, act: Callable[[], None]) -> None:
        """Look at what they left, through a fresh connection."""
        faults: list[BaseException] = []

        def run() -> None:
            try:
                act()
            except BaseException as fault:  # noqa: BLE001  # raised again below
                faults.append(fault)
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if faults:
            raise faults[0]


def test_bookings_at_once_never_overcommit_kubestellar_6957(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    pool, team = a_pool(nodes=2), a_team()
    crowd = Crowd(tmp_path, monkeypatch)
    ended = crowd.each(
        lambda _: services.hold(
            team_id=team.pk, pool_id=pool.pk, gpus=5, starts_at=now + HOUR,
            ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        )
    )  # fmt: skip
    assert ended == {"done": 3, "overcommitted": 3}

    def kept() -> None:
        assert sum(Commitment.objects.values_list("gpus", flat=True)) == 15
        assert AuditEvent.objects.count() == 3

    crowd.alone(kept)


def test_quota_edits_and_bookings_at_once_never_overcommit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    pool = a_pool(nodes=2)
    teams = [a_team(f"team-{number}") for number in range(MANY)]
    crowd = Crowd(tmp_path, monkeypatch)

    def act(number: int) -> None:
        if number % 2:
            quotas.change(
                team_id=teams[number].pk, pool_id=pool.pk, guaranteed=6, limit=None,
                valid_from=now, actor_id=None, now=now,
            )  # fmt: skip
            return
        services.hold(
            team_id=teams[number].pk, pool_id=pool.pk, gpus=6, starts_at=now + HOUR,
            ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        )  # fmt: skip

    assert crowd.each(act) == {"done": 2, "overcommitted": 4}

    def kept() -> None:
        assert sum(Commitment.objects.values_list("gpus", flat=True)) == 12

    crowd.alone(kept)


def test_called_off_and_opened_at_once_it_is_one_or_the_other_blazar_1791741(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    pool, team = a_pool(nodes=2), a_team()
    row = services.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=5, starts_at=now + HOUR, ends_at=now + 2 * HOUR,
        zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip
    crowd = Crowd(tmp_path, monkeypatch)

    def act(number: int) -> None:
        if number % 2:
            services.cancel(reservation_id=row.pk, actor_id=None, now=now + HOUR / 2)
        else:
            services.open_and_close_due(now=now + HOUR)

    ended = crowd.each(act)

    def kept() -> None:
        row.refresh_from_db()
        words = list(AuditEvent.objects.values_list("action", flat=True))
        if row.state == "cancelled":
            assert words == ["reservations.held", "reservations.cancelled"]
            assert not Commitment.objects.exists()
            assert ended == {"done": 6}
        else:
            assert row.state == "active"
            assert words == ["reservations.held", "reservations.opened"]
            assert Commitment.objects.get().gpus == 5
            assert ended == {"done": 3, "has_begun": 3}

    crowd.alone(kept)
