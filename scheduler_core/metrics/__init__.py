"""Figures on plain numbers: shares, Jain's index, decay, fragmentation, the team tree.

Inside: formulas, each with its source, on numbers and small sequences. Never inside: a snapshot
being changed, an order, a decision. Open to every room, so that a page and the engine show the
same figure.
"""

from scheduler_core.metrics.decay import LN_2, decayed, usage_share
from scheduler_core.metrics.fragmentation import fragmentation, fragmented, typical_kinds
from scheduler_core.metrics.shares import dominant_share, exact_max, jain, satisfaction
from scheduler_core.metrics.tree import TeamTree

__all__ = [
    "LN_2",
    "TeamTree",
    "decayed",
    "dominant_share",
    "exact_max",
    "fragmentation",
    "fragmented",
    "jain",
    "satisfaction",
    "typical_kinds",
    "usage_share",
]
