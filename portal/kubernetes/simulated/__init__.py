"""A cluster that lives in a file of its own, behind the same port as Kubernetes.

It keeps its own books, runs on the time its caller gives it, and knows nothing of our plan: a job
controller creates pods and is refused by quotas, a scheduler spreads pods over nodes and evicts by
priority class, nodes are lost and repaired, jobs end, fail and are cancelled. Everything drawn by
chance hangs on a seed and a name, never on the order of calls, so that a run that was stopped and
started again goes on exactly as one that was not.

| module | holds |
|---|---|
| `records` | nodes, jobs, pods and objects as they are kept |
| `chance` | numbers from a seed and a name |
| `workshop` | the state in memory: who holds which device, who has used how much of a quota |
| `controller`, `scheduler`, `lifecycle` | what happens: pods created, bound, evicted, ended |
| `tenants` | the people: they hand in jobs, name a class, lose patience |
| `clockwork` | the order in which it happens |
| `objects`, `fields`, `writing` | the same as Kubernetes objects, and who may write which field |
| `patching` | jobs suspended and let start, gates taken away |
| `file` | the file: atomic, one writer at a time, books that only grow |
| `cluster` | the port |
| `building` | a cluster out of any trace, with what the trace lacks drawn from the seed |
| `slices`, `selection`, `data/` | the part of the public traces the demo runs on, and its choosing |

Simpler than the real thing, and meant so: a gang's pods are created, bound and stopped together
(what a coscheduling plug-in and a gang-aware controller do); CPU and memory are requests alone.
"""
