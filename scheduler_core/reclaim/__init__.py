"""Taking back what is lent: who must go so that a workload can start (§7 of the rules).

Inside: shares of what is borrowed, the order of victims, the search and its checks. Never inside:
where the workload then goes, or time. The caller says whether it fits and starts it.
"""

from scheduler_core.reclaim.board import Board
from scheduler_core.reclaim.kinds import kind_of
from scheduler_core.reclaim.losses import lost_milli_seconds
from scheduler_core.reclaim.search import Reclaim
from scheduler_core.reclaim.taking import Gate, Taken
from scheduler_core.reclaim.victims import Victim

__all__ = ["Board", "Gate", "Reclaim", "Taken", "Victim", "kind_of", "lost_milli_seconds"]
