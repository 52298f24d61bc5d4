"""Reads of what ticks decided, as frozen answers; only paged lists stay querysets.

`ticks` and policies, `queue` and single workloads with their sentences, `shares` and who lends to
whom, `waits` per team, `forecasts` and how good they were. Team names and GPU sums are open to the organisation; job names and people
only to those with a role in the branch: every read of jobs takes the reader's `Access`.
"""

from portal.scheduling.selectors.forecasts import (
    OutlookRow,
    Score,
    ScoreRow,
    get_score,
    list_scores,
)
from portal.scheduling.selectors.queue import (
    DecisionRow,
    QueueRow,
    get_standing,
    list_decisions,
    list_first_waiting,
    list_queue,
    queue_rows,
)
from portal.scheduling.selectors.shares import (
    Loan,
    ShareRow,
    list_loans,
    shares_now,
    split_loans,
)
from portal.scheduling.selectors.ticks import (
    FragmentationRow,
    PolicyRow,
    TickRow,
    get_policy,
    get_snapshot,
    get_tick,
    latest_tick,
    list_policies,
    list_ticks,
    tick_row,
)
from portal.scheduling.selectors.waits import WaitRow, list_waits
from portal.scheduling.selectors.workload import (
    EventRow,
    PlacementRow,
    WorkloadDetail,
    get_job,
    get_workload,
    team_of_workload,
)
from portal.scheduling.sentences import Names, Sentence

__all__ = [
    "DecisionRow",
    "EventRow",
    "FragmentationRow",
    "Loan",
    "Names",
    "OutlookRow",
    "PlacementRow",
    "PolicyRow",
    "QueueRow",
    "Score",
    "ScoreRow",
    "Sentence",
    "ShareRow",
    "TickRow",
    "WaitRow",
    "WorkloadDetail",
    "get_job",
    "get_policy",
    "get_score",
    "get_snapshot",
    "get_standing",
    "get_tick",
    "get_workload",
    "latest_tick",
    "list_decisions",
    "list_first_waiting",
    "list_loans",
    "list_policies",
    "list_queue",
    "list_scores",
    "list_ticks",
    "list_waits",
    "queue_rows",
    "shares_now",
    "split_loans",
    "team_of_workload",
    "tick_row",
]
