"""The state of a cycle that may be changed and put back: nodes, running work, use per team.

Inside: what is free where, who uses how much of what, and `State`, built from a snapshot, on
which every what-if is tried inside `attempt` and undone unless kept. Never inside: an order, a
choice of node, a victim, a reason.
"""

from scheduler_core.scratch.charges import borrowed_of, charges
from scheduler_core.scratch.held import Devices, Held, Hold, Spot, freed
from scheduler_core.scratch.ledger import Book, Entitlement
from scheduler_core.scratch.nodes import Column, Nodes
from scheduler_core.scratch.rules import Rules
from scheduler_core.scratch.shapes import Need, Shape
from scheduler_core.scratch.state import USED_UNIT, State

__all__ = [
    "USED_UNIT",
    "Book",
    "Column",
    "Devices",
    "Entitlement",
    "Held",
    "Hold",
    "Need",
    "Nodes",
    "Rules",
    "Shape",
    "Spot",
    "State",
    "borrowed_of",
    "charges",
    "freed",
]
