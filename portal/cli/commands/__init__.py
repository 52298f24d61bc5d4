"""What can be asked for. Each takes the portal and what was typed, and gives what to show.

`accounts`: who one is. `requests`: asking and deciding. `work`: the queue, why a job waits, when
it starts, a new one. `use`: what was used.
"""
