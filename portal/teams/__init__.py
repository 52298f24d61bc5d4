"""Who there is: the organisation, its tree of teams, people, and the roles they hold in a branch.

`permissions` is the one place that decides who may do what; every other room only declares the
rules of its routes. No GPUs, no money.
"""
