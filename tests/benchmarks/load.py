"""A working day's rush on one machine: people read and write while every tick goes on.

`python tests/with_services.py python -m tests.benchmarks.load [--seconds 300] [--readers 200]
[--writers 20] [--workers 2] [--days 4] [--migrate]`

The demo organisation with some days of history on PostgreSQL, gunicorn, two workers and beat as in
production, all on loopback. A reader opens a page every ten seconds, a writer asks for GPUs every
minute (a draft and its submission through the API). Goals: every answer is the one asked for, 95 of 100 answers
within 300 ms, and never two periods without a tick. With --migrate a large table gets a column and
an index in the middle of it, as a migration would.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
FOLDER = tempfile.TemporaryDirectory(prefix="evenshare-load-")
os.environ["EVENSHARE_VAR"] = FOLDER.name
# The key that the servers run with, so that sessions made here hold there.
os.environ.update(EVENSHARE_SECRET_KEY="s" * 60, EVENSHARE_EMBEDDED="yes")
TICK_SECONDS = 15
GOAL_MS, GOAL_AGE = 300, 2 * TICK_SECONDS
PAGES = (
    "/", "/queue/", "/capacity/", "/reserve/", "/requests/", "/quotas/", "/slas/", "/fairness/",
    "/inbox/",
)  # fmt: skip
EVERY_READER, EVERY_WRITER = 10.0, 60.0


class Seen:
    """What came back, and how fast."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = defaultdict(list)
        self.codes: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.oldest = 0.0

    def note(self, what: str, code: int, seconds: float) -> None:
        """One answer."""
        self.ms[what].append(seconds * 1000)
        self.codes[code] += 1
        if not 200 <= code < 300:
            self.faults[f"{what} {code}"] += 1


class Person:
    """One connection that is kept, as a browser's."""

    def __init__(self, port: int, seen: Seen, headers: dict[str, str]) -> None:
        self.port, self.seen, self.headers = port, seen, headers
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> dict[str, Any]:
        """Send one request; gives the answer's JSON, if it is any."""
        data = b"" if body is None else json.dumps(body).encode()
        lines = {**self.headers, **headers, "Content-Length": str(len(data))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        begun = time.monotonic()
        try:
            code, text = await asyncio.wait_for(
                self._send(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data), 30
            )
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError):
            code, text, self.streams = 0, b"", None
        name = path if method == "GET" else f"{method} {'/'.join(path.split('/')[:4])}"
        self.seen.note(name, code, time.monotonic() - begun)
        return json.loads(text) if method == "POST" and 200 <= code < 300 else {}

    async def _send(self, request: bytes) -> tuple[int, bytes]:
        for again in (False, True):
            fresh = self.streams is None
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
            reader, writer = self.streams
            try:
                writer.write(request)
                await writer.drain()
                return await self._read(reader)
            except (OSError, EOFError, asyncio.IncompleteReadError):
                # The server closed a connection that was idle for long, as it may.
                self.streams = None
                if fresh or again:
                    raise
        raise EOFError

    async def _read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(
            line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line
        )
        if fields.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(await reader.readline(), 16):
                parts.append(await reader.readexactly(size))
                await reader.readline()
            await reader.readline()
            text = b"".join(parts)
        else:
            text = await reader.readexactly(int(fields.get("content-length", 0)))
        if fields.get("connection") == "close":
            self.streams = None
        return int(head.split(" ", 2)[1]), text


async def _reader(person: Person, until: float, draw: random.Random) -> None:
    await asyncio.sleep(draw.uniform(0, EVERY_READER))
    while time.monotonic() < until:
        due = time.monotonic() + EVERY_READER
        await person.ask("GET", draw.choice(PAGES))
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _writer(person: Person, body: dict[str, Any], until: float, draw: random.Random) -> None:
    await asyncio.sleep(draw.uniform(0, min(EVERY_WRITER, until - time.monotonic())))
    while time.monotonic() < until:
        due = time.monotonic() + EVERY_WRITER
        key = {"Idempotency-Key": f"{draw.getrandbits(64):x}", "Content-Type": "application/json"}
        made = await person.ask("POST", "/api/v1/requests", body, **key)
        if made:
            key["Idempotency-Key"] += "s"
            await person.ask("POST", f"/api/v1/requests/{made['id']}/submit", {}, **key)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def _oldest_tick() -> float:
    """Seconds since the newest tick began."""
    from portal.common import clock
    from portal.scheduling.models import Tick

    newest = Tick.objects.order_by("-id").values_list("started_real_at", flat=True)[0]
    return (clock.real_now() - newest).total_seconds()


async def _watch_ticks(seen: Seen, until: float) -> None:
    while time.monotonic() < until:
        seen.oldest = max(seen.oldest, await asyncio.to_thread(_oldest_tick))
        await asyncio.sleep(1)


