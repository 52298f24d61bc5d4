"""Measures that several reasons share."""

from scheduler_core.placement.fitting import domain_sums
from scheduler_core.scratch import Shape, State
from scheduler_core.scratch.nodes import Ints


def gang_fits(state: State, shape: Shape, pool: int, tasks: Ints) -> bool:
    """Tell whether the least count of the shape fits, in one domain where it must be one."""
    topology = shape.topology
    if topology is None or not topology.required:
        return int(tasks.sum()) >= shape.least
    domains = state.domains(pool, topology.level)
    if domains is None:
        return False
    return max(domain_sums(domains, tasks), default=0) >= shape.least
