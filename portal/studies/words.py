"""What pages, tables and the API say of studies: changes, figures, verdicts, states."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from portal.common import formats, money
from portal.scheduling import ruling
from portal.studies.comparing import Line
from portal.studies.models import DIED, FAULT, TOO_BIG, TOO_LONG, StudyState
from portal.studies.verdicts import Compared, Verdict

Words = str | Promise

FIGURES: dict[str, tuple[Words, Words]] = {
    "wait_p50": (gettext_lazy("Wait, p50"), gettext_lazy("Half of all jobs waited no longer.")),
    "wait_p90": (gettext_lazy("Wait, p90"), gettext_lazy("Nine jobs in ten waited no longer.")),
    "wait_p99": (gettext_lazy("Wait, p99"), gettext_lazy("99 jobs in 100 waited no longer.")),
    "longest_wait": (
        gettext_lazy("Longest wait"),
        gettext_lazy("Those that still wait at the end are counted."),
    ),
    "still_waiting": (
        gettext_lazy("Still waiting"),
        gettext_lazy("Jobs that had not started at the end."),
    ),
    "starved": (gettext_lazy("Starved"), gettext_lazy("Jobs that waited longer than a day.")),
    "held_back_pct": (
        gettext_lazy("Held back"),
        gettext_lazy(
            "Part of the waiting by jobs for which enough GPUs were free: behind the head of the "
            "line, for a plan, or in pieces too small."
        ),
    ),
    "allocated_pct": (
        gettext_lazy("Allocated"),
        gettext_lazy("GPU time that was held, of all there was."),
    ),
    "utilised_pct": (
        gettext_lazy("Not lost"),
        gettext_lazy("GPU time that was held and whose work was not lost."),
    ),
    "jain": (
        gettext_lazy("Fairness (Jain)"),
        gettext_lazy("1 is everybody equally near their fair share."),
    ),
    "preemptions": (
        gettext_lazy("Stopped"),
        gettext_lazy("How often running work was stopped for other work."),
    ),
    "lost_hours": (gettext_lazy("Lost GPU-hours"), gettext_lazy("Work that had to be done again.")),
    "gpu_hours": (
        gettext_lazy("GPU-hours held"),
        gettext_lazy("What the team's jobs held until the end."),
    ),
    "cost": (
        gettext_lazy("Cost"),
        gettext_lazy("GPU time held, at the guaranteed rate of its pool, without tax."),
    ),
}
STATES: dict[str, tuple[Words, str]] = {
    StudyState.QUEUED: (gettext_lazy("Queued"), ""),
    StudyState.RUNNING: (gettext_lazy("Running"), "warn"),
    StudyState.DONE: (gettext_lazy("Done"), "good"),
    StudyState.FAILED: (gettext_lazy("Failed"), "bad"),
    StudyState.CANCELLED: (gettext_lazy("Cancelled"), ""),
}
VERDICTS: dict[Verdict, tuple[Words, str]] = {
    Verdict.BETTER: (gettext_lazy("better"), "good"),
    Verdict.WORSE: (gettext_lazy("worse"), "bad"),
    Verdict.SAME: (gettext_lazy("the same"), ""),
    Verdict.UNSURE: (gettext_lazy("not certain"), ""),
    Verdict.ONE_RUN: (gettext_lazy("one run"), ""),
}


def amount(unit: str, value: float, currency: str = "") -> str:
    """A figure as people read it."""
    if unit == "seconds":
        return _span(value)
    if unit == "money":
        return money.show(round(value), currency)
    if unit == "percent":
        return _("%(n)s %%") % {"n": formats.number(value, 1)}
    return formats.number(
        value, {"ratio": 3, "hours": 1}.get(unit, 0 if value == int(value) else 1)
    )


def _span(seconds: float) -> str:
    """A duration; below an hour to the second, since halves of minutes are compared."""
    minutes, rest = divmod(int(seconds), 60)
    if 0 < minutes < 60 and rest:
        return f"{formats.duration(minutes * 60)} {formats.duration(rest)}"
    return formats.duration(seconds)


def signed(unit: str, value: float, currency: str = "") -> str:
    """A difference, with its sign; a percentage differs by points."""
    size = amount(unit, abs(value), currency)
    if unit == "percent":
        size = _("%(n)s points") % {"n": formats.number(abs(value), 1)}
    if size == amount(unit, 0, currency):
        return size
    return f"{'−' if value < 0 else '+'}{size}"


def verdict(line: Line) -> tuple[str, str]:
    """A difference's verdict in a word or two, and its tone."""
    compared = line.compared
    if line.figure.is_plain and compared.is_real:
        return (_("more") if compared.difference > 0 else _("less")), ""
    word, tone = VERDICTS[compared.verdict]
    return str(word), tone


