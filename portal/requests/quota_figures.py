"""The figures of a quota that a request may change, and what they are now."""

from datetime import datetime

from portal.quotas import selectors as quotas
from portal.quotas.selectors import QuotaRow

FIGURES = (
    "guaranteed", "limit", "borrowing_limit", "lending_limit", "weight", "per_user_limit",
)  # fmt: skip
"""The columns of a quota that a request may change, in the order pages show them."""


def get(*, team_id: int, pool_id: int, at: datetime) -> dict[str, int | None]:
    """A team's quota in a pool by column; without one it is guaranteed nothing, without limits."""
    return of(quotas.get_quota(team_id=team_id, pool_id=pool_id, at=at))


def of(found: QuotaRow | None) -> dict[str, int | None]:
    """The figures of a quota by column, or of having none."""
    if found is None:
        return {**dict.fromkeys(FIGURES, None), "guaranteed": 0}
    return {name: getattr(found, name) for name in FIGURES}
