"""What can befall an installation, each as a function of the house and a seed."""

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

from celery import Celery

from portal.scheduling.models import Tick
from tests.drills.house import CELERY, LEAN, House
from tests.production import wait_until

FULL = Path("/dev/full")
LONG = os.environ.get("DRILLS") == "long"
Trouble = Callable[[House, random.Random], None]


def kills(house: House, draw: random.Random) -> None:
    """Worker, beat and web die by SIGKILL, at random moments, some while they start anew."""
    for _ in range(25 if LONG else 3):
        time.sleep(draw.uniform(0.1, 2.5))
        house.kept[draw.choice(["worker-1", "worker-2", "beat", "web"])].signal(signal.SIGKILL)


def broker_forgets(house: House, draw: random.Random) -> None:
    """Redis is emptied, dies and comes back with nothing."""
    for _ in range(10 if LONG else 1):
        house.stores.broker.flush()
        time.sleep(draw.uniform(0.2, 1.5))
        house.stores.broker.restart()
        time.sleep(draw.uniform(0.2, 1.5))


def broker_is_away(house: House, _draw: random.Random) -> None:
    """No Redis for five minutes, or for as many periods of the tick as a short drill has seconds."""
    house.stores.broker.kill()
    try:
        time.sleep(300 if LONG else 4)
        assert house.page("/healthz") == 200
        assert house.page("/readyz") == 503
    finally:
        house.stores.broker.start()


def database_dies(house: House, draw: random.Random) -> None:
    """PostgreSQL dies in the middle of whatever it does, and comes back."""
    for _ in range(10 if LONG else 1):
        house.stores.postgres.restart()
        time.sleep(draw.uniform(0.5, 3))


def connections_run_out(house: House, _draw: random.Random) -> None:
    """Somebody else takes every connection there is."""
    for kept in house.kept.values():
        kept.signal(signal.SIGKILL)
    held = house.stores.postgres.hold_all()
    try:
        assert len(held) > 5
        time.sleep(60 if LONG else 3)
        assert house.page("/readyz") != 200
    finally:
        for connection in held:
            connection.close()


def transactions_collide(house: House, _draw: random.Random) -> None:
    """The database refuses whatever could not have happened one after the other."""
    name = house.production.environment["DATABASE_URL"].rpartition("/")[2]
    postgres = house.stores.postgres
    level = f'ALTER DATABASE "{name}" SET default_transaction_isolation'
    everybody = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )
    postgres.execute(f"{level} = 'serializable'")
    postgres.execute(everybody)
    time.sleep(90 if LONG else 4)
    postgres.execute(f"{level} = 'read committed'")
    postgres.execute(everybody)


def two_beats(house: House, _draw: random.Random) -> None:
    """Everything is asked for twice."""
    house.keep("beat-2", [*CELERY, "beat", "--max-interval", "1"])
    house.recovers(ticks=30 if LONG else 3)
    house.drop("beat-2")


def a_holder_wakes(house: House, draw: random.Random) -> None:
    """A worker stands still in the middle of something until another took over; then it goes on."""
    for _ in range(20 if LONG else 1):
        time.sleep(draw.uniform(0.05, 1.2))
        worker = house.kept[draw.choice(["worker-1", "worker-2"])]
        worker.signal(signal.SIGSTOP)
        before = house.ticks()
        wait_until(lambda before=before: house.ticks() >= before + 2, "the other to take over")  # type: ignore[misc]
        worker.signal(signal.SIGCONT)


def poison(house: House, _draw: random.Random) -> None:
    """Messages nobody can read, of no task, of wrong words, and one that kills whoever takes it."""
    queue = Celery(broker=house.production.broker, set_as_current=False)
    for name in ("clusters", "chores"):
        house.production.redis.lpush(name, b"this is no message", b'{"body": "x"}')
        queue.send_task("no.such.task", queue=name)
        queue.send_task("scheduling.tick_cluster", kwargs={"surprise": 1}, queue=name)
        queue.send_task("scheduling.tick_cluster", kwargs={"cluster_id": 999_999}, queue=name)
    killer = [*CELERY[:-1], "tests.drills.poisoned", "worker", *LEAN, "--hostname", "three@%h"]
    house.keep("worker-3", killer)
    queue.send_task("drill.poison", queue="chores", expires=4)
    time.sleep(20 if LONG else 5)
    house.drop("worker-3")


def clock_jumps(house: House, draw: random.Random) -> None:
    """One worker's clock runs an hour ahead, then an hour behind, and is put right again."""
    for hours in (1, -1) * (5 if LONG else 1):
        house.drop("worker-2")
        ahead = [*CELERY[:-1], "tests.drills.shifted", "worker", *LEAN, "--hostname", "two@%h"]
        house.keep("worker-2", ahead, DRILL_SHIFT=str(hours * 3600))
        time.sleep(draw.uniform(4, 5))
        house.kept["worker-2"].signal(signal.SIGKILL)
    house.drop("worker-2")
    house.keep("worker-2", [*CELERY, "worker", *LEAN, "--hostname", "two@%h"])


def disk_is_full(house: House, _draw: random.Random) -> None:
    """No line can be logged, and beat can keep no file."""
    for name in ("worker-1", "worker-2", "beat", "web"):
        house.change(name, log=FULL, limits=_no_file_grows if name == "beat" else None)
    house.recovers(ticks=20 if LONG else 2)
    for name in ("worker-1", "worker-2", "beat", "web"):
        house.change(name, log=house.production.folder / f"{name}.log", limits=None)


def _no_file_grows() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def what_went_on(house: House) -> str:
    """For a failure to be read: how often each was started, and the last ticks."""
    starts = {name: kept.starts for name, kept in house.kept.items()}
    ticks = list(Tick.objects.order_by("-id").values_list("state", "message")[:5])
    return f"{starts} {ticks}"


ALL: tuple[Trouble, ...] = (
    kills, broker_forgets, broker_is_away, database_dies, connections_run_out,
    transactions_collide, two_beats, a_holder_wakes, poison, clock_jumps, disk_is_full,
)  # fmt: skip
