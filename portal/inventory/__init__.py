"""What there is: clusters, pools, nodes, namespaces, maintenance, and what is committed of each pool.

`services.commit` is the only way to promise capacity: it locks the pool and checks that at every
instant capacity less maintenance covers what is guaranteed and reserved. Promises themselves
(quotas, reservations) live in the rooms above.
"""
