"""Rows for tests: each function makes one thing with plain defaults and says so in its arguments."""

from datetime import UTC, datetime

from portal.inventory.models import Cluster, ClusterKind, GPUModel, Node, Pool
from portal.teams.models import Role, RoleAssignment, Team, TeamTerm, User

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def a_user(username: str = "minji", role: Role | None = None, team: Team | None = None) -> User:
    """A person, with a role if one is named."""
    user = User.objects.create_user(username=username, password=None)
    if role is not None:
        RoleAssignment.objects.create(user=user, role=role, team=team, created_at=LONG_AGO)
    return user


def a_team(slug: str = "vision", parent: Team | None = None, weight: int = 1) -> Team:
    """A team that stands in the tree since long ago."""
    team = Team.objects.create(slug=slug, name=slug.capitalize(), created_at=LONG_AGO)
    TeamTerm.objects.create(team=team, parent=parent, weight=weight, valid_from=LONG_AGO)
    return team


def a_cluster(name: str = "lab") -> Cluster:
    """A simulated cluster in quota mode."""
    return Cluster.objects.create(name=name, kind=ClusterKind.SIMULATED, created_at=LONG_AGO)


def a_pool(name: str = "h100", cluster: Cluster | None = None, nodes: int = 0, gpus: int = 8) -> Pool:
    """A pool of whole devices, with so many equal nodes known since long ago."""
    cluster = cluster or Cluster.objects.first() or a_cluster()
    model, _ = GPUModel.objects.get_or_create(name=name.upper(), defaults={"memory_mib": 81559})
    pool = Pool.objects.create(cluster=cluster, name=name, gpu_model=model, created_at=LONG_AGO)
    for number in range(nodes):
        a_node(pool, f"{name}-{number}", gpus=gpus)
    return pool


def a_node(pool: Pool, name: str, gpus: int = 8, first_seen_at: datetime = LONG_AGO) -> Node:
    """A ready node."""
    return Node.objects.create(
        cluster=pool.cluster, pool=pool, name=name, gpus=gpus, cpu_milli=128_000,
        memory_mib=1_048_576, first_seen_at=first_seen_at,
    )  # fmt: skip
