"""A request that would go beyond a refusing budget is refused with the numbers, and stays a draft."""

from datetime import datetime

import pytest

from portal.common.errors import Conflict
from portal.finance import services as finance
from portal.requests import services
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
    if not refused:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
        return
    with pytest.raises(Conflict) as refusal:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)
    assert refusal.value.code == "beyond_budget"
    assert refusal.value.details["asked"] == 16 * HOUR
    row.refresh_from_db()
    assert row.state == RequestState.DRAFT
