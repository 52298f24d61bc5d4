"""What one job gets when it may start: pool, nodes, what it is charged to, class, isolation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portal.inventory.models import Pool
from portal.kubernetes import manifests
from portal.kubernetes.port import Manifest
from portal.workloads.admissions import Placement
from portal.workloads.models import ChargedTo


@dataclass(frozen=True, slots=True)
class Orders:
    """Where and as what a job starts; `asked` is how many tasks it has, `tasks` how many start."""

    pool: str
    resource: str
    placements: tuple[Placement, ...]
    asked: int
    charged_to: str
    priority_class: str
    runtime_class: str = ""

    @property
    def tasks(self) -> int:
        """How many tasks may start."""
        return sum(tasks for _node, tasks in self.placements)

    def nodes(self) -> list[str]:
        """The node of each task."""
        return [node for node, tasks in self.placements for _ in range(tasks)]


def give(
    *,
    pool: Pool,
    placements: Sequence[Placement],
    asked: int,
    charged_to: str,
    isolation: str,
    classes: Mapping[str, Manifest],
) -> Orders:
    """The orders of a job; `isolation` is its team's, `classes` the priority classes there are."""
    borrowed = charged_to == ChargedTo.BORROWED
    base = (manifests.burst_class if borrowed else manifests.guaranteed_class)(pool.name)
    return Orders(
        pool=pool.name,
        resource=pool.resource_name,
        placements=tuple(placements),
        asked=asked,
        charged_to=charged_to,
        priority_class=manifests.versions(base, classes)[-1],
        runtime_class=isolation or pool.runtime_class,
    )
