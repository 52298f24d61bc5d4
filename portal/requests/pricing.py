"""About what an asking costs, where there is a rate card that knows the pool."""

from datetime import datetime

from portal.common.errors import Conflict
from portal.finance import selectors as finance
from portal.requests.answers import Price
from portal.requests.board import Ask
from portal.requests.models import Request


def estimate(pool_id: int, ask: Ask) -> Price | None:
    """The price of holding that many GPUs for that long, without tax."""
    found = finance.estimate(
        pool_id=pool_id, gpus=ask.gpus, starts_at=ask.starts_at, ends_at=ask.ends_at,
        source=ask.source,
    )  # fmt: skip
    return None if found is None else Price(found.amount_micro, found.currency)


def beyond_budget(team_id: int, ask: Ask, price: Price | None, now: datetime) -> str | None:
    """Why a budget that refuses would refuse it, in a sentence with the numbers; None if it fits."""
    seconds = int((ask.ends_at - ask.starts_at).total_seconds())
    try:
        finance.check_budget(
            team_id=team_id, amount_micro=price.micro if price else None,
            gpu_milli_seconds=ask.gpus * 1000 * seconds, starts_at=ask.starts_at, now=now,
        )  # fmt: skip
    except Conflict as refusal:
        return refusal.message
    return None


def must_fit_budget(row: Request, price: tuple[int, str] | None, now: datetime) -> None:
    """Refuse what would go beyond a budget that refuses; raises `Conflict` with the numbers."""
    if row.gpus is None or row.starts_at is None or row.ends_at is None:
        return
    seconds = int((row.ends_at - row.starts_at).total_seconds())
    finance.check_budget(
        team_id=row.team_id, amount_micro=price[0] if price else None,
        gpu_milli_seconds=row.gpus * 1000 * max(0, seconds), starts_at=row.starts_at, now=now,
    )  # fmt: skip
