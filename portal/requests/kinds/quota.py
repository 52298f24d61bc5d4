"""What a team is promised and may use at most in a pool, from an instant on."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.quotas import selectors as quotas
from portal.quotas import services as quota_services
from portal.requests import quota_figures
from portal.requests.kinds.contract import Faults, Plain, beyond_pool, whole_between
from portal.requests.kinds.reservation import SLACK
from portal.requests.models import Request
from portal.requests.quota_figures import FIGURES


class QuotaChange(Plain):
    """A change of a team's figures in a pool; all of them are asked for at once."""

    columns = frozenset({*FIGURES, "starts_at", "zone"})
    in_part = True

    def faults(self, row: Request, now: datetime) -> Faults:
        """Numbers that contradict each other, and a past beginning."""
        found = {
            **whole_between(row, FIGURES[:4], 0, _("Give a whole number, 0 or more.")),
            **whole_between(row, FIGURES[4:], 1, _("Give a whole number, 1 or more.")),
        }
        if row.guaranteed is not None and row.limit is not None and row.guaranteed > row.limit:
            found["limit"] = _("The limit is below the guarantee.")
        if row.starts_at is not None and row.starts_at < now - SLACK:
            found["starts_at"] = _("It begins in the past.")
        return found

    def missing(self, row: Request, now: datetime) -> Faults:
        """The guarantee, and a difference to what holds then; other figures may be open."""
        if row.guaranteed is None:
            return {"guaranteed": _("Say how many GPUs.")}
        had = quota_figures.get(
            team_id=row.team_id, pool_id=row.pool_id, at=max(row.starts_at or now, now)
        )
        if all(getattr(row, name) == value for name, value in had.items()):
            return {"guaranteed": _("The team has these figures already: change one of them.")}
        return {}

    def beyond(self, row: Request, now: datetime) -> Faults:
        """A guarantee of more GPUs than the pool has from then on."""
        return beyond_pool(row, row.guaranteed, max(row.starts_at or now, now), None)

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """The guarantee asked for, or one between it and what they would have then."""
        asked = row.guaranteed or 0
        granted = asked if granted_gpus is None else granted_gpus
        begins = max(row.starts_at or now, now)
        had = quotas.get_quota(team_id=row.team_id, pool_id=row.pool_id, at=begins)
        least = min(asked, had.guaranteed if had else 0)
        if not least <= granted <= asked:
            say = _("Grant a guarantee from %(least)s to %(asked)s GPUs.")
            say = say % {"least": least, "asked": asked}
            raise Invalid(say, code="cannot_grant", fields={"granted_gpus": say})
        return granted

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Change the quota from the asked instant on, or from now when that has passed."""
        changed = quota_services.change(
            team_id=row.team_id, pool_id=row.pool_id, guaranteed=granted_gpus, limit=row.limit,
            borrowing_limit=row.borrowing_limit,
            lending_limit=row.lending_limit,
            weight=row.weight, per_user_limit=row.per_user_limit,
            valid_from=max(row.starts_at or now, now), actor_id=actor_id, now=now,
            request_id=row.pk,
        )  # fmt: skip
        return {"quota_id": changed.pk}
