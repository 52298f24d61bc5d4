"""A request that would go beyond a refusing budget is refused with the numbers, and stays a draft."""

from datetime import datetime

import pytest

from portal.common.errors import Conflict
from portal.finance import services as finance
from portal.requests import feasibility, sentences, services
from portal.requests.models import RequestState
from tests.portal.requests.world import World, a_draft

pytestmark = pytest.mark.django_db
HOUR = 3_600_000


@pytest.mark.parametrize(("limit", "refused"), [(15, True), (16, False)])
def test_four_gpus_for_four_hours_need_sixteen_hours_of_budget(
    world: World, now: datetime, limit: int, refused: bool
) -> None:
    finance.set_budget(
        team_id=world.vision.pk, period="year", gpu_milli_seconds=limit * HOUR, refuses=True,
        actor_id=None, now=now,
    )  # fmt: skip
    row = a_draft(world, now)
    found = feasibility.check(
        team_id=row.team_id, pool_id=row.pool_id, gpus=row.gpus or 0, gpus_per_node=None,
        source=row.source, starts_at=row.starts_at or now, ends_at=row.ends_at or now, now=now,
    )  # fmt: skip
    said = sentences.of_reservation(found, now, with_price=True)
    assert (said.tone == "warn", "would cost 16" in said.lines[1]) == (refused, refused)
    unseen = sentences.of_reservation(found, now, with_price=False)
    assert unseen.tone == "good"
    if not refused:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
        return
    with pytest.raises(Conflict) as refusal:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    assert refusal.value.code == "beyond_budget"
    assert refusal.value.details["asked"] == 16 * HOUR
    row.refresh_from_db()
    assert row.state == RequestState.DRAFT
