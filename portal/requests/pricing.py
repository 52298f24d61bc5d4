"""About what an asking costs, where there is a rate card that knows the pool."""

from portal.finance import selectors as finance
from portal.requests.answers import Price
from portal.requests.board import Ask


def estimate(pool_id: int, ask: Ask) -> Price | None:
    """The price of holding that many GPUs for that long, without tax."""
    found = finance.estimate(
        pool_id=pool_id, gpus=ask.gpus, starts_at=ask.starts_at, ends_at=ask.ends_at,
        source=ask.source,
    )  # fmt: skip
    return None if found is None else Price(found.amount_micro, found.currency)
