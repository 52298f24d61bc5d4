"""Time: running work, plans, reservations and maintenance on one timeline (§6 of the rules).

Inside: what is free when, when an ask is allowed by quotas, what may start now without moving an
earlier plan. Never inside: an order, a victim, a reason. The planner asks in order; whoever is
asked for first keeps the earlier place.
"""

from scheduler_core.backfill.horizon import Horizon, Planned
from scheduler_core.backfill.steps import FOREVER, Steps

__all__ = ["FOREVER", "Horizon", "Planned", "Steps"]
