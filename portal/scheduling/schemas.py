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
    by_key,
    many,
    named,
    obj,
    one_of,
    or_null,
)
from portal.scheduling.models import TickState, Verb
from portal.workloads.models import ChargedTo, Kind, WorkloadState

SENTENCE = named("Sentence", obj({"text": TEXT, "strong": TEXT, "also": many(TEXT)}))
FORECAST = named(
    "Forecast", obj({"made_at": INSTANT, "p50": or_null(INSTANT), "p90": or_null(INSTANT)})
)
_WORKLOAD = {
    "id": ID, "title": TEXT, "name": or_null(TEXT), "person": or_null(TEXT),
    "kind": or_null(one_of(Kind.values)), "team": or_null(NAMED), "cluster": ID,
    "pool": or_null(NAMED), "tasks": COUNT, "gpu_milli": COUNT,
    "state": one_of(WorkloadState.values), "charged_to": or_null(one_of(ChargedTo.values)),
    "submitted_at": INSTANT, "scheduled_at": or_null(INSTANT), "ended_at": or_null(INSTANT),
    "waited_seconds": WHOLE, "verb": or_null(one_of(Verb.values)), "reason": or_null(TEXT),
    "detail": FREE, "sentence": SENTENCE, "position": or_null(COUNT),
    "planned_start": or_null(INSTANT), "forecast": or_null(FORECAST),
}  # fmt: skip
WORKLOAD = named("Workload", obj(_WORKLOAD))
DECISION = named(
    "Decision",
    obj(
        {
            "id": ID, "tick": ID, "at": INSTANT, "verb": one_of(Verb.values),
            "reason": or_null(TEXT), "detail": FREE, "charged_to": or_null(TEXT),
            "planned_start": or_null(INSTANT), "sentence": SENTENCE,
        }
    ),
)  # fmt: skip
_PLACEMENT = {
    "pod": TEXT, "node_id": or_null(ID), "node_name": TEXT, "gpu_milli": COUNT,
    "devices": many(COUNT), "charged_to": TEXT, "created_at": INSTANT,
    "scheduled_at": or_null(INSTANT), "mounted_at": or_null(INSTANT),
    "initialized_at": or_null(INSTANT), "started_at": or_null(INSTANT),
    "ready_at": or_null(INSTANT), "stopping_at": or_null(INSTANT),
    "closed_at": or_null(INSTANT), "restarts": COUNT, "why": TEXT,
}  # fmt: skip
WORKLOAD_IN_FULL = named(
    "WorkloadInFull",
    obj(
        {
            **_WORKLOAD, "namespace": TEXT, "owner_kind": TEXT, "priority": WHOLE,
            "min_tasks": or_null(COUNT),
            "per_task": obj({"gpu_milli": COUNT, "cpu_milli": COUNT, "memory_mib": COUNT}),
            "preemptible": FLAG, "preemptions": COUNT, "duration_seconds": or_null(COUNT),
            "reservation": or_null(ID), "cluster_reason": or_null(TEXT),
            "cluster_message": or_null(TEXT), "seen_at": INSTANT,
            "stages": obj(
                {
                    "submitted_at": INSTANT, "admitted_at": or_null(INSTANT),
                    "scheduled_at": or_null(INSTANT), "ready_at": or_null(INSTANT),
                    "first_step_at": or_null(INSTANT), "ended_at": or_null(INSTANT),
                }
            ),
            "events": many(obj({"at": INSTANT, "state": TEXT, "why": TEXT})),
            "placements": many(obj(_PLACEMENT)), "decisions": many(DECISION),
        }
    ),
)  # fmt: skip
TICK = named(
    "Tick",
    obj(
        {
            "id": ID, "cluster": NAMED, "at": INSTANT, "state": one_of(TickState.values),
            "message": or_null(TEXT), "policy": or_null(ID), "took_ms": COUNT, "waiting": COUNT,
            "running": COUNT, "starts": COUNT, "preemptions": COUNT, "jain": or_null(NUMBER),
            "placement_mode": or_null(TEXT),
            "fragmentation": many(
                obj(
                    {
                        "pool_id": ID, "free_gpu_milli": COUNT, "largest_on_one_node": COUNT,
                        "fragmented_gpu_milli": COUNT,
                    }
                )
            ),
        }
    ),
)  # fmt: skip
SHARE = named(
    "Share",
    obj(
        {
            "team": NAMED, "pool": NAMED, "cluster": ID, "tick": ID, "as_of": INSTANT,
            "guaranteed": COUNT, "reserved": COUNT, "fair_share": COUNT, "allocated": COUNT,
            "borrowed": COUNT, "lent": COUNT, "available": WHOLE, "dominant_share": NUMBER,
            "satisfaction": NUMBER, "factor": or_null(NUMBER), "guaranteed_gpus": COUNT,
            "burst_gpus": COUNT,
        }
    ),
)  # fmt: skip
LOAN = named(
    "Loan",
    obj({"pool": NAMED, "lender": or_null(NAMED), "borrower": NAMED, "gpu_milli": COUNT}),
)
WAIT = named(
    "Wait",
    obj(
        {
            "team": NAMED, "jobs": COUNT, "still_waiting": COUNT, "p50_seconds": COUNT,
            "p90_seconds": COUNT,
        }
    ),
)  # fmt: skip
SCORE = named(
    "ForecastScore",
    obj(
        {
            "team": NAMED, "pool": or_null(NAMED), "made": COUNT, "unsaid": COUNT,
            "judged": COUNT, "started_by_p50": COUNT, "started_by_p90": COUNT,
            "median_error_seconds": or_null(WHOLE),
        }
    ),
)  # fmt: skip
POLICY = named(
    "Policy",
    obj(
        {
            "id": COUNT, "cluster": ID, "rules": FREE, "valid_from": or_null(INSTANT),
            "created_by": or_null(ID), "note": TEXT,
        }
    ),
)  # fmt: skip
_BOTH = obj({"now": WHOLE, "then": WHOLE})
REHEARSAL = named(
    "PolicyDryRun",
    obj(
        {
            "same": FLAG, "counts": by_key(COUNT), "starts": _BOTH, "stops": _BOTH,
            "waiting": _BOTH,
            "jobs": many(obj({
                "workload": or_null(ID), "name": TEXT, "team": or_null(ID), "kind": TEXT,
                "planned_now": or_null(INSTANT), "planned_then": or_null(INSTANT),
            })),
            "teams": many(obj({
                "team": ID, "name": TEXT, "fair_share_milli": _BOTH, "allocated_milli": _BOTH,
                "borrowed_milli": _BOTH,
            })),
        }
    ),
)  # fmt: skip
POLICY_BODY = named("PolicyBody", {**FREE, "minProperties": 1})
"""The `policy` object of the engine's contract."""
