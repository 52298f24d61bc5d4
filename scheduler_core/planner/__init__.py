"""The cycle: a snapshot in, a plan out.

Inside: the numbered steps of the rules, the walk through the order, and the report. Never inside:
a clock, a file, or memory of an earlier cycle. Only what decides calls it.
"""

from scheduler_core.planner.cycle import decide, plan

__all__ = ["decide", "plan"]
