"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    FREE,
    ID,
    INSTANT,
    NAMED,
    NUMBER,
    TEXT,
    WHOLE,
    many,
    named,
    obj,
    or_null,
)

_AMOUNTS = {
    "guaranteed": COUNT, "reserved": COUNT, "fair_share": COUNT, "allocated": COUNT,
    "borrowed": COUNT, "lent": COUNT, "dominant_share": NUMBER,
}  # fmt: skip
_QUANTILES = {
    "jobs": COUNT, "still_waiting": COUNT,
    "quantiles": many(obj({"percent": COUNT, "seconds": or_null(WHOLE), "reached": FLAG})),
}  # fmt: skip
FAIRNESS = named(
    "Fairness",
    obj({"team": NAMED, **_AMOUNTS, "waits": or_null(obj(_QUANTILES)), "sentence": TEXT}),
)
FAIRNESS_STEP = named(
    "FairnessStep",
    obj(
        {
            "at": INSTANT, "jain": or_null(NUMBER),
            "teams": or_null(many(obj({"team": NAMED, **_AMOUNTS}))),
        }
    ),
)  # fmt: skip
FAIRNESS_PAIR = named(
    "FairnessPair", obj({"borrower": NAMED, "lender": or_null(NAMED), "gpu_milli": COUNT})
)
FAIRNESS_WAITS = named(
    "FairnessWaits",
    obj({"key": {"type": ["integer", "string", "null"]}, "label": TEXT, **_QUANTILES}),
)
STARVING = named(
    "Starving",
    obj(
        {
            "id": ID, "name": or_null(TEXT), "team": obj({"id": or_null(ID), "name": TEXT}),
            "waited_seconds": COUNT, "target_seconds": or_null(COUNT), "reason": TEXT,
        }
    ),
)  # fmt: skip
AUDIT_LINE = named(
    "AuditLine",
    obj(
        {
            "id": ID, "at": INSTANT, "actor": or_null(ID), "action": TEXT,
            "target": obj({"type": TEXT, "id": or_null(WHOLE)}), "team": or_null(ID),
            "data": FREE, "request_id": TEXT, "previous_hash": TEXT, "hash": TEXT,
        }
    ),
)  # fmt: skip
