"""What the Fairness page says: each team's sentence, and the charts over time. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats
from portal.common.charts import AREA, DOT, LINE, STEP, Chart, Series
from portal.common.drawing import DASHED, HATCHED, SOLID, Bar, Part
from portal.dashboards.selectors.common import DEVICE, TeamMark
from portal.dashboards.selectors.history import Amounts, History, PairRow
from portal.dashboards.selectors.waits import Quantile, WaitsRow

SHOWN = 7
"""So many teams have a line of their own; the rest is one."""
ABOUT = 0.03
LITTLE = DEVICE / 20
"""Less than this is not spoken of."""
MINUTE = 60
SCALE = (
    (1 / 60, 1),
    (1, 60),
    (10, 600),
    (60, 3600),
    (360, 21_600),
    (1440, 86_400),
    (10_080, 604_800),
)
"""Places on the axis of waits: in minutes, and the seconds they are written as."""


@dataclass(frozen=True, slots=True)
class FairRow:
    """One team over a window, in milli-GPU on average."""

    team: TeamMark
    mean: Amounts
    waits: WaitsRow | None
    sentence: str
    bar: Bar


def rows(
    history: History, pairs: Sequence[PairRow], waits: Iterable[WaitsRow], marks: Mapping[int, TeamMark]
) -> list[FairRow]:  # fmt: skip
    """Every team that had something to share, with its sentence."""
    means = {team: mean for team, mean in history.means().items() if team in marks}
    of_team = {row.key: row for row in waits}
    total = int(max((max(m.held, m.guaranteed, m.fair) for m in means.values()), default=1)) or 1
    found = [
        FairRow(
            marks[team], mean, of_team.get(team), sentence(team, mean, pairs, marks, of_team.get(team)),
            bar(mean, marks[team].hue, total),
        )
        for team, mean in means.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: row.team.name.casefold())


def bar(mean: Amounts, hue: int, total: int) -> Bar:
    """Own, borrowed, lent: on one scale for all teams."""
    parts = (
        Part(SOLID, int(mean.own), hue, _("%(n)s of its own") % {"n": amount(mean.own)}),
        Part(HATCHED, int(mean.borrowed), hue, _("%(n)s borrowed") % {"n": amount(mean.borrowed)}),
        Part(DASHED, int(mean.lent), hue, _("%(n)s lent") % {"n": amount(mean.lent)}),
    )
    said = ", ".join(part.label for part in parts if part.amount) or _("nothing held")
    return Bar(parts, max(total, int(mean.held + mean.lent)), said)


def amount(milli: float) -> str:
    """GPUs with one decimal at most."""
    return formats.number(round(milli / DEVICE, 1))


def sentence(
    team_id: int, mean: Amounts, pairs: Sequence[PairRow], marks: Mapping[int, TeamMark],
    waits: WaitsRow | None,
) -> str:  # fmt: skip
    """Why its numbers are what they are."""
    said = [_against_fair_share(mean), _loans(team_id, mean, pairs, marks)]
    if waits and waits.still:
        words = ngettext(
            "%(still)s of its %(jobs)s jobs still waits.",
            "%(still)s of its %(jobs)s jobs still wait.",
            waits.still,
        )
        said.append(
            words % {"still": formats.number(waits.still), "jobs": formats.number(waits.jobs)}
        )
    return " ".join(part for part in said if part)


def _against_fair_share(mean: Amounts) -> str:
    if not mean.fair and not mean.held:
        return _("It asked for nothing in this time.")
    words = {"held": amount(mean.held), "fair": amount(mean.fair)}
    if not mean.fair:
        return _("It held %(held)s GPUs on average with no fair share.") % words
    off = mean.held / mean.fair - 1
    words["percent"] = formats.number(abs(off) * 100, 0)
    if abs(off) < ABOUT:
        return _("It held %(held)s GPUs on average: its fair share.") % words
    if off > 0:
        return (
            _("It held %(held)s GPUs on average, %(percent)s%% above its fair share of %(fair)s.")
            % words
        )
    return (
        _("It held %(held)s GPUs on average, %(percent)s%% below its fair share of %(fair)s.")
        % words
    )


def _loans(
    team_id: int, mean: Amounts, pairs: Sequence[PairRow], marks: Mapping[int, TeamMark]
) -> str:
    borrower = next((p for p in pairs if p.lender_id == team_id), None)
    said = [_borrowed(mean, [p for p in pairs if p.borrower_id == team_id], marks)]
    if mean.lent >= LITTLE and borrower:
        words = {"n": amount(mean.lent), "team": _name(marks, borrower.borrower_id)}
        said.append(_("It lent %(n)s, most to %(team)s.") % words)
    return " ".join(part for part in said if part)


def _borrowed(mean: Amounts, pairs: Sequence[PairRow], marks: Mapping[int, TeamMark]) -> str:
    """Of what it held, how much was borrowed: from others, or what was promised to nobody."""
    if mean.borrowed < LITTLE:
        return ""
    free = sum(p.milli for p in pairs if p.lender_id is None)
    lender = next((p for p in pairs if p.lender_id is not None and p.milli >= LITTLE), None)
    words = {
        "n": amount(mean.borrowed), "free": amount(free),
        "team": _name(marks, lender.lender_id if lender else None),
    }  # fmt: skip
    if lender is None:
        return _("Of these %(n)s were borrowed, promised to nobody.") % words
    if free < LITTLE:
        return _("Of these %(n)s were borrowed, most from %(team)s.") % words
    return (
        _(
            "Of these %(n)s were borrowed: %(free)s promised to nobody, and most of the rest "
            "from %(team)s."
        )
        % words
    )


def _name(marks: Mapping[int, TeamMark], team_id: int | None) -> str:
    mark = marks.get(team_id or 0)
    return mark.name if mark else _("nobody")


def held_chart(history: History, marks: Mapping[int, TeamMark], as_of: datetime) -> Chart:
    """Who held how much, one team on the other."""
    first, rest = _largest(history, marks)
    series = [
        Series(mark.name, _values(history, mark.id, "held"), f"hue-{mark.hue}", AREA)
        for mark in first
    ]
    if rest:
        columns = [_values(history, mark.id, "held") for mark in rest]
        sums = tuple(
            None if parts[0] is None else sum(part or 0.0 for part in parts)
            for parts in zip(*columns, strict=True)
        )
        series.append(Series(_("other teams"), sums, "soft", AREA))
    means = history.means()
    most = first[0] if first else None
    takeaway = (
        _("%(team)s held most: %(n)s GPUs on average.")
        % {"team": most.name, "n": amount(means[most.id].held)}
        if most
        else ""
    )
    return _over_time(
        history, as_of, "held", _("Held, by team"), takeaway, tuple(series), _("GPUs")
    )


def team_chart(history: History, mark: TeamMark, as_of: datetime) -> Chart:
    """One team: its own and borrowed, against what it is guaranteed, its fair share and what it lent."""
    ink = f"hue-{mark.hue}"
    mean = history.means().get(mark.id, Amounts())
    takeaway = _(
        "%(team)s held %(held)s GPUs on average: %(guaranteed)s guaranteed, fair share %(fair)s."
    ) % {
        "team": mark.name, "held": amount(mean.held), "guaranteed": amount(mean.guaranteed),
        "fair": amount(mean.fair),
    }  # fmt: skip
    series = (
        Series(_("its own"), _values(history, mark.id, "own"), ink, AREA),
        Series(_("borrowed"), _values(history, mark.id, "borrowed"), ink, AREA, HATCHED),
        Series(_("guaranteed"), _values(history, mark.id, "guaranteed"), "ink", STEP),
        Series(_("fair share"), _values(history, mark.id, "fair"), "ink", STEP),
        Series(_("lent"), _values(history, mark.id, "lent"), "soft", STEP),
    )
    return _over_time(
        history, as_of, "team", _("Shares of %(team)s") % {"team": mark.name}, takeaway, series,
        _("GPUs"),
    )  # fmt: skip


def filled_chart(
    history: History, marks: Mapping[int, TeamMark], mark: TeamMark | None, as_of: datetime
) -> Chart:
    """How much of its fair share each team held; one that is chosen stands out."""
    series = tuple(
        Series(one.name, _filled(history, one.id), ink, LINE)
        for one, ink in _inks(history, marks, mark)
    )
    takeaway = (
        _("At 100%% a team holds what is fair; where it asks for nothing it has no line.") % {}
    )
    return _over_time(
        history, as_of, "filled", _("Held of the fair share"), takeaway, series, "%", digits=0
    )


def jain_chart(history: History, as_of: datetime) -> Chart:
    """How evenly fair shares were filled."""
    values = tuple(None if s is None else s.jain for s in history.samples)
    mean = history.jain
    takeaway = (
        _("1 is even; 1 ÷ the number of teams is one that has all. On average %(n)s.")
        % {"n": formats.number(mean, 2)}
        if mean is not None
        else ""
    )
    series = (Series(_("Jain's index"), values, "accent", STEP),)
    chart = _over_time(history, as_of, "jain", _("Evenness"), takeaway, series, "", digits=2)
    return chart


def dominant_chart(
    history: History, marks: Mapping[int, TeamMark], mark: TeamMark | None, as_of: datetime
) -> Chart:
    """The largest part each team had of any one resource of a pool."""
    series = tuple(
        Series(one.name, _values(history, one.id, "dominant", 100), ink, LINE)
        for one, ink in _inks(history, marks, mark)
    )
    takeaway = _("The largest part of GPUs, CPUs or memory a team had of any pool.")
    return _over_time(
        history, as_of, "dominant", _("Dominant share"), takeaway, series, "%", digits=0
    )


def waits_chart(rows: Sequence[WaitsRow], place: str, as_of: datetime) -> Chart:
    """Quantiles of waits by group, on a scale of powers."""
    shown = sorted(rows, key=lambda r: -r.p90.seconds)[: 2 * SHOWN]
    worst = shown[0] if shown else None
    takeaway = (
        _("%(group)s waits longest: one in ten of its jobs more than %(span)s.")
        % {"group": worst.label, "span": formats.duration(worst.p90.seconds)}
        if worst
        else ""
    )
    series = tuple(
        Series(f"p{percent}", tuple(_minutes(r.quantiles[i]) for r in shown), ink, DOT)
        for i, percent, ink in ((0, 50, "accent"), (1, 90, "warn"), (3, 99, "bad"))
    )
    return Chart(
        key="waits", title=_("Waits"), takeaway=takeaway, as_of=as_of,
        places=tuple(row.label for row in shown), series=series, unit=_("minutes"), place=place,
        lying=True, log=True,
        scale=tuple((at, formats.duration(seconds)) for at, seconds in SCALE),
    )  # fmt: skip


def _minutes(quantile: Quantile) -> float:
    return max(1, quantile.seconds) / MINUTE


def _largest(
    history: History, marks: Mapping[int, TeamMark]
) -> tuple[list[TeamMark], list[TeamMark]]:
    """Teams that have a colour and line of their own, most held first, and the rest."""
    means = history.means()
    ordered = sorted(
        (team for team in means if team in marks and (means[team].held or means[team].fair)),
        key=lambda team: (-means[team].held, team),
    )
    found = [marks[team] for team in ordered]
    return found[:SHOWN], found[SHOWN:]


def _inks(
    history: History, marks: Mapping[int, TeamMark], mark: TeamMark | None
) -> list[tuple[TeamMark, str]]:
    """The teams of a chart of lines with their colours: a chosen one alone has its own."""
    first, _rest = _largest(history, marks)
    if mark is None:
        return [(one, f"hue-{one.hue}") for one in first]
    others = [one for one in first if one != mark]
    return [(mark, f"hue-{mark.hue}"), *((one, "line") for one in others[: SHOWN - 1])]


def _values(
    history: History, team_id: int, name: str, scale: float = 1 / DEVICE
) -> tuple[float | None, ...]:
    found = history.of(team_id)
    return tuple(None if a is None else round(getattr(a, name) * scale, 3) for a in found)


def _filled(history: History, team_id: int) -> tuple[float | None, ...]:
    found = history.of(team_id)
    return tuple(
        None if a is None or not a.fair else round(100 * a.held / a.fair, 1) for a in found
    )


def _over_time(
    history: History, as_of: datetime, key: str, title: str, takeaway: str,
    series: tuple[Series, ...], unit: str, digits: int = 1,
) -> Chart:  # fmt: skip
    return Chart(
        key=key, title=title, takeaway=takeaway, as_of=as_of, places=history.window.places,
        step=history.window.step, series=series, unit=unit, digits=digits,
    )  # fmt: skip
