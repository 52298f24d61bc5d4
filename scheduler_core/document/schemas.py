"""JSON Schema of the three documents, for editors and for checks in other languages.

It says what one value may be; what the parts say of each other only `references` knows.
"""

from scheduler_core.document.fields import Json
from scheduler_core.document.records import DIVISION, SNAPSHOT
from scheduler_core.model import CHARGES, SCHEMA

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_WHOLE: Json = {"type": "integer"}
_RATIO: Json = {"type": "number"}
_CHARGE: Json = {"enum": list(CHARGES)}
_FLAG: Json = {"type": "boolean"}


def _maybe(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(schema: Json) -> Json:
    return {"type": "array", "items": schema}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_PLACEMENT = _object({"node": _TEXT, "tasks": _COUNT, "gpus": _list(_list(_COUNT))})
_SHARE_COUNTS = (
    "guaranteed",
    "reserved",
    "fair_share",
    "allocated",
    "borrowed",
    "lent",
    "available",
)

_PLAN = _object(
    {
        "schema": {"const": SCHEMA},
        "now": _COUNT,
        "starts": _list(
            _object(
                {
                    "workload": _TEXT,
                    "placements": _list(_PLACEMENT),
                    "charged_to": _CHARGE,
                    "backfilled": _FLAG,
                    "after": _list(_TEXT),
                }
            )
        ),
        "running": _list(_object({"workload": _TEXT, "charged_to": _CHARGE})),
        "preemptions": _list(
            _object(
                {
                    "workload": _TEXT,
                    "for": _TEXT,
                    "why": _TEXT,
                    "tasks": _maybe(_COUNT),
                    "lost_gpu_seconds": _COUNT,
                }
            )
        ),
        "waiting": _list(
            _object(
                {
                    "workload": _TEXT,
                    "position": _COUNT,
                    "reason": _TEXT,
                    "detail": {"type": "object"},
                    "planned_start": _maybe(_WHOLE),
                }
            )
        ),
        "shares": _list(
            _object(
                {
                    "team": _TEXT,
                    "pool": _TEXT,
                    **dict.fromkeys(_SHARE_COUNTS, _COUNT),
                    "dominant_share": _RATIO,
                    "satisfaction": _RATIO,
                    "factor": _maybe(_RATIO),
                }
            )
        ),
        "quotas": _list(
            _object({"team": _TEXT, "pool": _TEXT, "guaranteed_gpus": _COUNT, "burst_gpus": _COUNT})
        ),
        "fairness": _object({"jain": _RATIO}),
        "placement_mode": _TEXT,
        "fragmentation": _list(
            _object(
                {
                    "pool": _TEXT,
                    "free_gpu_milli": _COUNT,
                    "largest_on_one_node": _COUNT,
                    "fragmented_gpu_milli": _COUNT,
                }
            )
        ),
    }
)


def schema_to_json() -> Json:
    """Return the JSON Schema of snapshot, plan and division, under `$defs`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"snapshot": SNAPSHOT.schema, "plan": _PLAN, "division": DIVISION.schema},
    }
