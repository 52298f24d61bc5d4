"""The refusals a change of figures meets, in words and numbers."""

from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from portal.common.errors import Conflict, Invalid
from portal.inventory.models import Pool
from portal.quotas.bounds import Bound, Fence
from portal.teams.models import Team


def contradicting(figures: Mapping[str, int | None], faults: Mapping[str, str]) -> Invalid:
    """Figures that cannot hold together."""
    return Invalid(_("These figures cannot hold together."), fields=faults, details={**figures})


def in_the_past() -> Invalid:
    """A change that would begin before now."""
    return Invalid(
        _("A quota cannot change in the past."),
        code="in_the_past",
        fields={"valid_from": _("is in the past")},
    )


def changed_meanwhile(team_id: int) -> Conflict:
    """Somebody changed the team's figures since they were read."""
    name = Team.objects.values_list("name", flat=True).get(pk=team_id)
    return Conflict(
        _("The figures of %(team)s were changed meanwhile. Read them again, then edit.")
        % {"team": name},
        code="changed_meanwhile",
        details={"team_id": team_id},
    )


def above_limit(*, pool_id: int, changed: frozenset[int], bound: Bound) -> Conflict:
    """A limit, of one of the teams changed or of a branch above, is too low."""
    words = {
        **_names(bound.team_id, pool_id, bound.from_at),
        "guaranteed": bound.guaranteed,
        "reserved": bound.reserved,
        "limit": bound.limit,
    }
    message = _(
        "At %(at)s %(team)s would be guaranteed %(guaranteed)d GPUs of pool %(pool)s and has "
        "reserved %(reserved)d, above its limit of %(limit)d. Raise the limit, or guarantee less."
    )
    own = bound.team_id in changed
    return Conflict(
        message % words,
        code="above_limit",
        fields={"limit" if own else "guaranteed": message % words},
        details={
            "team_id": bound.team_id, "pool_id": pool_id, "at": bound.from_at.isoformat(),
            "guaranteed": bound.guaranteed, "reserved": bound.reserved, "limit": bound.limit,
        },
    )  # fmt: skip


def fenced(*, team_id: int, pool_id: int, fence: Fence) -> Conflict:
    """Reservations set more of the guarantee aside than it would be."""
    words = {
        **_names(team_id, pool_id, fence.from_at),
        "fenced": fence.fenced,
        "guaranteed": fence.guaranteed,
    }
    message = _(
        "At %(at)s reservations set %(fenced)d GPUs of the guarantee aside, and it would be "
        "%(guaranteed)d. Cancel a reservation, or guarantee more."
    )
    return Conflict(
        message % words,
        code="guarantee_fenced",
        fields={"guaranteed": message % words},
        details={
            "team_id": team_id, "pool_id": pool_id, "at": fence.from_at.isoformat(),
            "guaranteed": fence.guaranteed, "fenced": fence.fenced,
        },
    )  # fmt: skip


def _names(team_id: int, pool_id: int, at: datetime) -> dict[str, str]:
    return {
        "at": f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}",
        "team": Team.objects.values_list("name", flat=True).get(pk=team_id),
        "pool": Pool.objects.values_list("name", flat=True).get(pk=pool_id),
    }
