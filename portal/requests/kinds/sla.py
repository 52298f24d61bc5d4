"""How long a team waits at most in a pool, from an instant on."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common.errors import Missing
from portal.requests.kinds.contract import Faults, Plain, whole
from portal.requests.kinds.reservation import SLACK
from portal.requests.models import Request
from portal.slas import services as slas
from portal.slas import targets
from portal.slas.models import Tier


class SlaChange(Plain):
    """Another tier for a team in a pool."""

    columns = frozenset({"tier_id", "starts_at", "ends_at", "zone"})
    in_part = False

    def faults(self, row: Request, now: datetime) -> Faults:
        """A tier nobody is given any more, and a time that has passed."""
        found: Faults = {}
        offered = Tier.objects.filter(retired_at__isnull=True)
        if row.tier_id is not None and not offered.filter(pk=row.tier_id).exists():
            found["tier"] = _("There is no such tier.")
        if row.starts_at is not None and row.starts_at < now - SLACK:
            found["starts_at"] = _("It begins in the past.")
        if row.ends_at is not None and row.ends_at <= max(row.starts_at or now, now):
            found["ends_at"] = _("It ends before it begins.")
        return found

    def missing(self, row: Request, now: datetime) -> Faults:
        """Which tier, and a difference to what holds then."""
        if row.tier_id is None:
            return {"tier": _("Say which tier.")}
        at = max(row.starts_at or now, now)
        had = targets.get_targets(now=now).of(row.team_id, row.pool_id, at)
        if had is not None and had.tier_id == row.tier_id and had.valid_to == row.ends_at:
            return {"tier": _("The team has this tier already.")}
        return {}

    def lapses_at(self, row: Request) -> datetime | None:
        """At its end."""
        return row.ends_at

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """There is no part of a promise."""
        return whole(0, granted_gpus)

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Give the tier from the asked instant on, or from now when that has passed."""
        made = slas.set_sla(
            team_id=row.team_id, pool_id=row.pool_id, tier_id=row.tier_id,
            valid_from=max(row.starts_at or now, now), valid_to=row.ends_at, actor_id=actor_id,
            now=now, request_id=row.pk,
        )  # fmt: skip
        if made is None:
            raise Missing
        return {"sla_id": made.pk}
