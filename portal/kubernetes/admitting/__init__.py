"""What a decision looks like in a cluster: jobs let start, stopped, and what becomes of both.

A job that may start is written down before the cluster is asked (`workloads.admissions`), so that
its devices are given to nobody else while its pods are still to come. Objects here belong to other
people, so they are changed by merge patches made for one version of them, never applied.

| module | holds |
|---|---|
| `shaping` | one object before → after: suspended, let start, a pod without its gate (pure) |
| `orders` | what one job gets: pool, nodes, class, isolation (pure, and from rows) |
| `asking` | the way to the cluster for one job: read, compare, change; each ask is a row |
| `choosing` | who may start now, by the newest tick |
| `starting` | lets them start, whole |
| `following` | who was let start and did not, or is over |
| `namespaces` | which reservations a namespace may name |
"""
