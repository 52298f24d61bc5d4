"""Typed readers of the environment, for the settings alone.

A value that makes no sense is noted in `faults` and read as its default, so that the settings can
show every fault at once.
"""

import os
from urllib.parse import SplitResult, unquote, urlsplit
from zoneinfo import ZoneInfo

faults: list[str] = []
_REDIS_DATABASES = 16


def text(name: str, default: str | None = None) -> str:
    """Return a text; without a default it must be set."""
    value = os.environ.get(name, default)
    if value is None:
        faults.append(f"{name} must be set")
        return ""
    return value


def flag(name: str, default: bool) -> bool:
    """Return yes or no."""
    match os.environ.get(name, "yes" if default else "no").lower():
        case "yes" | "true" | "1":
            return True
        case "no" | "false" | "0" | "":
            return False
        case other:
            faults.append(f"{name} must be yes or no, not {other!r}")
            return default


def whole(name: str, default: int, least: int | None = None) -> int:
    """Return a whole number, at least `least`."""
    value = os.environ.get(name, str(default))
    try:
        number = int(value)
    except ValueError:
        faults.append(f"{name} must be a whole number, not {value!r}")
        return default
    if least is not None and number < least:
        faults.append(f"{name} must be at least {least}, not {value!r}")
        return default
    return number


def words(name: str, default: str) -> list[str]:
    """Return what stands between commas."""
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def zone(name: str, default: str) -> str:
    """Return a time zone the machine knows."""
    value = os.environ.get(name, default)
    try:
        ZoneInfo(value)
    except (ValueError, KeyError, OSError):
        faults.append(f"{name} must be a time zone such as Asia/Seoul, not {value!r}")
        return default
    return value


def database(url: str, stall_seconds: int = 120) -> dict[str, object]:
    """Return Django's entry for a sqlite or postgresql address.

    `stall_seconds` is how long a transaction may stand still before PostgreSQL ends it.
    """
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
    except ValueError as error:
        faults.append(f"DATABASE_URL: {error}")
        return {}
    match parts.scheme:
        case "sqlite":
            return {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": unquote(parts.path),
                # IMMEDIATE takes the write lock at the start, so that reading, deciding and
                # writing in one transaction cannot fail half-way with "database is locked".
                "OPTIONS": {
                    "transaction_mode": "IMMEDIATE",
                    "timeout": 20,
                    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                },
            }
        case "postgres" | "postgresql":
            return {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": unquote(parts.path.lstrip("/")),
                "USER": unquote(parts.username or ""),
                "PASSWORD": unquote(parts.password or ""),
                "HOST": unquote(parts.hostname or ""),
                "PORT": port,
                "CONN_MAX_AGE": 60,
                "CONN_HEALTH_CHECKS": True,
                # A process that stands still, or whose machine is gone, must not keep its locks.
                "OPTIONS": {
                    "options": f"-c idle_in_transaction_session_timeout={stall_seconds * 1000}"
                },
            }
        case other:
            faults.append(f"DATABASE_URL must begin with sqlite or postgresql, not {other!r}")
            return {}


def address(name: str, default: str | None, schemes: tuple[str, ...]) -> SplitResult:
    """The parts of an address; without a host where it is empty, or at fault."""
    url = text(name, default)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        faults.append(f"{name}: {error}")
        return urlsplit("")
    if url and (parts.scheme not in schemes or not parts.hostname):
        faults.append(f"{name} must be {'|'.join(schemes)}://host, not {url!r}")
        return urlsplit("")
    return parts


def beside(url: str) -> str:
    """The next database of the same Redis, so that emptying one of the two leaves the other."""
    parts = urlsplit(url)
    number = parts.path.strip("/")
    following = (int(number) + 1) % _REDIS_DATABASES if number.isdigit() else 1
    return parts._replace(path=f"/{following}").geturl() if url else ""


def one_of(name: str, default: str, words: tuple[str, ...]) -> str:
    """Return one of the words allowed."""
    value = os.environ.get(name, default)
    if value not in words:
        faults.append(f"{name} must be one of {', '.join(words)}, not {value!r}")
        return default
    return value
