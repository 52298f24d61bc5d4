"""What the room's API takes and answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    FREE,
    ID,
    INSTANT,
    NAMED,
    TEXT,
    WHOLE,
    Shape,
    between,
    by_key,
    many,
    named,
    obj,
    one_of,
    or_null,
    text,
)
from portal.requests.answers import Rule, WayKind
from portal.requests.faulting import LONGEST_TEXT
from portal.requests.kinds.contract import MOST
from portal.requests.models import RequestKind, RequestState
from portal.requests.quota_figures import FIGURES
from portal.reservations import rules as booking
from portal.reservations.models import Source
from portal.workloads.models import Kind, Placing

COMMENT = named("Comment", obj({"id": ID, "author": or_null(ID), "at": INSTANT, "text": TEXT}))
_REQUEST = {
    "id": ID, "kind": one_of(RequestKind.values), "state": one_of(RequestState.values),
    "lapsed": FLAG, "team": NAMED, "pool": NAMED, "requested_by": or_null(ID),
    "submitted_by": or_null(ID), "reason": TEXT, "granted_gpus": or_null(COUNT),
    "created_at": INSTANT, "submitted_at": or_null(INSTANT), "expires_at": or_null(INSTANT),
    "decided_at": or_null(INSTANT), "decided_by": or_null(ID), "cancelled_by": or_null(ID),
    "decision_note": TEXT, "reservation": or_null(ID), "quota": or_null(ID),
    "sla": or_null(ID), "approvals_needed": or_null(COUNT), "version": COUNT,
}  # fmt: skip
_OF_ITS_KIND = {
    "about": or_null(ID), "gpus": or_null(COUNT), "gpus_per_node": or_null(COUNT),
    "source": one_of(["", *Source.values]), "starts_at": or_null(INSTANT),
    "ends_at": or_null(INSTANT), "zone": TEXT, "tier": or_null(ID),
    **{figure: or_null(COUNT) for figure in FIGURES}, "cost_micro": or_null(WHOLE),
    "currency": TEXT,
}  # fmt: skip
REQUEST = named("Request", obj(_REQUEST, maybe=_OF_ITS_KIND))
REQUEST_IN_FULL = named(
    "RequestInFull", obj({**_REQUEST, "comments": many(COMMENT)}, maybe=_OF_ITS_KIND)
)
COMMENTS = named(
    "Comments",
    obj(
        {
            "count": COUNT, "next": {"type": "null"}, "previous": {"type": "null"},
            "results": many(COMMENT),
        }
    ),
)  # fmt: skip

_SHORT = obj(
    {
        "at": INSTANT, "until": or_null(INSTANT), "capacity": COUNT, "free": WHOLE,
        "asked": COUNT, "per_node": or_null(COUNT),
        "holders": many(
            obj(
                {
                    "team_id": ID, "kind": TEXT, "source_id": COUNT, "gpus": COUNT,
                    "until": or_null(INSTANT),
                }
            )
        ),
    }
)  # fmt: skip
_BOUND = obj(
    {
        "rule": one_of(Rule), "team_id": ID, "at": INSTANT, "figure": COUNT, "held": COUNT,
        "left": WHOLE, "asked": COUNT,
    }
)  # fmt: skip
_PRICE = or_null(obj({"micro": WHOLE, "currency": TEXT}))
_WAITING = or_null(obj({"count": COUNT, "gpus": COUNT, "left": WHOLE}))
_WAYS = many(
    obj(
        {
            "kind": one_of(WayKind), "pool_id": ID, "pool": TEXT, "gpus": COUNT,
            "starts_at": INSTANT, "ends_at": INSTANT, "sentence": TEXT,
        },
        maybe={"price": _PRICE},
    )
)  # fmt: skip
_SAID = {"sentences": many(TEXT), "ways": _WAYS}
_EFFECT = obj(
    {
        "rule": one_of(Rule), "team_id": ID, "figure": or_null(COUNT), "held": COUNT,
        "left": or_null(WHOLE),
    }
)  # fmt: skip
_TEAM_GPUS = obj({"team_id": ID, "gpus": COUNT})
CHECK: Shape = {
    "anyOf": [
        named("CheckUnfinished", obj({"fits": {"type": "null"}, "fields": by_key(TEXT)})),
        named(
            "CheckReservation",
            obj(
                {
                    "fits": FLAG, "team_id": ID, "pool_id": ID, "pool": TEXT, "gpus": COUNT,
                    "gpus_per_node": or_null(COUNT), "source": one_of(Source.values),
                    "starts_at": INSTANT, "ends_at": INSTANT, "free": COUNT,
                    "short": or_null(_SHORT), "bound": or_null(_BOUND), "effect": _EFFECT,
                    "waiting": _WAITING, "displaced": many(_TEAM_GPUS),
                    "forecast": obj({"jobs": COUNT, "gpus": COUNT}), **_SAID,
                },
                maybe={"price": _PRICE, "beyond_budget": or_null(TEXT)},
            ),
        ),
        named(
            "CheckQuota",
            obj(
                {
                    "fits": FLAG, "team_id": ID, "pool_id": ID, "pool": TEXT, "from_at": INSTANT,
                    "before": by_key(or_null(WHOLE)), "after": by_key(or_null(WHOLE)),
                    "unpromised": WHOLE, "short": or_null(_SHORT), "bound": or_null(_BOUND),
                    "waiting": _WAITING, **_SAID,
                }
            ),
        ),
        named(
            "CheckGiveBack",
            obj(
                {
                    "reservation_id": ID, "gpus": COUNT, "from_at": INSTANT, "to_at": INSTANT,
                    **_SAID,
                }
            ),
        ),
        named(
            "CheckSla",
            obj(
                {
                    "tier": TEXT, "seconds": COUNT, "goal_permille": COUNT, "had": or_null(TEXT),
                    "had_seconds": or_null(COUNT),
                    "would": obj(
                        {"met": COUNT, "missed": COUNT, "still_late": COUNT, "undecided": COUNT}
                    ),
                    **_SAID,
                }
            ),
        ),
    ]
}  # fmt: skip
_SUMS = obj(
    {
        "capacity": COUNT, "guaranteed": COUNT, "reserved": COUNT, "left": WHOLE,
        "tightest_at": or_null(INSTANT),
    }
)  # fmt: skip
EFFECTS = named(
    "QuotaEffects",
    obj(
        {
            "fits": FLAG, "valid_from": INSTANT, "before": _SUMS, "after": _SUMS,
            "changes": many(
                obj(
                    {
                        "team": NAMED, "before": by_key(or_null(WHOLE)),
                        "after": by_key(or_null(WHOLE)), "sentences": many(TEXT),
                    }
                )
            ),
            "sentences": many(TEXT),
            "refusal": or_null(obj({"code": TEXT, "title": TEXT, "details": FREE})),
        }
    ),
)  # fmt: skip

_GPUS, _MOMENT, _REASON = between(1, MOST), or_null(text(40)), text(LONGEST_TEXT)
_WHO = {"team": ID, "pool": ID}


def _asking(kind: RequestKind, needed: dict[str, Shape], maybe: dict[str, Shape]) -> Shape:
    """A body; times are local to `zone`, by default the asker's, or carry their own offset."""
    return named(
        f"{kind.value.title().replace('_', '')}Body",
        obj(
            {"kind": {"type": "string", "const": kind.value}, **needed},
            maybe={**maybe, "zone": text(64, least=1), "reason": _REASON},
        ),
    )


