"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    FREE,
    ID,
    INSTANT,
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
from portal.studies.models import Draw, StudyState
from portal.studies.verdicts import Verdict
from scheduler_core.traces import READERS

_STUDY = {
    "id": ID, "name": TEXT, "state": one_of(StudyState.values), "jobs_of": TEXT, "change": FREE,
    "change_in_words": TEXT, "draw": one_of(Draw.values), "seeds": many(WHOLE),
    "team": or_null(ID), "kept": FLAG, "created_at": INSTANT, "done": NUMBER, "message": TEXT,
}  # fmt: skip
STUDY = named("Study", obj(_STUDY))
FIGURE = named(
    "StudyFigure",
    obj(
        {
            "base": NUMBER, "changed": NUMBER, "difference": NUMBER, "low": or_null(NUMBER),
            "high": or_null(NUMBER), "agree": COUNT, "seeds": COUNT, "unit": TEXT,
            "verdict": one_of([one.value for one in Verdict]),
        }
    ),
)  # fmt: skip
STUDY_IN_FULL = named(
    "StudyInFull",
    obj(
        {
            **_STUDY, "note": TEXT, "cluster": or_null(ID), "nodes": TEXT,
            "from": or_null(INSTANT), "to": or_null(INSTANT), "base_rules": by_key(ANYTHING),
            "jobs": or_null(COUNT), "left_out": COUNT, "never_fit": COUNT,
            "seconds_left": or_null(NUMBER), "currency": TEXT,
            "figures": by_key(FIGURE),
            "teams": many(obj({"team": or_null(ID), "name": TEXT, "jobs": NUMBER,
                               "figures": by_key(FIGURE)})),
        }
    ),
)  # fmt: skip
TRACE = named(
    "Trace",
    obj(
        {
            "id": ID, "name": TEXT, "format": one_of(READERS), "jobs": COUNT, "bad_rows": COUNT,
            "bytes": COUNT, "length_seconds": NUMBER, "studies": COUNT, "created_at": INSTANT,
        }
    ),
)  # fmt: skip
