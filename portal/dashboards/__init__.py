"""Pages that look across rooms: Home, Queue, Workload, Capacity.

Read models only: nothing here writes, and no room depends on this one.
"""
