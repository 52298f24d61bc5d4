"""Frozen answers → the API's JSON objects, key by key."""

from dataclasses import asdict
from datetime import datetime

from portal.scheduling.selectors import (
    DecisionRow,
    Loan,
    PolicyRow,
    QueueRow,
    ScoreRow,
    Sentence,
    ShareRow,
    TickRow,
    WaitRow,
    WorkloadDetail,
)
from portal.scheduling.trying import Rehearsal

Answer = dict[str, object]


def sentence(said: Sentence) -> Answer:
    """A sentence in the asker's language."""
    return {"text": said.text, "strong": said.strong, "also": list(said.also)}


def workload(row: QueueRow, now: datetime) -> Answer:
    """One job of a list; names are null where they are not for the asker."""
    return {
        "id": row.id,
        "title": row.title,
        "name": row.name or None,
        "person": row.person or None,
        "kind": row.kind or None,
        "team": {"id": row.team_id, "name": row.team_name} if row.team_id else None,
        "cluster": row.cluster_id,
        "pool": {"id": row.pool_id, "name": row.pool_name} if row.pool_id else None,
        "tasks": row.tasks,
        "gpu_milli": row.gpu_milli,
        "state": row.state,
        "charged_to": row.charged_to or None,
        "submitted_at": row.submitted_at,
        "scheduled_at": row.scheduled_at,
        "ended_at": row.ended_at,
        "waited_seconds": row.waited_seconds(now),
        "verb": row.verb or None,
        "reason": row.reason or None,
        "detail": row.detail,
        "sentence": sentence(row.sentence),
        "position": row.position,
        "planned_start": row.planned_start,
        "forecast": asdict(row.outlook) if row.outlook else None,
    }


def workload_in_full(found: WorkloadDetail, now: datetime) -> Answer:
    """One job with its stages, placements and decisions."""
    row = found.row
    return {
        **workload(row, now),
        "namespace": found.namespace,
        "owner_kind": found.owner_kind,
        "priority": found.priority,
        "min_tasks": found.min_tasks,
        "per_task": {
            "gpu_milli": found.gpu_milli_per_task,
            "cpu_milli": found.cpu_milli,
            "memory_mib": found.memory_mib,
        },
        "preemptible": found.preemptible,
        "preemptions": found.preemptions,
        "duration_seconds": found.duration_seconds,
        "reservation": found.reservation_id,
        "cluster_reason": found.cluster_reason or None,
        "cluster_message": found.cluster_message or None,
        "seen_at": found.seen_at,
        "stages": {
            "submitted_at": row.submitted_at,
            "admitted_at": found.admitted_at,
            "scheduled_at": row.scheduled_at,
            "ready_at": found.ready_at,
            "first_step_at": found.first_step_at,
            "ended_at": row.ended_at,
        },
        "events": [asdict(event) for event in found.events],
        "placements": [asdict(placement) for placement in found.placements],
        "decisions": [decision(row) for row in found.decisions],
    }


def decision(row: DecisionRow) -> Answer:
    """What one tick newly decided."""
    return {
        "id": row.id, "tick": row.tick_id, "at": row.at, "verb": row.verb,
        "reason": row.reason or None, "detail": row.detail, "charged_to": row.charged_to or None,
        "planned_start": row.planned_start, "sentence": sentence(row.sentence),
    }  # fmt: skip


def tick(row: TickRow, *, in_full: bool) -> Answer:
    """One cycle; its message, which may name nodes and faults, for those who oversee."""
    return {
        "id": row.id, "cluster": {"id": row.cluster_id, "name": row.cluster_name}, "at": row.at,
        "state": row.state, "message": row.message if in_full else None, "policy": row.policy_id,
        "took_ms": row.took_ms, "waiting": row.waiting, "running": row.running,
        "starts": row.starts, "preemptions": row.preemptions, "jain": row.jain,
        "placement_mode": row.placement_mode or None,
        "fragmentation": [asdict(entry) for entry in row.fragmentation],
    }  # fmt: skip


def share(row: ShareRow) -> Answer:
    """One team in one pool, in milli-GPU."""
    return {
        "team": {"id": row.team_id, "name": row.team_name},
        "pool": {"id": row.pool_id, "name": row.pool_name}, "cluster": row.cluster_id,
        "tick": row.tick_id, "as_of": row.as_of, "guaranteed": row.guaranteed,
        "reserved": row.reserved, "fair_share": row.fair_share, "allocated": row.allocated,
        "borrowed": row.borrowed, "lent": row.lent, "available": row.available,
        "dominant_share": row.dominant_share, "satisfaction": row.satisfaction,
        "factor": row.factor, "guaranteed_gpus": row.guaranteed_gpus,
        "burst_gpus": row.burst_gpus,
    }  # fmt: skip


def loan(row: Loan) -> Answer:
    """Who uses what of whose guarantee; a null lender is what nobody was promised."""
    return {
        "pool": {"id": row.pool_id, "name": row.pool_name},
        "lender": {"id": row.lender_id, "name": row.lender_name} if row.lender_id else None,
        "borrower": {"id": row.borrower_id, "name": row.borrower_name},
        "gpu_milli": row.gpu_milli,
    }


def wait(row: WaitRow) -> Answer:
    """Waits of one team."""
    return {
        "team": {"id": row.team_id, "name": row.team_name}, "jobs": row.jobs,
        "still_waiting": row.still_waiting, "p50_seconds": row.p50_seconds,
        "p90_seconds": row.p90_seconds,
    }  # fmt: skip


def score(row: ScoreRow) -> Answer:
    """How good the forecasts of one team in one pool were; a null pool is any."""
    found = row.score
    return {
        "team": {"id": row.team_id, "name": row.team_name},
        "pool": {"id": row.pool_id, "name": row.pool_name} if row.pool_id else None,
        "made": found.made, "unsaid": found.unsaid, "judged": found.judged,
        "started_by_p50": found.by_p50, "started_by_p90": found.by_p90,
        "median_error_seconds": found.median_error_seconds,
    }  # fmt: skip


def policy(row: PolicyRow) -> Answer:
    """The rules of a cluster; `id` 0 are those it follows without a row of its own."""
    return {
        "id": row.id, "cluster": row.cluster_id, "rules": row.rules, "valid_from": row.valid_from,
        "created_by": row.created_by_id, "note": row.note,
    }  # fmt: skip


def rehearsal(tried: Rehearsal) -> Answer:
    """What another policy would do at the next tick."""
    return {
        "same": tried.is_same, "counts": dict(tried.counts),
        "starts": {"now": tried.starts_before, "then": tried.starts_after},
        "stops": {"now": tried.stops_before, "then": tried.stops_after},
        "waiting": {"now": tried.waiting_before, "then": tried.waiting_after},
        "jobs": [
            {
                "workload": move.workload_id, "name": move.name, "team": move.team_id,
                "kind": move.kind, "planned_now": move.was_at, "planned_then": move.now_at,
            }
            for move in tried.moves
        ],
        "teams": [
            {
                "team": team.team_id, "name": team.name,
                "fair_share_milli": {"now": team.fair_before, "then": team.fair_after},
                "allocated_milli": {"now": team.allocated_before, "then": team.allocated_after},
                "borrowed_milli": {"now": team.borrowed_before, "then": team.borrowed_after},
            }
            for team in tried.teams
        ],
    }  # fmt: skip
