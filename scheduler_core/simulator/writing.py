"""A report as JSON objects and as CSV."""

import csv
from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from scheduler_core.simulator.log import NEVER, Log
from scheduler_core.simulator.report import Report
from scheduler_core.simulator.study import Outcome

JOB_COLUMNS = ("job", "team", "gpu_milli", "submitted", "started", "finished", "waited", "spells")
SHARE_COLUMNS = ("moment", "team", "held_gpu_milli", "waiting_gpu_milli", "fair_gpu_milli")


def report_to_json(
    report: Report, order: str, placement: str, cpu_seconds: float
) -> dict[str, object]:
    """Return the contract's object of one replay (see the command line's `replay --json`)."""
    figures = asdict(report)
    del figures["shares"]
    return {"order": order, "placement": placement, **figures, "cpu_seconds": cpu_seconds}


def outcome_to_json(outcome: Outcome, placement: str, cpu_seconds: float) -> dict[str, object]:
    """Return the contract's object of one placement study, with its curve; there is a point."""
    return {
        "order": "arrivals",
        "placement": placement,
        "jobs": outcome.placed + outcome.dropped,
        "placed": outcome.placed,
        "dropped": outcome.dropped,
        "allocated_pct": outcome.curve[-1].allocated_pct,
        "fragmented_pct": outcome.curve[-1].fragmented_pct,
        "curve": [asdict(point) for point in outcome.curve],
        "decisions": outcome.placed + outcome.dropped,
        "cpu_seconds": cpu_seconds,
    }


def write_jobs(log: Log, ids: Sequence[str], stream: TextIO) -> None:
    """Write one CSV row a job; what has not happened is left empty."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(JOB_COLUMNS)
    spells = [0] * len(ids)
    for spell in log.spells:
        spells[spell.job] += 1
    for job, name in enumerate(ids):
        submitted, started, finished = log.submitted[job], log.started[job], log.finished[job]
        rows.writerow(
            (
                name,
                log.teams[job],
                log.gpu_milli[job],
                submitted,
                "" if started == NEVER else started,
                "" if finished == NEVER else finished,
                "" if started == NEVER else started - submitted,
                spells[job],
            )
        )


def write_shares(report: Report, stream: TextIO) -> None:
    """Write one CSV row a moment and team: what it held, asked for more, and its fair share."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(SHARE_COLUMNS)
    series = report.shares
    for place, moment in enumerate(series.moments.tolist()):
        for column, team in enumerate(series.teams):
            rows.writerow(
                (
                    moment,
                    team,
                    int(series.held[place, column]),
                    int(series.waiting[place, column]),
                    round(float(series.fair[place, column])),
                )
            )


def write_summary(reports: Sequence[dict[str, object]], stream: TextIO) -> None:
    """Write one CSV row a policy out of JSON objects, nested figures joined by a point."""
    table = [flat(report) for report in reports]
    columns = list(dict.fromkeys(key for row in table for key in row))
    rows = csv.DictWriter(stream, columns, lineterminator="\n")
    rows.writeheader()
    rows.writerows(table)


def flat(report: dict[str, object]) -> dict[str, object]:
    """Return an object's figures in one level, nested ones joined by a point, lists left out."""
    figures: dict[str, object] = {}
    for key, value in report.items():
        if isinstance(value, dict):
            figures |= {f"{key}.{inner}": figure for inner, figure in value.items()}
        elif not isinstance(value, list):
            figures[key] = value
    return figures
