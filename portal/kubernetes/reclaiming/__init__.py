"""Jobs that make room, as the newest tick says: asked to stop, followed until their pods are gone.

A `Stop` stands from the first ask until the devices are free; until then the engine sees them as
kept for whom the room is made. It is safe to begin again anywhere: everything asked is asked only
of the object it was meant for, and what was accepted is not asked twice.

| module | holds |
|---|---|
| `opening` | which jobs make room by the newest tick, and which need not any more |
| `stopping` | suspends, shrinks, or evicts pod by pod, as disruption budgets let it |
| `overdue` | pods past their grace period: asked once more, then shown as stuck |
| `naming` | tells the rows why pods went: to make room, whatever verb the cluster knew them by |
"""
