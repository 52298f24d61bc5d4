"""Writes of the room: one cycle of a cluster, its policy, and forgetting."""

import logging
import time
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit, clock, formats, leases, logs
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory.models import Cluster
from portal.reservations import services as reservations
from portal.scheduling import foreseeing, freezing, no_shows, policies, recording
from portal.scheduling.models import Policy, Tick, TickState
from portal.scheduling.recording import Cycle
from portal.slas import services as slas
from scheduler_core import document, planner

log = logging.getLogger(__name__)


def run_tick(
    *,
    cluster_id: int,
    now: datetime,
    real_now: datetime | None = None,
    lease: leases.Held | None = None,
) -> Tick:
    """Run one cycle of a cluster and return its tick; what was decided stands in rows.

    With a lease, nothing is written once somebody else has taken it: `leases.Fenced` is raised.
    How old the cluster's last read is counts in real time, which is the wall clock's unless given.
    A failure leaves a FAILED tick with its message and is raised again.
    """
    real = real_now or clock.real_now()
    begun = time.monotonic()
    cluster = Cluster.objects.get(pk=cluster_id)
    try:
        # 1. What the calendar says begins or ends by now.
        reservations.open_and_close_due(now=now)
        no_shows.give_back_unused(now=now)
        # 2. Nothing is decided on a picture too old to be true.
        late = too_old(cluster, real)
        if late:
            return _note(Cycle(cluster_id, now, real, lease, _ms(begun)), TickState.STALE, late)
        # 3. Rows to snapshot.
        frozen = freezing.freeze(cluster_id=cluster_id, now=now)
        # 4. Decide: no database, no clock.
        plan = planner.plan(frozen.snapshot)
        # 5. Plan to rows, in one transaction.
        tick = recording.record(Cycle(cluster_id, now, real, lease, _ms(begun)), frozen, plan)
    except leases.Fenced:
        raise
    except Exception as error:
        cycle = Cycle(cluster_id, now, real, lease, _ms(begun))
        _note(cycle, TickState.FAILED, f"{type(error).__name__}: {error}")
        raise
    # 6. Who waits longer than promised is noted, for somebody to answer for.
    slas.find_breaches(now=now)
    # 7. Once an hour, what is past its time is forgotten.
    if _is_first_of_its_hour(tick):
        prune(now=now)
    with logs.bound_to(cluster=cluster_id, tick=tick.pk, ms=_ms(begun)):
        log.info("%s start, %s wait, %s run", tick.starts, tick.waiting, tick.running)
    return tick


def _ms(begun: float) -> int:
    return int((time.monotonic() - begun) * 1000)


def too_old(cluster: Cluster, real_now: datetime) -> str:
    """Why no decision may be taken on what is known of the cluster; empty when it may."""
    if cluster.seen_real_at is None:
        return _("The cluster was never read, so nothing is decided.")
    age, limit = real_now - cluster.seen_real_at, timedelta(seconds=cluster.stale_after_seconds)
    if age <= limit:
        return ""
    return _(
        "The cluster was last read %(age)s ago, more than the %(limit)s allowed, so nothing is "
        "decided."
    ) % {"age": formats.duration(age), "limit": formats.duration(limit)}


@transaction.atomic
def _note(cycle: Cycle, state: TickState, message: str) -> Tick:
    """A tick that decided nothing."""
    if cycle.lease is not None:
        leases.check(cycle.lease)
    return Tick.objects.create(
        cluster_id=cycle.cluster_id, at=cycle.now, state=state, fence=cycle.fence,
        started_real_at=cycle.real_now, took_ms=cycle.took_ms, message=message,
    )  # fmt: skip


def _is_first_of_its_hour(tick: Tick) -> bool:
    hour = tick.at.replace(minute=0, second=0, microsecond=0)
    of_cluster = Tick.objects.filter(cluster_id=tick.cluster_id, at__gte=hour, at__lt=tick.at)
    return not of_cluster.exists()


@transaction.atomic
def set_policy(
    *,
    cluster_id: int,
    rules: Mapping[str, object],
    actor_id: int | None,
    now: datetime,
    seen_policy_id: int | None = None,
    note: str = "",
) -> Policy:
    """Let a cluster follow other rules from `now` on; ticks before keep the ones they followed.

    `note` says why, for whoever reads the history.
    `seen_policy_id` is the policy the asker saw (0: none); `Conflict` when it is another by now.
    Raises `Invalid` with the engine's own words for rules its contract refuses.
    """
    cluster = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
    if cluster is None:
        raise Missing
    # Whoever waited for the lock may have read the clock before the other's policy began.
    before = Policy.objects.filter(cluster=cluster).order_by("valid_from", "id").last()
    if seen_policy_id is not None and seen_policy_id != (before.pk if before else 0):
        raise Conflict(
            _("The policy was changed meanwhile. Read it again, then edit."),
            code="changed_meanwhile",
        )
    plain = checked_rules(rules)
    begins = max(now, before.valid_from) if before else now
    policy = Policy.objects.create(
        cluster=cluster, rules=plain, valid_from=begins, created_by_id=actor_id, note=note
    )
    audit.record(
        actor_id=actor_id, action="scheduling.policy_set", target_type="cluster",
        target_id=cluster_id, data={"before": before.rules if before else None, "after": plain},
    )  # fmt: skip
    return policy


@transaction.atomic
def undo_policy(
    *, cluster_id: int, seen_policy_id: int, actor_id: int | None, now: datetime, note: str = ""
) -> Policy:
    """Let a cluster follow the rules from before its newest policy, as a policy of its own.

    Raises `Conflict` when the newest is another than the asker saw, or there is none to undo.
    """
    back = policies.before_newest(cluster_id=cluster_id, now=now)
    if back is None:
        raise Conflict(_("There is no policy to undo."), code="nothing_to_undo")
    return set_policy(
        cluster_id=cluster_id, rules=back, actor_id=actor_id, now=now,
        seen_policy_id=seen_policy_id, note=note,
    )  # fmt: skip


def checked_rules(rules: Mapping[str, object]) -> dict[str, object]:
    """The rules with every key spelled out. Raises `Invalid` naming the key at fault."""
    try:
        policy = document.parse_policy(dict(rules))
    except document.Fault as fault:
        raise Invalid(
            _("The policy is not valid: %(fault)s") % {"fault": fault},
            fields={fault.path or "rules": fault.problem},
        ) from fault
    plain: dict[str, object] = document.policy_to_json(policy)
    plain.pop("tick_seconds")
    return plain


def make_forecasts(*, cluster_id: int, now: datetime) -> int:
    """Say of all that waits when it will start, and settle what was said of what started.

    Gives how many outlooks are new or have moved.
    """
    return foreseeing.make(cluster_id=cluster_id, now=now)


def prune(*, now: datetime) -> dict[str, int]:
    """Forget ticks, snapshots, shares and forecasts past their time; gives how many of each."""
    return recording.prune(now=now) | {"forecasts": foreseeing.prune(now=now)}
