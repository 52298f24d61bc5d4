"""How often somebody may ask: so many a minute, counted in the cache that all processes share."""

from dataclasses import dataclass

from django.core.cache import cache

from portal.common import clock


@dataclass(frozen=True, slots=True)
class Rate:
    """Where somebody stands within a period after asking once more."""

    limit: int
    used: int
    reset: int

    @property
    def is_over(self) -> bool:
        """Whether it was once too often."""
        return self.used > self.limit

    @property
    def remaining(self) -> int:
        """How many are left in this period."""
        return max(0, self.limit - self.used)


def count(who: str, limit: int, *, seconds: int = 60, by: int = 1) -> Rate:
    """Count one more (or `by` 0: none) of somebody, and say where that leaves them."""
    now = int(clock.real_now().timestamp())
    period, passed = divmod(now, seconds)
    key = f"rate:{who}:{seconds}:{period}"
    cache.add(key, 0, timeout=2 * seconds)
    try:
        used = cache.incr(key, by) if by else int(cache.get(key, 0))
    except ValueError:
        # It was thrown out between the two, as a full cache may; whoever asks has one for free.
        used = by
    return Rate(limit, used, seconds - passed)
