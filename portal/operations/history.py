"""Makes the demo's three weeks: the organisation, its cluster, and every turn since.

Nothing is made up: the simulated cluster runs, the portal sees, decides and writes at each step as
it does live, only without waiting. Interrupted, it leaves no clock anchor, and is made anew.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from portal.common import clock
from portal.common.models import ClockAnchor
from portal.finance import services as finance
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind, ClusterMode, Pool
from portal.kubernetes import ports
from portal.kubernetes.simulated import building, slices
from portal.operations import cycle, organisation, tenants
from portal.operations.story import Teller
from portal.scheduling import services as scheduling
from portal.teams.models import Team
from portal.usage import services as usage

LENGTH = timedelta(days=21)
# The cluster lives by itself between two turns, so use is exact at any step; only what we decide
# follows the step. The nearer the day, the finer it is told; the last is told as it is lived.
STEPS: tuple[tuple[timedelta, timedelta], ...] = (
    (timedelta(days=1), timedelta(minutes=15)),
    (timedelta(days=3), timedelta(hours=1)),
    (LENGTH, timedelta(hours=2)),
)
FORETOLD = timedelta(days=3)
"""For so long before the day forecasts were made, so that there are some to judge."""
CLUSTER = "seoul-1"
Say = Callable[[str], None]


def set_up_cluster(
    *, name: str, plan: building.Plan, now: datetime, actor_id: int | None
) -> Cluster:
    """Make a simulated cluster and tell the portal of it, its pools and its namespaces.

    Namespaces named as a team are the team's; the rest belongs to nobody.
    """
    cluster = inventory.register_cluster(
        name=name, kind=ClusterKind.SIMULATED, now=now, actor_id=actor_id
    )
    building.create(ports.simulated_file(cluster), plan)
    pools = building.pools(plan.nodes)
    for position, pool in enumerate(sorted(pools, key=lambda name: pools[name][0].gpus)):
        inventory.register_pool(
            cluster_id=cluster.pk, name=pool, gpu_model=pools[pool][0].gpu_model,
            position=position, now=now, actor_id=actor_id,
        )  # fmt: skip
    for slug, team_id in Team.objects.values_list("slug", "id"):
        if slug in {plan.namespace_of(job) for job in plan.jobs}:
            inventory.register_namespace(
                cluster_id=cluster.pk, name=slug, team_id=team_id, now=now, actor_id=actor_id
            )
    return cluster


def build(*, until: datetime, say: Say) -> None:
    """Write the demo organisation and live through its history up to `until`."""
    begins = until - LENGTH
    people = organisation.create_people(now=begins)
    admin = people["jihye"]
    cluster = set_up_cluster(name=CLUSTER, plan=slices.demo(begins), now=begins, actor_id=admin.pk)
    cycle.turn(cluster_id=cluster.pk, now=begins)
    organisation.promise_quotas(cluster=cluster, now=begins, actor_id=admin.pk)
    organisation.promise_waits(now=begins, actor_id=admin.pk)
    organisation.set_rates(cluster=cluster, now=begins, actor_id=admin.pk)
    teller = Teller(ends_at=until, pools=list(Pool.objects.filter(cluster=cluster)), people=people)
    for number, now in enumerate(_turns(begins, until)):
        teller.tell(now)
        cycle.turn(cluster_id=cluster.pk, now=now)
        tenants.use_open_reservations(now=now)
        if until - now <= FORETOLD and number % 4 == 0:
            scheduling.make_forecasts(cluster_id=cluster.pk, now=now)
        if number % 50 == 0:
            say(f"  {(now - begins).days:>2} of {LENGTH.days} days")
    usage.roll_up()
    finance.compute_open(now=until)


def _turns(begins: datetime, until: datetime) -> Iterator[datetime]:
    """Every instant at which the portal looks, decides and writes."""
    now = begins
    while now < until:
        now += next(step for within, step in STEPS if now >= until - within)
        yield now


def set_mode(mode: ClusterMode) -> None:
    """Let the portal do so much in the demo's cluster; in the last mode people wait to be let in."""
    for row in Cluster.objects.all():
        inventory.change_cluster(
            cluster_id=row.pk, mode=mode, settings=row.settings,
            stale_after_seconds=row.stale_after_seconds, actor_id=None,
        )  # fmt: skip


def go_on(*, real_at: datetime, speed: int) -> None:
    """Let the organisation's time go on from where it was last known to be, never before."""
    known = [c.seen_at for c in Cluster.objects.all() if c.seen_at is not None]
    known += ClockAnchor.objects.order_by("-id").values_list("organisation_at", flat=True)[:1]
    clock.set_anchor(real_at=real_at, organisation_at=max(known, default=real_at), speed=speed)


def pause(*, real_at: datetime, speed: int) -> None:
    """Note the organisation's time as everything stops, so that `go_on` begins just here."""
    clock.set_anchor(real_at=real_at, organisation_at=clock.at(real_at), speed=speed)
