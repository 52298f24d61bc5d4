"""Who gets what of a pool: §3 of the rules, exact to the unit.

Inside: `divide` for one level, `fair_shares` for the team tree of a pool. Never inside: nodes,
placements, or the state of a cycle. Borrowing and lending, which change with every start, stand
in `scratch.ledger`.
"""

from scheduler_core.division.levels import divide
from scheduler_core.division.trees import Claims, fair_shares

__all__ = ["Claims", "divide", "fair_shares"]
"""What other layers may use."""
