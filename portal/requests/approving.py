"""How many people have to agree to a request, and who has.

Nobody within a team's own guarantee, else one, unless the rules an admin set say otherwise: of
those a request reaches, by pool, size, length and cost, the strictest counts.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Invalid, Missing
from portal.inventory.models import Pool
from portal.requests import feasibility, kinds
from portal.requests.answers import Answer
from portal.requests.kinds.contract import MOST_APPROVALS
from portal.requests.models import Approval, ApprovalRule, Request, RequestKind
from portal.reservations.models import Source

HOUR = timedelta(hours=1)
USUAL = 1
FIGURES = ("min_gpus", "min_hours", "min_cost_micro")


def needed(row: Request, cost_micro: int | None) -> int:
    """How many people have to agree to a request as it stands."""
    least, most = kinds.of(row).approvals(row)
    if most == 0:
        return 0
    rules = ApprovalRule.objects.filter(Q(pool_id__isnull=True) | Q(pool_id=row.pool_id))
    met = [rule.approvals for rule in rules if _reaches(row, cost_micro, rule)]
    return min(most, max(least, max(met, default=USUAL)))


def _reaches(row: Request, cost_micro: int | None, rule: ApprovalRule) -> bool:
    gpus = row.guaranteed if row.kind == RequestKind.QUOTA else row.gpus
    if rule.min_gpus is not None and (gpus or 0) < rule.min_gpus:
        return False
    if rule.min_cost_micro is not None and (cost_micro or 0) < rule.min_cost_micro:
        return False
    if rule.min_hours is None or row.starts_at is None or row.ends_at is None:
        return True  # what has no end is longer than any length
    return row.ends_at - row.starts_at >= rule.min_hours * HOUR


def list_agreed(*, request_id: int) -> list[Approval]:
    """Who agreed so far, in order."""
    return list(Approval.objects.filter(request_id=request_id).select_related("by"))


def still_needed(row: Request) -> int:
    """How many more people have to agree."""
    return max(0, row.approvals_needed - Approval.objects.filter(request_id=row.pk).count())


def is_in_the_way(row: Request, now: datetime) -> bool:
    """Whether others asked before for what there is not enough of: then people decide."""
    taken = row.source == Source.POOL and row.kind in (
        RequestKind.RESERVATION, RequestKind.EXTENSION
    )  # fmt: skip
    if not taken or row.gpus is None or row.starts_at is None or row.ends_at is None:
        return False
    answer: Answer = feasibility.check(
        team_id=row.team_id, pool_id=row.pool_id, gpus=row.gpus, gpus_per_node=row.gpus_per_node,
        source=row.source, starts_at=row.starts_at, ends_at=row.ends_at, now=now, without=row.pk,
    )  # fmt: skip
    return answer.waiting is not None and answer.waiting.left < 0


def list_rules() -> list[ApprovalRule]:
    """The rules, those of all pools first."""
    return list(ApprovalRule.objects.select_related("pool").order_by("pool_id", "approvals", "id"))


@transaction.atomic
def add_rule(
    *,
    approvals: int,
    actor_id: int | None,
    pool_id: int | None = None,
    min_gpus: int | None = None,
    min_hours: int | None = None,
    min_cost_micro: int | None = None,
) -> ApprovalRule:
    """Let so many people have to agree to what is submitted from now on and reaches all of it."""
    figures = dict(zip(FIGURES, (min_gpus, min_hours, min_cost_micro), strict=True))
    faults = {
        name: _("Give a whole number, 1 or more.")
        for name, value in figures.items()
        if value is not None and not 1 <= value < 2**62
    }
    if not 0 <= approvals <= MOST_APPROVALS:
        faults["approvals"] = _("Give a whole number from 0 to %(most)s.") % {
            "most": MOST_APPROVALS
        }
    if faults:
        raise Invalid(_("This rule cannot be set."), fields=faults)
    if pool_id is not None and not Pool.objects.filter(pk=pool_id).exists():
        raise Missing
    rule = ApprovalRule.objects.create(pool_id=pool_id, approvals=approvals, **figures)
    _record("requests.rule_added", rule, actor_id)
    return rule


@transaction.atomic
def drop_rule(*, rule_id: int, actor_id: int | None) -> None:
    """Let a rule bind nothing that is submitted from now on."""
    rule = ApprovalRule.objects.filter(pk=rule_id).first()
    if rule is None:
        raise Missing
    _record("requests.rule_dropped", rule, actor_id)
    rule.delete()


def _record(action: str, rule: ApprovalRule, actor_id: int | None) -> None:
    audit.record(
        actor_id=actor_id, action=action, target_type="approval_rule", target_id=rule.pk,
        data={
            "pool": rule.pool_id, "approvals": rule.approvals,
            **{name: getattr(rule, name) for name in FIGURES},
        },
    )  # fmt: skip