ASKING: Shape = {
    "oneOf": [
        _asking(
            RequestKind.RESERVATION,
            _WHO,
            {
                "gpus": or_null(_GPUS), "gpus_per_node": or_null(_GPUS),
                "source": one_of(Source.values), "starts_at": _MOMENT, "ends_at": _MOMENT,
            },
        ),
        _asking(RequestKind.EXTENSION, {"reservation": ID}, {"ends_at": _MOMENT}),
        _asking(RequestKind.GIVE_BACK, {"reservation": ID}, {"ends_at": _MOMENT}),
        _asking(
            RequestKind.QUOTA,
            _WHO,
            {
                "starts_at": _MOMENT,
                **{f: or_null(between(int(f in ("weight", "per_user_limit")), MOST)) for f in FIGURES},
            },
        ),
        _asking(
            RequestKind.SLA,
            _WHO,
            {"tier": or_null(ID), "starts_at": _MOMENT, "ends_at": _MOMENT},
        ),
    ]
}  # fmt: skip
APPROVE_BODY = named(
    "ApproveBody",
    obj({}, maybe={"granted_gpus": or_null(between(0, MOST)), "note": text(LONGEST_TEXT)}),
)
REJECT_BODY = named("RejectBody", obj({"note": text(LONGEST_TEXT, least=1)}))
COMMENT_BODY = named("CommentBody", obj({"text": text(LONGEST_TEXT, least=1)}))

APPROVAL_RULE = named(
    "ApprovalRule",
    obj(
        {
            "id": ID, "pool": or_null(ID), "min_gpus": or_null(COUNT), "min_hours": or_null(COUNT),
            "min_cost_micro": or_null(WHOLE), "approvals": COUNT,
        }
    ),
)  # fmt: skip
_DOOR = obj({"is_open": FLAG, "min_gpus": or_null(COUNT)})
POOL_RULES = named(
    "PoolRules",
    obj(
        {
            "id": ID, "name": TEXT, **{figure: or_null(COUNT) for figure in booking.FIGURES},
            "classes": obj({}, maybe=dict.fromkeys(Kind.values, _DOOR)),
        }
    ),
)  # fmt: skip
CLASS_RULE = named(
    "ClassRule",
    obj(
        {
            "kind": one_of(Kind.values), "preemptible": or_null(FLAG), "order": WHOLE,
            "together": TEXT, "placement": one_of(["", *Placing.values]),
            "idle_hours": or_null(COUNT),
        }
    ),
)  # fmt: skip
_FEED: dict[str, Shape] = {
    "id": ID, "team": ID, "name": TEXT, "created_by": or_null(ID), "created_at": INSTANT,
}  # fmt: skip
FEED = named("CalendarFeed", obj(_FEED))
NEW_FEED = named("NewCalendarFeed", obj(_FEED, maybe={"address": TEXT}))
WORK_EFFECTS = named(
    "WorkEffects",
    obj(
        {
            "conflicts": many(
                obj(
                    {
                        "pool": NAMED, "from": INSTANT, "to": or_null(INSTANT), "short": COUNT,
                        "sentence": TEXT,
                    }
                )
            )
        }
    ),
)  # fmt: skip
RULES = named(
    "Rules",
    obj({"approvals": many(APPROVAL_RULE), "pools": many(POOL_RULES), "classes": many(CLASS_RULE)}),
)
