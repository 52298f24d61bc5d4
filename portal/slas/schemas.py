"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import COUNT, ID, INSTANT, NAMED, TEXT, named, obj, one_of, or_null
from portal.slas.models import BreachKind

TIER = named(
    "Tier",
    obj(
        {
            "id": ID, "name": TEXT, "target_wait_seconds": COUNT, "goal_permille": COUNT,
            "answer_seconds": or_null(COUNT),
        }
    ),
)  # fmt: skip
_SLA = {
    "id": ID, "team": NAMED, "pool": or_null(ID), "tier": NAMED, "target_wait_seconds": COUNT,
    "goal_permille": COUNT, "answer_seconds": or_null(COUNT), "valid_from": INSTANT,
    "valid_to": or_null(INSTANT), "request": or_null(ID),
}  # fmt: skip
SLA = named("Sla", obj(_SLA))
SLA_SET = named("SlaSet", obj({"sla": or_null(SLA)}))
ATTAINMENT = named(
    "Attainment",
    obj(
        {
            **_SLA, "met": COUNT, "missed": COUNT, "still_late": COUNT, "undecided": COUNT,
            "permille": or_null(COUNT),
        }
    ),
)  # fmt: skip
BREACH = named(
    "Breach",
    obj(
        {
            "id": ID, "kind": one_of(BreachKind.values), "team": NAMED, "sla": ID, "tier": TEXT,
            "workload": or_null(ID), "request": or_null(ID), "due_at": INSTANT,
            "ended_at": or_null(INSTANT), "owner": or_null(ID),
            "acknowledged_at": or_null(INSTANT), "acknowledged_by": or_null(ID), "note": TEXT,
            "version": COUNT,
        }
    ),
)  # fmt: skip
