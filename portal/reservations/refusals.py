"""The refusals a team's own figures cause, in words and numbers."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common.errors import Conflict
from portal.inventory.models import Pool
from portal.quotas.bounds import Bound, Fence
from portal.teams.models import Team


def above_limit(*, pool_id: int, gpus: int, bound: Bound) -> Conflict:
    """The limit of the team, or of a branch it stands in, is too low."""
    message = _(
        "At %(at)s %(team)s has a limit of %(limit)d GPUs of pool %(pool)s: %(guaranteed)d are "
        "guaranteed, %(reserved)d reserved, and %(asked)d more are asked. Ask for fewer GPUs, or "
        "for a higher limit first."
    ) % {
        **_names(bound.team_id, pool_id, bound.from_at),
        "limit": bound.limit,
        "guaranteed": bound.guaranteed,
        "reserved": bound.reserved,
        "asked": gpus,
    }
    return Conflict(
        message,
        code="above_limit",
        fields={"gpus": message},
        details={
            "team_id": bound.team_id, "pool_id": pool_id, "at": bound.from_at.isoformat(),
            "until": bound.to_at.isoformat(), "limit": bound.limit,
            "guaranteed": bound.guaranteed, "reserved": bound.reserved, "asked": gpus,
            "left": max(0, bound.left or 0),
        },
    )  # fmt: skip


def guarantee_exceeded(*, team_id: int, pool_id: int, gpus: int, fence: Fence) -> Conflict:
    """The guarantee has less left than is to be set aside."""
    message = _(
        "At %(at)s %(team)s is guaranteed %(guaranteed)d GPUs of pool %(pool)s, %(fenced)d of "
        "them set aside already, and %(asked)d more are asked. Ask for fewer GPUs, or take them "
        "from the pool."
    ) % {
        **_names(team_id, pool_id, fence.from_at),
        "guaranteed": fence.guaranteed,
        "fenced": fence.fenced,
        "asked": gpus,
    }
    return Conflict(
        message,
        code="guarantee_exceeded",
        fields={"gpus": message},
        details={
            "team_id": team_id, "pool_id": pool_id, "at": fence.from_at.isoformat(),
            "until": fence.to_at.isoformat(), "guaranteed": fence.guaranteed,
            "fenced": fence.fenced, "asked": gpus, "left": max(0, fence.left),
        },
    )  # fmt: skip


def _names(team_id: int, pool_id: int, at: datetime) -> dict[str, str]:
    return {
        "at": f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}",
        "team": Team.objects.values_list("name", flat=True).get(pk=team_id),
        "pool": Pool.objects.values_list("name", flat=True).get(pk=pool_id),
    }