def _make(
    readers: int, writers: int, days: int
) -> tuple[list[str], list[tuple[str, dict[str, Any]]]]:
    """The organisation; gives the readers' sessions, and token and body of each writer."""
    from django.core.management import call_command
    from django.test import Client

    from portal.common import clock
    from portal.inventory.models import Pool
    from portal.operations import history
    from portal.teams import services as teams
    from portal.teams.models import Role, Team
    from tests import builders

    call_command("migrate", verbosity=0)
    history.LENGTH = timedelta(days=days)
    history.STEPS = ((history.LENGTH, timedelta(hours=1)),)
    history.build(until=clock.real_now().replace(minute=0, second=0, microsecond=0), say=print)
    slugs = ("vision", "speech", "search", "robotics", "platform")
    places = [Team.objects.get(slug=slug) for slug in slugs]
    pool = Pool.objects.order_by("id")[0]
    sessions, tokens = [], []
    for number in range(readers):
        role = Role.LEAD if number % 8 == 0 else Role.MEMBER
        client = Client()
        client.force_login(builders.a_user(f"reader-{number}", role, places[number % 5]))
        sessions.append(client.cookies["sessionid"].value)
    starts = clock.now().replace(second=0, microsecond=0) + timedelta(days=2)
    for number in range(writers):
        team = places[number % 5]
        user = builders.a_user(f"writer-{number}", Role.LEAD, team)
        token = teams.create_token(user_id=user.pk, name="load", scopes=SCOPES, days=1)
        tokens.append((token, {
            "kind": "reservation", "team": team.pk, "pool": pool.pk, "gpus": 1,
            "starts_at": (starts + timedelta(hours=number)).isoformat(), "zone": "Asia/Seoul",
            "ends_at": (starts + timedelta(hours=number + 2)).isoformat(), "reason": "A run",
        }))  # fmt: skip
    return sessions, tokens


SCOPES = ("requests:read", "requests:write")


@contextmanager
def _running(port: int, workers: int) -> Iterator[Path]:
    """Web, two workers and beat, as in production."""
    from tests.production import Production

    folder = Path(FOLDER.name)
    production = Production(
        database=os.environ["DATABASE_URL"], broker=os.environ["TEST_BROKER"], folder=folder,
        EVENSHARE_BEHIND_PROXY="yes", EVENSHARE_TICK_SECONDS=str(TICK_SECONDS),
    )  # fmt: skip
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"],
        env=production.environment, check=True,
    )  # fmt: skip
    web = [sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn_conf.py", "portal.wsgi",
           "--bind", f"127.0.0.1:{port}", "--workers", str(workers)]  # fmt: skip
    with ExitStack() as stack:
        log = stack.enter_context((folder / "web.log").open("wb"))
        server = subprocess.Popen(web, env=production.environment, stdout=log, stderr=log)
        stack.callback(server.wait)
        stack.callback(server.terminate)
        stack.enter_context(production.worker("--queues", "clusters"))
        stack.enter_context(production.worker("--queues", "chores,studies"))
        stack.enter_context(production.beat())
        yield folder


async def _rush(
    port: int, seconds: int, sessions: list[str], tokens: list[tuple[str, dict[str, Any]]],
    migrates: bool,
) -> Seen:  # fmt: skip
    seen, until = Seen(), time.monotonic() + seconds
    always = {"Host": "localhost", "X-Forwarded-Proto": "https", "Accept-Language": "en"}
    people: list[Any] = [
        _reader(
            Person(port, seen, {**always, "Cookie": f"sessionid={key}"}), until, random.Random(n)
        )
        for n, key in enumerate(sessions)
    ]
    for n, (token, body) in enumerate(tokens):
        person = Person(port, seen, {**always, "Authorization": f"Bearer {token}"})
        people.append(_writer(person, body, until, random.Random(-n)))
    people.append(_watch_ticks(seen, until))
    if migrates:
        people.append(asyncio.to_thread(_migrate_in_the_middle, seconds / 2))
    await asyncio.gather(*people)
    return seen


def _migrate_in_the_middle(wait: float) -> None:
    """What a safe migration does to the largest table: a column with a default, an index beside."""
    from django.db import connection

    time.sleep(wait)
    begun = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        cursor.execute("ALTER TABLE usage_ledgerentry ADD COLUMN tried integer NOT NULL DEFAULT 0")
        cursor.execute("CREATE INDEX CONCURRENTLY tried_live ON usage_ledgerentry (tried)")
    print(f"a column and an index in {time.monotonic() - begun:.1f} s meanwhile")
    connection.close()


def _tell(seen: Seen, seconds: int) -> bool:
    everything = sorted(ms for times in seen.ms.values() for ms in times)
    print(f"\n{len(everything):,} answers in {seconds} s, codes {dict(sorted(seen.codes.items()))}")
    for what, times in sorted(seen.ms.items()):
        times.sort()
        print(f"{what:34} {len(times):5} {statistics.median(times):7.0f} ms, 95 of 100 within "
              f"{times[int(len(times) * 0.95)]:6.0f} ms")  # fmt: skip
    p95 = everything[int(len(everything) * 0.95)]
    failed = sum(seen.faults.values())
    kept = not failed and p95 < GOAL_MS and seen.oldest <= GOAL_AGE
    print(f"all: half within {statistics.median(everything):.0f} ms, 95 of 100 within {p95:.0f} ms; "
          f"{failed} failed; oldest tick {seen.oldest:.0f} s of {GOAL_AGE}; "
          f"load of the machine {os.getloadavg()[0]:.1f} {'' if kept else ' over'}")  # fmt: skip
    for fault, count in seen.faults.most_common(8):
        print(f"  {count} x {fault}")
    return kept


def main() -> int:
    """Make, run, rush, tell."""
    parser = argparse.ArgumentParser()
    for name, default in (("seconds", 300), ("readers", 200), ("writers", 20), ("workers", 2),
                          ("days", 4)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--migrate", action="store_true")
    options = parser.parse_args()
    django.setup()
    from tests.production import wait_until
    from tests.with_services import free_port

    sessions, tokens = _make(options.readers, options.writers, options.days)
    port = free_port()
    with _running(port, options.workers) as folder:
        wait_until(lambda: _oldest_tick() < TICK_SECONDS, "the first tick", 120)
        seen = asyncio.run(_rush(port, options.seconds, sessions, tokens, options.migrate))
        kept = _tell(seen, options.seconds)
        if not kept:
            print((folder / "web.log").read_text()[-3000:])
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
