"""The cycle: rows to snapshot, the engine's plan, decisions back as rows.

The only room that enters `scheduler_core.planner`. It decides nothing itself and touches no
cluster; what its ticks leave is picked up by `kubernetes`.
"""
