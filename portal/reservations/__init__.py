"""The calendar: GPUs held for a team from one instant to another.

A reservation never overcommits, by sum and by shape, since it is written only together with its
commitment. Who asked for it and who agreed is the business of `requests`.
"""
