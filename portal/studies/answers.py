"""Studies as the API answers them: plain units, seconds, GPU-hours, micro-units of money."""

from math import isfinite
from typing import Any

from portal.studies.comparing import Line
from portal.studies.selectors import StudyDetail, StudyRow, TraceRow

Answer = dict[str, Any]


def study(row: StudyRow, change: Any) -> Answer:
    """One study of a list."""
    return {
        "id": row.id, "name": row.name, "state": row.state, "jobs_of": row.jobs_of,
        "change": change, "change_in_words": row.change, "draw": row.draw,
        "seeds": list(row.seeds), "team": row.team_id, "kept": row.is_kept,
        "created_at": row.created_at, "done": row.share, "message": row.message,
    }  # fmt: skip


def study_in_full(detail: StudyDetail) -> Answer:
    """One study with its comparison so far."""
    found = detail.comparison
    return {
        **study(detail.row, detail.change),
        "note": detail.note, "cluster": detail.cluster_id, "nodes": detail.nodes,
        "from": detail.from_at, "to": detail.to_at, "base_rules": detail.base_rules,
        "jobs": detail.job_count, "left_out": detail.left_out, "never_fit": detail.never_fit,
        "seconds_left": None if detail.eta is None else round(detail.eta.total_seconds()),
        "currency": detail.currency,
        "figures": {} if found is None else {one.figure.key: figure(one) for one in found.lines},
        "teams": [] if found is None else [
            {
                "team": detail.teams[team.name].id, "name": detail.teams[team.name].name,
                "jobs": team.jobs,
                "figures": {key: figure(line) for key, line in team.lines.items()},
            }
            for team in found.teams
        ],
    }  # fmt: skip


def figure(line: Line) -> Answer:
    """One figure on both sides; no interval from a single seed."""
    compared = line.compared
    return {
        "base": compared.base, "changed": compared.changed, "difference": compared.difference,
        "low": compared.low if isfinite(compared.low) else None,
        "high": compared.high if isfinite(compared.high) else None,
        "agree": compared.agree, "seeds": compared.seeds, "unit": line.figure.unit,
        "verdict": compared.verdict.value,
    }  # fmt: skip


def trace(row: TraceRow) -> Answer:
    """One uploaded trace."""
    return {
        "id": row.id, "name": row.name, "format": row.form, "jobs": row.jobs,
        "bad_rows": row.bad_rows, "bytes": row.size,
        "length_seconds": row.length.total_seconds(), "studies": row.studies,
        "created_at": row.created_at,
    }  # fmt: skip
