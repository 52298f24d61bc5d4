"""The opaque names rows carry in a snapshot, and the way back.

Teams are `t<id>`, pools `p<id>`, workloads `w<id>`, people `u<id>`, reservations `r<id>`; nodes
keep their own names. Nobody's name leaves the portal with a snapshot. `t0` is no row: it is the
hidden team whose workloads hold devices that no team of the tree answers for. `w5.p3` is the part
of workload 5 in pool 3 when its pods stand in several pools; the largest part keeps `w5`.
"""

HIDDEN_TEAM = "t0"
DOORS = "class"
"""What a job carries where some pools do not take every class, beside the marks it may pass."""


def team(team_id: int) -> str:
    """The name of a team."""
    return f"t{team_id}"


def pool(pool_id: int) -> str:
    """The name of a pool."""
    return f"p{pool_id}"


def door(pool_id: int) -> str:
    """The mark on the nodes of a pool that does not take every class of job."""
    return f"{DOORS}:{pool(pool_id)}"


def workload(workload_id: int) -> str:
    """The name of a workload."""
    return f"w{workload_id}"


def part(workload_id: int, pool_id: int) -> str:
    """The name of the lesser part of a workload that stands in several pools."""
    return f"w{workload_id}.p{pool_id}"


def user(user_id: int) -> str:
    """The name of a person we know."""
    return f"u{user_id}"


def stranger(first_workload_id: int) -> str:
    """The name of a person only the cluster knows, by the oldest open workload of theirs."""
    return f"x{first_workload_id}"


def reservation(reservation_id: int) -> str:
    """The name of a reservation."""
    return f"r{reservation_id}"


def row_id(name: str, letter: str) -> int | None:
    """The id a name stands for, when it is a name of that letter; else None."""
    digits = name[1:]
    if name[:1] != letter or not digits.isascii() or not digits.isdigit():
        return None
    return int(digits)
