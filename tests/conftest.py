"""What every test may use."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import override_settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis
from pytest_django import DjangoDbBlocker

from tests import scratch

# One profile: examples count, seconds do not, since machines differ.
hypothesis.register_profile(
    "evenshare",
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
hypothesis.load_profile("evenshare")


@pytest.fixture
def now() -> datetime:
    """A Monday morning in Seoul: 09:00 KST, midnight UTC."""
    return datetime(2026, 11, 2, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _unhurried() -> Iterator[None]:
    """Only the tests of rates are about rates."""
    with override_settings(API_READS=10**9, API_WRITES=10**9, API_STRANGERS=10**9):
        yield


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """Rate limits and other remembered things do not leak from test to test."""
    cache.clear()


@pytest.fixture(scope="session")
def _template(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    with django_db_blocker.unblock(), scratch.template(tmp_path_factory.mktemp("db")) as name:
        yield name


@pytest.fixture
def committed_database(_template: str, db: None, tmp_path: Path) -> Iterator[str]:
    """A database of this test's own for threads and processes; gives its DATABASE_URL."""
    with scratch.database(_template, tmp_path) as url:
        yield url


@pytest.fixture
def broker() -> str:
    """The address of a Redis; a test that needs one is skipped by name where there is none."""
    address = os.environ.get("TEST_BROKER", "")
    if not address and os.environ.get("CI") == "true":
        pytest.fail("TEST_BROKER names no Redis; run with tests/with_services.py")
    if not address:
        pytest.skip("needs a Redis: run with tests/with_services.py")
    return address
