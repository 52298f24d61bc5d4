"""A wrong setting stops the start, and all that is wrong is said at once."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOUND = {
    "EVENSHARE_SECRET_KEY": "s" * 60,
    "EVENSHARE_HOSTS": "gpu.example.org",
    "EVENSHARE_BROKER": "redis://127.0.0.1:6379/0",
    "DATABASE_URL": "postgresql://evenshare:p%40ss@db.example.org:5433/evenshare",
}


def _start(code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG")}
    return subprocess.run(
        [sys.executable, "-c", f"from portal import settings as s\n{code}"],
        env={**kept, **environment}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_all_faults_are_said_at_once() -> None:
    found = _start(
        EVENSHARE_EMBEDDED="no",
        DATABASE_URL="mysql://db/evenshare",
        EVENSHARE_BROKER="amqp://broker",
        EVENSHARE_MAIL="mail.example.org",
        EVENSHARE_DEBUG="perhaps",
        EVENSHARE_ZONE="Mars/Olympus",
        EVENSHARE_TICK_SECONDS="soon",
        EVENSHARE_LOG_LEVEL="LOUD",
        EVENSHARE_LOG_FORMAT="xml",
    )
    assert found.returncode == 1
    head, *faults = found.stderr.strip().splitlines()
    assert head == "Evenshare cannot start:"
    for name in (
        "EVENSHARE_SECRET_KEY", "EVENSHARE_HOSTS", "DATABASE_URL", "EVENSHARE_BROKER",
        "EVENSHARE_MAIL", "EVENSHARE_DEBUG", "EVENSHARE_ZONE", "EVENSHARE_TICK_SECONDS",
        "EVENSHARE_LOG_LEVEL", "EVENSHARE_LOG_FORMAT",
    ):  # fmt: skip
        assert sum(name in fault for fault in faults) == 1, name
    assert len(faults) == 10
    assert "Traceback" not in found.stderr


def test_the_cache_is_the_brokers_neighbour_unless_another_is_named() -> None:
    say = "print(s.CACHE, s.CACHES['default']['LOCATION'])"

    def cache(**environment: str) -> str:
        found = _start(say, **{**SOUND, **environment})
        assert found.returncode == 0, found.stderr
        first, second = found.stdout.split()
        assert first == second
        return first

    assert cache() == "redis://127.0.0.1:6379/1"
    assert cache(EVENSHARE_BROKER="rediss://:pw@r:6380/15?x=1") == "rediss://:pw@r:6380/0?x=1"
    assert cache(EVENSHARE_BROKER="redis://r") == "redis://r/1"
    assert cache(EVENSHARE_CACHE="redis://elsewhere/0") == "redis://elsewhere/0"


def test_a_cache_at_fault_is_named() -> None:
    found = _start(**{**SOUND, "EVENSHARE_CACHE": "memcached://r", "EVENSHARE_SYNC_WRITERS": "0"})
    assert "EVENSHARE_CACHE must be redis|rediss://host" in found.stderr
    assert "EVENSHARE_SYNC_WRITERS must be at least 1" in found.stderr


def test_a_port_that_is_no_number_is_a_fault_like_any_other() -> None:
    broken = {
        "DATABASE_URL": "postgresql://db:x/evenshare",
        "EVENSHARE_BROKER": "redis://r:99999/0",
    }
    found = _start(**{**SOUND, **broken})
    assert found.returncode == 1
    assert "DATABASE_URL" in found.stderr
    assert "EVENSHARE_BROKER" in found.stderr
    assert "Traceback" not in found.stderr


def test_production_starts_with_four_settings_and_reads_what_is_quoted() -> None:
    found = _start(
        "d = s.DATABASES['default']; print(d['PASSWORD'], d['PORT'], s.EMBEDDED, s.EMAIL_HOST)",
        **SOUND,
    )
    assert found.stderr == ""
    assert found.stdout.split() == ["p@ss", "5433", "False"]


def test_a_mail_server_is_one_address() -> None:
    found = _start(
        "print(s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_USE_TLS, s.EMAIL_HOST_USER, s.EMAIL_BACKEND)",
        **SOUND, EVENSHARE_MAIL="smtp+tls://post:secret@mail.example.org",
    )  # fmt: skip
    assert found.stdout.split() == [
        "mail.example.org", "587", "True", "post", "django.core.mail.backends.smtp.EmailBackend",
    ]  # fmt: skip


def test_embedded_needs_nothing() -> None:
    found = _start("print(s.EMBEDDED, bool(s.BROKER))")
    assert (found.stdout.split(), found.stderr) == (["True", "False"], "")


def test_a_place_where_nothing_can_be_written_is_a_fault_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = _start(EVENSHARE_VAR=str(tmp_path / "file"))
    assert found.returncode == 1
    assert "EVENSHARE_VAR must be a folder to write in" in found.stderr
    assert "Traceback" not in found.stderr
