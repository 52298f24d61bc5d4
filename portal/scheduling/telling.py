"""What pages and CSV say of a policy that is tried, and of those there were."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats
from portal.common.errors import Invalid
from portal.scheduling import ruling, trying
from portal.scheduling.selectors import PolicyRow
from portal.scheduling.trying import Move, Rehearsal, TeamEffect


@dataclass(frozen=True, slots=True)
class Past:
    """One line of the history: who, when, why, and what differs from the one before."""

    row: PolicyRow
    by: str
    differences: list[ruling.Difference]


@dataclass(frozen=True, slots=True)
class ToldMove:
    """A job that fares otherwise, in words."""

    move: Move
    was: str
    becomes: str
    tone: str


@dataclass(frozen=True, slots=True)
class Told:
    """A rehearsal ready to be read."""

    sentence: str
    counts: list[tuple[str, int]]
    moves: list[ToldMove]
    hidden: int
    teams: list[TeamEffect]
    is_same: bool


def rehearsal(tried: Rehearsal) -> Told:
    """The rehearsal in words: the sum first, then every kind, then the jobs."""
    shown = [ToldMove(move, *_what(move), _TONES.get(move.kind, "")) for move in tried.moves]
    return Told(
        sentence=_sentence(tried),
        counts=[(_kind(kind, count), count) for kind, count in tried.counts.items()],
        moves=shown,
        hidden=sum(tried.counts.values()) - len(shown),
        teams=[team for team in tried.teams if team.differs],
        is_same=tried.is_same,
    )


_TONES = {
    trying.STARTS: "good", trying.SPARES: "good", trying.EARLIER: "good",
    trying.HOLDS: "warn", trying.LATER: "warn", trying.STOPS: "bad",
}  # fmt: skip


def _sentence(tried: Rehearsal) -> str:
    if tried.is_same:
        return _("The next tick would decide the same as now. It may differ once the queue does.")
    return _(
        "At the next tick %(starts)d start (by the policy now %(starts_now)d), %(stops)d make room "
        "(now %(stops_now)d) and %(waiting)d go on waiting (now %(waiting_now)d)."
    ) % {
        "starts": tried.starts_after, "starts_now": tried.starts_before,
        "stops": tried.stops_after, "stops_now": tried.stops_before,
        "waiting": tried.waiting_after, "waiting_now": tried.waiting_before,
    }  # fmt: skip


def _kind(kind: str, n: int) -> str:
    words = {
        trying.STARTS: ngettext("%(n)d starts at once", "%(n)d start at once", n),
        trying.HOLDS: ngettext("%(n)d has to wait instead", "%(n)d have to wait instead", n),
        trying.STOPS: ngettext("%(n)d is stopped", "%(n)d are stopped", n),
        trying.SPARES: ngettext("%(n)d is spared", "%(n)d are spared", n),
        trying.EARLIER: ngettext("%(n)d is planned earlier", "%(n)d are planned earlier", n),
        trying.LATER: ngettext("%(n)d is planned later", "%(n)d are planned later", n),
    }
    return words[kind] % {"n": n}


def _what(move: Move) -> tuple[str, str]:
    """What becomes of a job by either policy."""
    starts, waits = _("starts at once"), _("has to wait")
    fixed = {
        trying.STARTS: (waits, starts), trying.HOLDS: (starts, waits),
        trying.STOPS: (_("runs on"), _("is stopped")),
        trying.SPARES: (_("is stopped"), _("runs on")),
    }  # fmt: skip
    return fixed.get(move.kind) or (_at(move.was_at), _at(move.now_at))


def _at(moment: datetime | None) -> str:
    if moment is None:
        return _("starts at no known time")
    return _("starts %(when)s") % {"when": formats.when(moment)}


def check_worth(before: Mapping[str, Any], after: Mapping[str, Any], note: str) -> None:
    """Raise `Invalid` where nothing changes, or nobody says why."""
    if not ruling.differences(before, after):
        raise Invalid(_("Nothing changes: that is the policy already."))
    if not note.strip():
        told = _("Say why, for those who read the history.")
        raise Invalid(told, fields={"note": told})


def history_csv(past: Iterable[Past]) -> Iterator[tuple[object, ...]]:
    """Every policy with what it changed."""
    yield _("From"), _("By"), _("Why"), _("Rule"), _("Was"), _("Became")
    for one in past:
        lines = [(row.label, row.was, row.now) for row in one.differences] or [("", "", "")]
        for line in lines:
            yield one.row.valid_from, one.by, one.row.note, *line
