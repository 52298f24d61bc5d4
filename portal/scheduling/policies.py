"""The policy of a cluster: the row's rules, completed by what only the portal knows."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Sum

from portal.inventory.models import Cluster, ClusterMode, Node, NodeState
from portal.scheduling.models import Policy, Tick, TickState
from scheduler_core import document
from scheduler_core import model as engine

DEFAULT_RULES: dict[str, object] = {
    "order": "fair_share",
    "placement": "pack",
    "backfill": "conservative",
    "head_blocks": False,
    "preemption": {"enabled": False},
    "hybrid": None,
    "usage_weight_k": 0,
    "half_life_seconds": 604_800,
    "aging_seconds_per_point": 3600,
    "seed": 0,
}
"""What a cluster without a policy row follows, but for taking back: that is on where the mode can."""
TAKES_BACK = frozenset({ClusterMode.RECLAIM.value, ClusterMode.ADMISSION.value})


def get_policy(*, cluster_id: int, now: datetime) -> Policy | None:
    """The newest begun policy row of a cluster."""
    return (
        Policy.objects.filter(cluster_id=cluster_id, valid_from__lte=now)
        .order_by("-valid_from", "-id")
        .first()
    )


def default_rules(mode: str) -> dict[str, object]:
    """The rules of a cluster that nobody gave any: it takes back where its mode can carry it out."""
    return {**DEFAULT_RULES, "preemption": {"enabled": mode in TAKES_BACK}}


def rules_of(policy: Policy | None, *, cluster_id: int) -> Mapping[str, object]:
    """The rules a cluster follows: its policy's, else those that go with its mode."""
    if policy is not None:
        rules: Mapping[str, object] = policy.rules
        return rules
    return default_rules(Cluster.objects.values_list("mode", flat=True).get(pk=cluster_id))


def before_newest(*, cluster_id: int, now: datetime) -> Mapping[str, object] | None:
    """The rules from before the newest policy row, by default those of the mode; None without one."""
    begun = Policy.objects.filter(cluster_id=cluster_id, valid_from__lte=now)
    newest = list(begun.order_by("-valid_from", "-id")[:2])
    if not newest:
        return None
    return rules_of(newest[1] if len(newest) > 1 else None, cluster_id=cluster_id)


def last_tick(*, cluster_id: int) -> Tick | None:
    """The newest tick that decided something, without its snapshot."""
    return (
        Tick.objects.filter(cluster_id=cluster_id, state=TickState.DONE)
        .defer("snapshot")
        .order_by("-at", "-id")
        .first()
    )


def seconds_since(last: Tick | None, *, now: datetime) -> int:
    """Organisation seconds since the last tick; the configured period before the first."""
    if last is None:
        return int(settings.TICK_SECONDS)
    return max(0, int((now - last.at) // timedelta(seconds=1)))


def effective(given: Mapping[str, object], *, last: Tick | None, now: datetime) -> engine.Policy:
    """The engine's policy for this tick. Raises `document.Fault` for rules it does not know.

    The portal adds the time since the last tick, the organisation's capacity (decayed use counts
    across clusters, so one cluster's devices would be the wrong measure) and, for the hybrid
    placement, the mode it is in and since when.
    """
    rules = document.parse_policy(dict(given))
    capacity = rules.usage_capacity_milli
    if capacity is None:
        capacity = _organisation_capacity()
    return replace(
        rules,
        tick_seconds=seconds_since(last, now=now),
        usage_capacity_milli=capacity,
        hybrid=_hybrid(rules.hybrid, last),
    )


def _organisation_capacity() -> int:
    """Milli-GPU equivalents of all schedulable devices of all clusters."""
    total: int | None = Node.objects.filter(
        removed_at__isnull=True, state=NodeState.READY
    ).aggregate(total=Sum(F("gpus") * F("pool__gpu_equivalent_milli")))["total"]
    return total or 0


def _hybrid(hybrid: engine.Hybrid | None, last: Tick | None) -> engine.Hybrid | None:
    """The hybrid placement with the mode the last tick left and the first tick of that mode."""
    if hybrid is None or last is None or last.placement_mode not in engine.MODES:
        return hybrid
    done = Tick.objects.filter(cluster_id=last.cluster_id, state=TickState.DONE)
    other = done.exclude(placement_mode=last.placement_mode).order_by("-at", "-id")
    before = other.values_list("at", flat=True).first()
    of_mode = done.filter(at__gt=before) if before else done
    since = of_mode.order_by("at", "id").values_list("at", flat=True).first()
    mode: engine.Mode = "pack" if last.placement_mode == "pack" else "spread"
    return replace(hybrid, mode=mode, since=int(since.timestamp()) if since else None)
