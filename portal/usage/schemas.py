"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    ID,
    INSTANT,
    NAMED,
    TEXT,
    named,
    obj,
    one_of,
    or_null,
)
from portal.workloads.models import ChargedTo

USE = named(
    "Use",
    obj(
        {
            "team": or_null(NAMED), "pool": ID, "charged_to": one_of(ChargedTo.values),
            "gpu_milli_seconds": COUNT,
        }
    ),
)  # fmt: skip
PART = named(
    "UsePart",
    obj(
        {
            "key": {"type": ["integer", "string", "null"]}, "label": TEXT,
            "gpu_milli_seconds": COUNT, "estimated_milli_seconds": COUNT,
            "measured_milli_seconds": COUNT, "used_milli_seconds": COUNT,
        }
    ),
)  # fmt: skip
KEPT = named("Kept", obj({"kept": COUNT}))
MONITORING = named(
    "Monitoring",
    obj(
        {
            "address": or_null(TEXT), "selector": or_null(TEXT), "has_token": or_null(FLAG),
            "read_until": or_null(INSTANT), "read_at": or_null(INSTANT), "pods": or_null(COUNT),
            "last_error": or_null(TEXT),
        }
    ),
)  # fmt: skip
