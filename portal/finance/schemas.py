"""What the room's API answers, as JSON Schema. Amounts are null where no money is shown."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    ID,
    INSTANT,
    TEXT,
    WHOLE,
    many,
    named,
    obj,
    one_of,
    or_null,
)
from portal.finance.models import BudgetPeriod, IdleRule, LineKind, StatementState
from portal.finance.selectors.waste import Cause
from portal.workloads.models import ChargedTo, Kind

MONEY = or_null(WHOLE)
MONTH = named(
    "Month",
    obj(
        {
            "month": TEXT, "from": INSTANT, "to": INSTANT, "zone": TEXT,
            "state": one_of(StatementState.values), "as_of": or_null(INSTANT),
            "closed_at": or_null(INSTANT),
        }
    ),
)  # fmt: skip
BY_KIND = obj({}, maybe=dict.fromkeys(LineKind.values, WHOLE))
MONEY_BY_KIND = or_null(BY_KIND)
_STATEMENT = {
    "id": ID, "month": TEXT,
    "team": or_null(obj({"id": ID, "name": TEXT, "path": TEXT})), "from": INSTANT,
    "to": INSTANT, "zone": TEXT, "revision": COUNT, "version": COUNT,
    "state": one_of(StatementState.values), "currency": TEXT, "total_micro": MONEY,
    "tax_micro": MONEY, "as_of": INSTANT, "closed_at": or_null(INSTANT),
    "paid_at": or_null(INSTANT), "superseded_at": or_null(INSTANT), "reason": TEXT,
    "gpu_milli_seconds": obj(
        {"guaranteed": WHOLE, "reserved": WHOLE, "borrowed": WHOLE, "reserved_unused": WHOLE}
    ),
    "amounts_micro": MONEY_BY_KIND,
}  # fmt: skip
STATEMENT = named("Statement", obj(_STATEMENT))
LINE = named(
    "StatementLine",
    obj(
        {
            "id": ID, "kind": one_of(LineKind.values),
            "adjusts": or_null(one_of(LineKind.values)), "pool": or_null(ID), "pool_name": TEXT,
            "gpu_model": TEXT, "charged_to": or_null(one_of(ChargedTo.values)),
            "reservation": or_null(ID), "from": INSTANT, "to": INSTANT,
            "gpu_milli_seconds": WHOLE, "rate_micro": MONEY, "amount_micro": MONEY,
            "tax_basis_points": COUNT, "rate_card": or_null(ID),
            "idle_rule": or_null(one_of(IdleRule.values)),
        }
    ),
)  # fmt: skip
STATEMENT_IN_FULL = named("StatementInFull", obj({**_STATEMENT, "lines": many(LINE)}))
REMARK = named(
    "Remark", obj({"id": ID, "line": or_null(ID), "text": TEXT, "author": TEXT, "at": INSTANT})
)
REMARKED = named("Remarked", obj({"id": ID, "at": INSTANT}))
BUDGET = named(
    "Budget",
    obj(
        {
            "id": ID, "team": ID, "team_name": TEXT, "period": one_of(BudgetPeriod.values),
            "of": TEXT, "from": INSTANT, "to": INSTANT,
            "unit": one_of(["gpu_milli_seconds", "micro"]), "currency": TEXT, "refuses": FLAG,
            "limit": COUNT, "spent": WHOLE, "booked": WHOLE, "expected": WHOLE, "left": WHOLE,
            "percent": WHOLE, "alerts": many(COUNT),
        }
    ),
)  # fmt: skip
ENDED = named("Ended", obj({"id": ID, "ended": FLAG}))
COST_FORECAST = named(
    "CostForecast",
    obj(
        {
            "team": ID, "as_of": INSTANT, "so_far_micro": MONEY, "booked_micro": MONEY,
            "expected_micro": MONEY, "total_micro": MONEY, "low_micro": MONEY, "high_micro": MONEY,
        }
    ),
)  # fmt: skip
PRESENTATION = named("Presentation", obj({"shows_money": FLAG}))
RATE_CARD = named(
    "RateCard",
    obj(
        {
            "id": ID, "name": TEXT, "currency": TEXT, "tax_basis_points": COUNT,
            "idle_rule": one_of(IdleRule.values), "valid_from": INSTANT,
            "valid_to": or_null(INSTANT),
            "rates": many(
                obj(
                    {
                        "pool": or_null(ID), "gpu_model": or_null(ID), "gpu_hour_micro": MONEY,
                        "guaranteed_milli": COUNT, "reserved_milli": COUNT,
                        "borrowed_milli": COUNT, "reserved_unused_milli": COUNT,
                    }
                )
            ),
        }
    ),
)  # fmt: skip
PREVIEW = named(
    "RatePreview",
    obj(
        {
            "month": TEXT, "from": INSTANT, "to": INSTANT, "currency": TEXT,
            "then_currency": TEXT,
            "teams": many(
                obj(
                    {
                        "team": or_null(ID), "name": TEXT, "now_micro": WHOLE,
                        "now_tax_micro": WHOLE, "then_micro": WHOLE, "then_tax_micro": WHOLE,
                    }
                )
            ),
        }
    ),
)  # fmt: skip
_KINDS = dict.fromkeys(LineKind.values, WHOLE)
RECONCILIATION = named(
    "Reconciliation",
    obj(
        {
            "month": TEXT, "state": one_of(StatementState.values), "from": INSTANT,
            "as_of": INSTANT, "currency": TEXT, "adds_up": FLAG,
            "gpu_milli_seconds": obj({"accounted": WHOLE, "capacity": WHOLE, "beyond": WHOLE}),
            "money_micro": or_null(
                obj({"billed": WHOLE, "cost": WHOLE, "statements": WHOLE, "adjustments": WHOLE})
            ),
            "pools": many(
                obj(
                    {
                        "id": ID, "name": TEXT, "adds_up": FLAG, "has_rate": FLAG,
                        "gpu_milli_seconds": obj(
                            {"accounted": WHOLE, "capacity": WHOLE}, maybe=_KINDS
                        ),
                        "money_micro": or_null(
                            obj({"billed": WHOLE, "cost": WHOLE}, maybe=_KINDS)
                        ),
                    }
                )
            ),
        }
    ),
)  # fmt: skip
LOST = named(
    "Lost",
    obj(
        {
            "team": or_null(ID), "cause": one_of(Cause.values), "times": COUNT,
            "gpu_milli_seconds": COUNT, "amount_micro": MONEY,
        }
    ),
)  # fmt: skip
JOB_COST = named(
    "JobCost",
    obj(
        {
            "team": or_null(ID), "kind": one_of(["", *Kind.values]), "completed": COUNT,
            "not_completed": COUNT, "gpu_milli_seconds": COUNT, "gpu_milli_seconds_lost": COUNT,
            "currency": TEXT, "amount_micro": MONEY, "each_micro": MONEY,
            "each_gpu_milli_seconds": or_null(COUNT),
        }
    ),
)  # fmt: skip
