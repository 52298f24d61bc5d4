"""Who is served first: one file for each order, chosen by name from `ORDERINGS`.

Inside: keys, and the queue that keeps them true while starts change them. Never inside: whether
something fits, victims, or time. A new order is one file and one line below.
"""

from collections.abc import Callable

from scheduler_core.ordering.base import Key, Order, Rank, rank
from scheduler_core.ordering.dominant import Dominant
from scheduler_core.ordering.fair_share import FairShare
from scheduler_core.ordering.fair_tree import FairTree, factors
from scheduler_core.ordering.fifo import Fifo
from scheduler_core.ordering.priority import Priority
from scheduler_core.ordering.queue import Queue
from scheduler_core.ordering.satisfaction import Satisfaction
from scheduler_core.ordering.shortest import Shortest
from scheduler_core.ordering.sla import Sla
from scheduler_core.scratch import State

ORDERINGS: dict[str, Callable[[State], Order]] = {
    "fifo": Fifo,
    "fifo_strict": Fifo,
    "sjf": Shortest,
    "priority": Priority,
    "fair_share": FairShare,
    "fair_tree": FairTree,
    "drf": Dominant,
    "satisfaction": Satisfaction,
    "sla": Sla,
}
"""Every order by its name in the policy."""

__all__ = ["ORDERINGS", "Key", "Order", "Queue", "Rank", "factors", "rank"]
