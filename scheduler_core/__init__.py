"""The scheduling engine: snapshot in, plan out. Python and numpy, nothing else.

Inside: the contract's words (`model`, `document`), the arithmetic of shares, the orders, the
placements, the timeline, reclaim, the reasons, and the planner that joins them. Never inside: a
clock, a database, Kubernetes, Django, or state kept between two calls. The only input and output
is the command line in `cli`. Everybody may use `model`, `metrics` and `document`; only those who
decide call `planner`.
"""
