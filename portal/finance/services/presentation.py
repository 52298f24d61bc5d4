"""Showing money, or GPU-hours only."""

from datetime import datetime

from django.db import transaction

from portal.common import audit
from portal.finance.models import Presentation


@transaction.atomic
def show_money(*, shows: bool, actor_id: int | None, now: datetime) -> None:
    """Show amounts, or hide them everywhere; what is reckoned stays the same."""
    Presentation.objects.update_or_create(
        id=1, defaults={"shows_money": shows, "changed_at": now, "changed_by_id": actor_id}
    )
    audit.record(
        actor_id=actor_id, action="finance.presentation_set", target_type="presentation",
        target_id=1, data={"shows_money": shows},
    )  # fmt: skip
