"""Running the thing: the demo organisation, the loop in one process, health.

Commands for people who operate an installation. No page of a team member lives here.
"""
