"""Answers of the API: amounts in micro-units, quantities in milli-GPU-seconds, words as codes."""

from collections.abc import Mapping

from portal.finance.models import LineKind
from portal.finance.selectors import (
    BudgetRow,
    CommentRow,
    Forecast,
    JobCost,
    LineRow,
    Lost,
    MonthRow,
    PoolReconciliation,
    Preview,
    RateCardRow,
    Reconciliation,
    StatementDetail,
    StatementRow,
)

Answer = dict[str, object]


def month(row: MonthRow) -> Answer:
    """A month."""
    return {
        "month": row.name, "from": row.starts_at, "to": row.ends_at, "zone": row.zone,
        "state": row.state, "as_of": row.computed_at, "closed_at": row.closed_at,
    }  # fmt: skip


def statement(row: StatementRow) -> Answer:
    """A statement without its lines; `team` null is the organisation's own part."""
    team = None
    if row.team_id is not None:
        team = {"id": row.team_id, "name": row.team_name, "path": row.team_path}
    return {
        "id": row.id, "month": row.month, "team": team, "from": row.period_starts_at,
        "to": row.period_ends_at, "zone": row.zone, "revision": row.revision,
        "version": row.version, "state": row.state, "currency": row.currency,
        "total_micro": row.total_micro, "tax_micro": row.tax_micro, "as_of": row.computed_at,
        "closed_at": row.closed_at, "paid_at": row.paid_at, "superseded_at": row.superseded_at,
        "reason": row.reason,
        "gpu_milli_seconds": {
            "guaranteed": row.guaranteed, "reserved": row.reserved, "borrowed": row.borrowed,
            "reserved_unused": row.reserved_unused,
        },
        "amounts_micro": _by_kind(row.amounts),
    }  # fmt: skip


def detail(found: StatementDetail) -> Answer:
    """A statement with its lines."""
    return {**statement(found.statement), "lines": [_line(row) for row in found.lines]}


def budget(row: BudgetRow) -> Answer:
    """A budget; figures in micro-units or, `unit` gpu_milli_seconds, in those."""
    return {
        "id": row.id, "team": row.team_id, "team_name": row.team_name, "period": row.period,
        "of": row.of.name, "from": row.of.starts_at, "to": row.of.ends_at,
        "unit": "gpu_milli_seconds" if row.in_time else "micro", "currency": row.currency,
        "refuses": row.refuses, "limit": row.limit, "spent": row.spent, "booked": row.booked,
        "expected": row.expected, "left": row.left, "percent": row.percent, "alerts": row.alerts,
    }  # fmt: skip


def forecast(row: Forecast) -> Answer:
    """A team's month to its end, in micro-units without tax."""
    return {
        "team": row.team_id, "as_of": row.as_of, "so_far_micro": row.so_far_micro,
        "booked_micro": row.booked_micro, "expected_micro": row.expected_micro,
        "total_micro": row.total_micro, "low_micro": row.low_micro, "high_micro": row.high_micro,
    }  # fmt: skip


def comment(row: CommentRow, lines: Mapping[str, int]) -> Answer:
    """A remark; `line` null is about the whole statement, or about a line that is no more."""
    return {
        "id": row.id, "line": lines.get(row.line_key), "text": row.text, "author": row.author,
        "at": row.at,
    }  # fmt: skip


def rate_card(row: RateCardRow) -> Answer:
    """A card with its rates."""
    return {
        "id": row.id, "name": row.name, "currency": row.currency,
        "tax_basis_points": row.tax_basis_points, "idle_rule": row.idle_rule,
        "valid_from": row.valid_from, "valid_to": row.valid_to,
        "rates": [
            {
                "pool": rate.pool_id, "gpu_model": rate.gpu_model_id,
                "gpu_hour_micro": rate.gpu_hour_micro,
                "guaranteed_milli": rate.guaranteed_milli, "reserved_milli": rate.reserved_milli,
                "borrowed_milli": rate.borrowed_milli,
                "reserved_unused_milli": rate.reserved_unused_milli,
            }
            for rate in row.rates
        ],
    }  # fmt: skip


def preview(found: Preview) -> Answer:
    """A month at its own prices and at others; `team` null is the organisation's own part."""
    return {
        "month": found.month, "from": found.from_at, "to": found.to_at,
        "currency": found.currency, "then_currency": found.then_currency,
        "teams": [
            {
                "team": row.team_id, "name": row.team_name, "now_micro": row.now_micro,
                "now_tax_micro": row.now_tax_micro, "then_micro": row.then_micro,
                "then_tax_micro": row.then_tax_micro,
            }
            for row in found.rows
        ],
    }  # fmt: skip


def reconciliation(found: Reconciliation) -> Answer:
    """Both sides of a month's equation, pool by pool."""
    return {
        "month": found.month, "state": found.state, "from": found.from_at, "as_of": found.as_of,
        "currency": found.currency, "adds_up": found.adds_up,
        "gpu_milli_seconds": {
            "accounted": found.accounted, "capacity": found.capacity, "beyond": found.beyond,
        },
        "money_micro": {
            "billed": found.billed_micro, "cost": found.cost_micro,
            "statements": found.statements_micro, "adjustments": found.adjustments_micro,
        },
        "pools": [_pool(pool) for pool in found.pools],
    }  # fmt: skip


def _pool(pool: PoolReconciliation) -> Answer:
    return {
        "id": pool.pool_id, "name": pool.pool_name, "adds_up": pool.adds_up,
        "has_rate": pool.has_rate,
        "gpu_milli_seconds": {
            **_by_kind(pool.quantities), "accounted": pool.accounted, "capacity": pool.capacity,
        },
        "money_micro": {
            **_by_kind(pool.amounts), "billed": pool.billed_micro, "cost": pool.cost_micro,
        },
    }  # fmt: skip


def _line(row: LineRow) -> Answer:
    return {
        "id": row.id, "kind": row.kind, "adjusts": row.adjusts, "pool": row.pool_id,
        "pool_name": row.pool_name, "gpu_model": row.gpu_model, "charged_to": row.charged_to,
        "reservation": row.reservation_id, "from": row.from_at, "to": row.to_at,
        "gpu_milli_seconds": row.gpu_milli_seconds, "rate_micro": row.rate_micro,
        "amount_micro": row.amount_micro, "tax_basis_points": row.tax_basis_points,
        "rate_card": row.rate_card_id, "idle_rule": row.idle_rule,
    }  # fmt: skip


def _by_kind(figures: dict[LineKind, int]) -> dict[str, object]:
    return {kind.value: amount for kind, amount in figures.items()}


def lost(row: Lost) -> Answer:
    """What one cause took from one team; `team` null is work of no team."""
    return {
        "team": row.team_id, "cause": row.cause, "times": row.times,
        "gpu_milli_seconds": row.gpu_milli_seconds, "amount_micro": row.amount_micro,
    }  # fmt: skip


def job_cost(row: JobCost, currency: str) -> Answer:
    """Jobs of one team and class; `each_micro` null where none completed."""
    return {
        "team": row.team_id, "kind": row.kind, "completed": row.completed,
        "not_completed": row.not_completed, "gpu_milli_seconds": row.gpu_milli_seconds,
        "gpu_milli_seconds_lost": row.gpu_milli_seconds_lost, "currency": currency,
        "amount_micro": row.amount_micro, "each_micro": row.each_micro,
        "each_gpu_milli_seconds": row.each_milli_seconds,
    }  # fmt: skip
