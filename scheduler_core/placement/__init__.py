"""Where work goes: one file for each placement, chosen by name from `PLACEMENTS`.

Inside: the choice of nodes for tasks that are known to fit, gangs and topology. Never inside:
whether a workload may start, victims, or time. A new placement is one file and one line below.
"""

from scheduler_core.placement.base import Placement, Room
from scheduler_core.placement.fitting import fit
from scheduler_core.placement.pack import Pack
from scheduler_core.placement.scored import SCORINGS, Scored
from scheduler_core.placement.spread import Spread

PLACEMENTS: dict[str, Placement] = {
    "pack": Pack(),
    "spread": Spread(),
    **{name: Scored(make) for name, make in SCORINGS.items()},
}
"""Every placement by its name in the policy."""

__all__ = ["PLACEMENTS", "Placement", "Room", "fit"]
