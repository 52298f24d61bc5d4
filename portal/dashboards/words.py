"""What pages say of a workload or a node: state, place, moment and reason, in plain sentences."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats
from portal.dashboards.selectors.advice import Advice
from portal.dashboards.selectors.capacity import NodeUse
from portal.dashboards.selectors.common import TeamMark
from portal.dashboards.selectors.queue import AheadRow
from portal.inventory.calendar import Condition
from portal.inventory.models import NodeState
from portal.scheduling.models import Verb
from portal.scheduling.selectors import QueueRow, Score
from portal.scheduling.sentences import Sentence
from portal.workloads import stages
from portal.workloads.models import HOLDING_STATES, ChargedTo, Kind, WorkloadState

MINUTE = timedelta(minutes=1)
FEWEST = 5
"""Fewer forecasts than this are not judged."""
TONES = {
    WorkloadState.WAITING: "warn",
    WorkloadState.FAILED: "bad",
    WorkloadState.RUNNING: "good",
}


def state(row: QueueRow) -> str:
    """Where it stands, in one word."""
    return str(WorkloadState(row.state).label)


def tone(row: QueueRow) -> str:
    """How a state's pill looks."""
    return TONES.get(WorkloadState(row.state), "")


def byline(row: QueueRow) -> str:
    """Person and class: `minji · training`; empty where the reader may not see them."""
    kind = str(Kind(row.kind).label).lower() if row.kind else ""
    return " · ".join(part for part in (row.person, kind) if part)


def team_name(mark: TeamMark | None) -> str:
    """A team's name; nobody's work says so."""
    return mark.name if mark else _("no team")


def step(name: str) -> str:
    """A part of a start, in few words."""
    match name:
        case stages.PLACING:
            return _("placing all pods")
        case stages.VOLUME:
            return _("volumes and network")
        case stages.INIT:
            return _("init containers")
        case stages.IMAGE:
            return _("images")
        case _:
            return _("until ready")


def charge(charged_to: str) -> str:
    """What a use is charged to, in one word."""
    return str(ChargedTo(charged_to).label).lower() if charged_to else ""


def place(row: QueueRow) -> str:
    """Its place in the queue while it waits."""
    if not row.waits or row.position is None:
        return ""
    return _("place %(n)s") % {"n": formats.number(row.position)}


def moment_value(row: QueueRow) -> datetime | None:
    """The instant that matters now: planned start, start, or end."""
    if row.ended_at:
        return row.ended_at
    return row.scheduled_at if row.state in HOLDING_STATES else row.planned_start


def moment(row: QueueRow, now: datetime) -> SafeString:
    """The same in words."""
    at = moment_value(row)
    if at is None:
        return format_html('<span class="soft">{}</span>', _("not known yet"))
    if row.ended_at:
        words = _("ended %(at)s") % {"at": formats.when(at, now, inside=True)}
    elif row.state in HOLDING_STATES:
        words = _("since %(at)s") % {"at": formats.when(at, now, inside=True)}
    else:
        words = formats.when(at, now)
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), words)


def outlook(row: QueueRow, now: datetime) -> str:
    """Between which moments it is likely to start; empty where nobody can say."""
    found = row.outlook
    if not row.waits or found is None or found.p50 is None:
        return ""
    if found.p90 is None:
        return _("likely %(at)s or later") % {
            "at": formats.when(max(found.p50, now), now, inside=True)
        }
    if found.p90 < now:
        return _("later than was forecast")
    first, last = max(found.p50, now), found.p90
    if last - first < MINUTE:
        return _("likely about %(at)s") % {"at": formats.when(first, now, inside=True)}
    return _("likely %(span)s") % {"span": formats.span(first, last, now, inside=True)}


def score(found: Score) -> str:
    """How good past forecasts were; a few say nothing."""
    if found.judged < FEWEST or found.median_error_seconds is None:
        return ""
    return _(
        "Of %(n)s jobs with a forecast, %(p50)s%% had started by its first time and %(p90)s%% by "
        "its last; half began within %(error)s of the first."
    ) % {
        "n": formats.number(found.judged),
        "p50": found.p50_pct,
        "p90": found.p90_pct,
        "error": formats.duration(found.median_error_seconds),
    }


def node_state(node: NodeUse) -> str:
    """Ready, cordoned, in maintenance, or down since when."""
    if node.row.condition is Condition.DOWN or node.row.state == NodeState.DOWN:
        if node.row.down_since:
            return _("down since %(at)s") % {"at": formats.when(node.row.down_since)}
        return _("down")
    if node.row.condition is Condition.MAINTENANCE:
        return _("in maintenance")
    if node.row.state == NodeState.CORDONED:
        return _("cordoned: nothing new starts")
    return _("ready")


def why(row: QueueRow) -> Sentence:
    """Why it waits, or what it does; of one that is over, how long it waited and held GPUs."""
    if row.ended_at is not None:
        return Sentence(ended(row))
    if row.state in HOLDING_STATES and row.verb in ("", Verb.WAIT):
        return Sentence(_("It holds its GPUs; the next tick says what they are counted as."))
    return row.sentence


def also(row: QueueRow) -> list[str]:
    """What else stands in its way, while it is open.

    Of a waiting one the last sentences say its planned start and place, which stand elsewhere on
    the page.
    """
    if row.ended_at is not None:
        return []
    said = list(row.sentence.also)
    if row.verb != Verb.WAIT:
        return said
    elsewhere = (row.planned_start is not None) + (row.position is not None)
    return said[: len(said) - elsewhere]


def ahead_sentence(rows: Sequence[AheadRow]) -> str:
    """How many jobs stand ahead, by team; empty when none does."""
    total = sum(row.jobs for row in rows)
    if not total:
        return ""
    named = ", ".join(f"{team_name(row.team)} {row.jobs}" for row in rows[:5])
    words = ngettext(
        "%(n)s job stands ahead: %(teams)s.", "%(n)s jobs stand ahead: %(teams)s.", total
    )
    return words % {"n": formats.number(total), "teams": named}


def strong(sentence: Sentence) -> SafeString:
    """A sentence with its strong part in bold."""
    before, middle, after = sentence.split()
    return format_html("{}<b>{}</b>{}", before, middle, after) if middle else escape(before)


def ended(row: QueueRow) -> str:
    """How long it waited and held its GPUs, of one that is over."""
    if row.scheduled_at is None or row.ended_at is None:
        return _("It ended without having run.")
    waited = formats.duration(row.scheduled_at - row.submitted_at)
    ran = formats.duration(row.ended_at - row.scheduled_at)
    return _("It waited %(waited)s and held its GPUs for %(ran)s.") % {"waited": waited, "ran": ran}


def advice(found: Advice) -> str:
    """How often to save, and what that rests on."""
    return ngettext(
        "Save about every %(interval)s: √(2 × %(save)s × %(mean)s), since a job on %(nodes)s node "
        "here runs %(mean)s between two failures (%(failures)s in %(days)s days). Saves and "
        "restarts then take %(cost)s%% of its time.",
        "Save about every %(interval)s: √(2 × %(save)s × %(mean)s), since a job on %(nodes)s nodes "
        "here runs %(mean)s between two failures (%(failures)s in %(days)s days). Saves and "
        "restarts then take %(cost)s%% of its time.",
        found.nodes,
    ) % {
        "interval": formats.duration(found.interval_seconds),
        "save": formats.duration(found.save_seconds),
        "mean": formats.duration(found.mean_seconds),
        "nodes": found.nodes,
        "failures": found.failures,
        "days": found.days,
        "cost": formats.number(found.cost * 100, 1),
    }