def seeds(compared: Compared) -> str:
    """How many seeds agree with the mean."""
    if compared.verdict in (Verdict.SAME, Verdict.ONE_RUN):
        return ""
    return _("%(agree)d of %(all)d") % {"agree": compared.agree, "all": compared.seeds}


def change(given: Mapping[str, Any], rules: Mapping[str, Any], names: "Names") -> str:
    """The one thing that changes, as a sentence without its full stop."""
    kind = given.get("kind")
    if kind == "rules":
        return _rules(given, rules)
    if kind == "quota":
        words = (
            _("%(team)s has %(guaranteed)s guaranteed in %(pool)s, no limit")
            if given["limit"] is None
            else _("%(team)s has %(guaranteed)s guaranteed in %(pool)s, at most %(limit)s")
        )
        return words % {
            "team": names.team(given["team"]), "pool": names.pool(given["pool"]),
            "guaranteed": given["guaranteed"], "limit": given["limit"],
        }  # fmt: skip
    if kind == "nodes":
        return _nodes(given, names)
    if kind == "reserve":
        return _("%(team)s has %(gpus)s GPUs of %(pool)s reserved, %(span)s") % {
            "team": names.team(given["team"]), "gpus": given["gpus"],
            "pool": names.pool(given["pool"]), "span": _when(given),
        }  # fmt: skip
    return _("without reservation R-%(id)s") % {"id": given.get("reservation")}


def _when(given: Mapping[str, Any]) -> str:
    starts, ends = (datetime.fromtimestamp(given[key], UTC) for key in ("starts_at", "ends_at"))
    return formats.span(starts, ends)


def _rules(given: Mapping[str, Any], rules: Mapping[str, Any]) -> str:
    was, now = ruling.flat(rules), ruling.flat(given["rules"])
    told = [
        _("%(rule)s: %(was)s → %(now)s")
        % {
            "rule": ruling.LABELS.get(key, key), "was": ruling.value(key, was.get(key)),
            "now": ruling.value(key, value),
        }
        for key, value in now.items()
    ]  # fmt: skip
    return "; ".join(told)


def _nodes(given: Mapping[str, Any], names: "Names") -> str:
    count = abs(given["nodes"])
    where = names.pool(given["pool"])
    if given["nodes"] > 0:
        words = ngettext("%(n)s node more", "%(n)s nodes more", count)
    else:
        words = ngettext("%(n)s node fewer", "%(n)s nodes fewer", count)
    told = words % {"n": formats.number(count)}
    return _("%(told)s in %(pool)s") % {"told": told, "pool": where} if where else told


class Names:
    """Names of teams and pools by id."""

    def __init__(self, teams: Mapping[int, str], pools: Mapping[int, str]) -> None:
        self._teams = teams
        self._pools = pools

    def team(self, team_id: int) -> str:
        """A team's name; its number where it is gone."""
        return self._teams.get(team_id, f"#{team_id}")

    def pool(self, pool_id: int | None) -> str:
        """A pool's name; nothing for bare nodes."""
        return "" if pool_id is None else self._pools.get(pool_id, f"#{pool_id}")


def fault(message: str) -> str:
    """Why a study failed, and what to do."""
    code, _colon, why = message.partition(": ")
    if code == TOO_LONG:
        return _("It took longer than a study may. Take a shorter period or fewer seeds.")
    if code == TOO_BIG:
        return _("It needed more memory than a study may. Take a shorter period.")
    if code == DIED:
        return _("Its process died several times, so it was given up. Take a shorter period.")
    if code == FAULT:
        return _("It failed by a fault of ours (%(why)s); the log says more.") % {"why": why}
    if why == "no_jobs":
        return _("There were no jobs in this period.")
    return why or message


def headline(told: Mapping[str, Any]) -> str:
    """A study's result in a line of a list."""
    if not told:
        return ""
    words = _("p90 wait %(base)s → %(changed)s, %(verdict)s") % {
        "base": formats.duration(told["base"]), "changed": formats.duration(told["changed"]),
        "verdict": VERDICTS[Verdict(told["verdict"])][0],
    }  # fmt: skip
    return words


def conclusion(told: Mapping[str, Any], seed_count: int) -> str:
    """What may be said of a whole study, in a sentence or two."""
    if not told:
        return ""
    if seed_count < 3:
        return _(
            "This is one run of the very jobs that came. What differs is exact for them; whether it "
            "would be so another time, only several seeds can tell."
        )
    better, worse, teams = told["better"], told["worse"], told["teams"]
    if not better and not worse:
        return _(
            "Nothing in the whole is really different: the seeds disagree, or agree on nothing."
        )
    first = _("Really better: %(better)d figures, really worse: %(worse)d.") % {
        "better": better, "worse": worse
    }  # fmt: skip
    second = ngettext("It is felt by %(n)d team.", "It is felt by %(n)d teams.", teams)
    return f"{first} {second % {'n': teams}}"
