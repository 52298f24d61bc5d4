"""What every test may use."""

from datetime import UTC, datetime

import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, settings

# One profile: examples count, seconds do not, since machines differ.
settings.register_profile(
    "evenshare",
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("evenshare")


@pytest.fixture
def now() -> datetime:
    """A Monday morning in Seoul: 09:00 KST, midnight UTC."""
    return datetime(2026, 11, 2, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """Rate limits and other remembered things do not leak from test to test."""
    cache.clear()
