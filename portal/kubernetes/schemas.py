"""What the room's API takes and answers, as JSON Schema."""

from portal.common.api_shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    FREE,
    ID,
    INSTANT,
    NUMBER,
    TEXT,
    between,
    many,
    named,
    obj,
    one_of,
    or_null,
    page,
    text,
)
from portal.inventory.models import ClusterKind, ClusterMode
from portal.kubernetes import composing, job_form, selectors
from portal.kubernetes.models import StopState, SyncState, Verb
from portal.workloads.models import Kind

_BEAT = named("Beat", obj({"at": or_null(INSTANT), "real_at": or_null(INSTANT), "stale": FLAG}))
CLUSTER = named(
    "Cluster",
    obj(
        {
            "id": ID, "name": TEXT, "kind": one_of(ClusterKind.values),
            "mode": one_of(ClusterMode.values), "read": _BEAT, "tick": _BEAT, "sync": _BEAT,
            "paused_at": or_null(INSTANT), "pause_reason": or_null(TEXT), "drift": COUNT,
            "quotas_not_in_force": COUNT, "quotas_without_effect": COUNT,
            "policies_missing": or_null(many(TEXT)), "ray_mismatches": COUNT, "stops": COUNT,
            "stops_that_stand_still": COUNT, "last_error": or_null(TEXT),
        }
    ),
)  # fmt: skip
_FIELD = {"kind": TEXT, "namespace": TEXT, "name": TEXT, "field": TEXT}
CHANGE = named("FieldChange", obj({**_FIELD, "from": ANYTHING, "to": ANYTHING}))
DRIFT = named(
    "Drift",
    obj(
        {
            "id": ID, "sort_of": one_of(selectors.SORTS), **_FIELD, "wanted": ANYTHING,
            "found": ANYTHING, "manager": or_null(TEXT), "opened_at": INSTANT,
            "closed_at": or_null(INSTANT), "meaning": or_null(TEXT), "may_be_taken_over": FLAG,
        }
    ),
)  # fmt: skip
SYNC = named(
    "Sync",
    obj(
        {
            "id": ID, "cluster": ID, "tick": or_null(ID), "at": INSTANT,
            "state": one_of(SyncState.values), "intended": COUNT, "writes": COUNT,
            "took_ms": COUNT, "message": or_null(TEXT), "undoes": or_null(ID),
            "undone_by": or_null(ID),
        }
    ),
)  # fmt: skip
_PAGE_OF_CHANGES = page(CHANGE)
SYNC_IN_FULL = named(
    "SyncInFull",
    obj(
        {
            "sync": SYNC, "count": COUNT, "next": or_null({"type": "string", "format": "uri"}),
            "previous": or_null({"type": "string", "format": "uri"}), "results": many(CHANGE),
        }
    ),
)  # fmt: skip
RAY = named(
    "RayGroup",
    obj(
        {
            "namespace": TEXT, "name": TEXT, "group": TEXT, "desired": COUNT, "available": COUNT,
            "pod_gpus": COUNT, "ray_gpus": COUNT, "matches": FLAG, "since": INSTANT,
            "repair": or_null(TEXT),
        }
    ),
)  # fmt: skip
DRY_RUN = named(
    "DryRun",
    obj(
        {
            "writes": many(CHANGE), "jobs": many(CHANGE),
            "left": many(
                obj({**_FIELD, "wanted": ANYTHING, "found": ANYTHING, "manager": or_null(TEXT)})
            ),
        }
    ),
)  # fmt: skip
ASK = named(
    "Ask",
    obj(
        {
            "id": ID, "workload": ID, "tick": ID, "verb": one_of(Verb.values), "kind": TEXT,
            "namespace": TEXT, "name": TEXT, "at": INSTANT, "last_at": INSTANT, "times": COUNT,
            "answer": or_null(TEXT),
            "changes": many(obj({"field": TEXT, "from": ANYTHING, "to": ANYTHING})),
        }
    ),
)  # fmt: skip
STOP = named(
    "Stop",
    obj(
        {
            "id": ID, "workload": ID, "for": or_null(ID), "tick": ID, "why": TEXT,
            "tasks": or_null(COUNT), "state": one_of(StopState.values), "opened_at": INSTANT,
            "message": or_null(TEXT),
        }
    ),
)  # fmt: skip
UNDO_LOOK = named(
    "UndoPreview",
    obj(
        {
            "sync": ID, "possible": FLAG, "writes": many(CHANGE), "removes": many(CHANGE),
            "moved": many(obj({**_FIELD, "written": ANYTHING, "found": ANYTHING})),
        }
    ),
)  # fmt: skip
JOB = named(
    "JobCheck",
    obj(
        {
            "starts": FLAG, "planned_start": or_null(INSTANT), "sentence": TEXT,
            "more": many(TEXT), "charge": TEXT, "manifest": FREE, "yaml": TEXT,
        }
    ),
)  # fmt: skip
_MODE = one_of(ClusterMode.values)
MODE_BODY = named("ModeBody", obj({"was": _MODE, "mode": _MODE}))
PAUSE_BODY = named("PauseBody", obj({"reason": text(500, least=1)}))
UNDO_BODY = named("UndoBody", obj({"sync": ID}))
JOB_BODY = named(
    "JobBody",
    obj(
        {},
        maybe={
            "namespace": or_null(ID), "pool": or_null(ID), "kind": one_of(composing.KINDS),
            "job_class": one_of(Kind.values), "gpus": between(1, job_form.MOST_GPUS),
            "pods": between(1, job_form.MOST_PODS), "cpu": between(1, job_form.MOST_CPU),
            "memory_gib": between(1, job_form.MOST_GIB),
            "hours": or_null({**NUMBER, "minimum": 0.01, "maximum": 8760}),
            "save_seconds": or_null(between(0, job_form.LONGEST_SAVE)),
            "restore_seconds": or_null(between(0, job_form.LONGEST_SAVE)),
            "reservation": or_null(ID),
            "charge": one_of(["", composing.GUARANTEED, composing.BURST]),
            "name": {**text(63, least=1), "pattern": f"^{job_form.LABEL.pattern}$"},
            "image": text(300, least=1), "command": text(2000),
        },
    ),
)  # fmt: skip
