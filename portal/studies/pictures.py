"""The charts of a study: waits of the teams on both sides, and what was held over time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _

from portal.common import charts, drawing, formats
from portal.studies.comparing import HOUR, Comparison
from portal.studies.selectors import StudyDetail

MILLI = 1000
MOST_TEAMS = 20


def of(detail: StudyDetail, now: datetime) -> list[charts.Chart]:
    """Both charts, once a seed is done."""
    found = detail.comparison
    if found is None:
        return []
    return [_waits(detail, found, now), _over_time(detail, found, now)]


def _waits(detail: StudyDetail, found: Comparison, now: datetime) -> charts.Chart:
    teams = sorted(found.teams, key=lambda team: -team.lines["wait_p90"].compared.base)[:MOST_TEAMS]
    names = tuple(detail.teams[team.name].name or _("no team") for team in teams)
    sides = (found.base, found.changed)
    series = []
    for side, name, ink, grain in (
        (0, _("As it is"), "soft", drawing.SOLID), (1, _("Changed"), "accent", drawing.HATCHED),
    ):  # fmt: skip
        each = [
            [one["teams"].get(team.name, {}).get("wait_p90", 0) / HOUR for one in sides[side]]
            for team in teams
        ]
        series.append(
            charts.Series(
                name, tuple(sum(one) / len(one) for one in each), ink=ink, form=charts.BAR,
                grain=grain, low=tuple(min(one) for one in each),
                high=tuple(max(one) for one in each),
            )
        )  # fmt: skip
    return charts.Chart(
        key="waits", title=_("Wait of each team, p90"), as_of=now, places=names,
        takeaway=_takeaway(detail, found), series=tuple(series), unit=_("hours"), place=_("Team"),
        digits=2, lying=True, tall=len(names) > 6,
    )  # fmt: skip


def _takeaway(detail: StudyDetail, found: Comparison) -> str:
    real = [team for team in found.teams if team.lines["wait_p90"].compared.is_real]
    if not real:
        return _("Of no team can it be said that it waits longer or less.")
    most = max(real, key=lambda team: abs(team.lines["wait_p90"].compared.difference))
    compared = most.lines["wait_p90"].compared
    words = (
        _("%(team)s waits really less: %(base)s before, %(changed)s after.")
        if compared.difference < 0
        else _("%(team)s waits really longer: %(base)s before, %(changed)s after.")
    )
    return words % {
        "team": detail.teams[most.name].name, "base": formats.duration(compared.base),
        "changed": formats.duration(compared.changed),
    }  # fmt: skip


def _over_time(detail: StudyDetail, found: Comparison, now: datetime) -> charts.Chart:
    held = [_mean([one["held"] for one in side]) for side in (found.base, found.changed)]
    waiting = [_mean([one["waiting"] for one in side]) for side in (found.base, found.changed)]
    places, step = _places(detail, len(held[0]))
    series = (
        charts.Series(_("Held, as it is"), held[0], ink="soft"),
        charts.Series(_("Held, changed"), held[1], ink="accent"),
        charts.Series(_("Waited for, as it is"), waiting[0], ink="warn"),
        charts.Series(_("Waited for, changed"), waiting[1], ink="bad"),
    )
    takeaway = _("Held back: %(base)s %% of the waiting as it is, %(changed)s %% changed.") % {
        "base": formats.number(found.line("held_back_pct").compared.base, 0),
        "changed": formats.number(found.line("held_back_pct").compared.changed, 0),
    }
    return charts.Chart(
        key="over-time", title=_("GPUs held and waited for"), takeaway=takeaway, as_of=now,
        places=places, series=series, unit=_("GPUs"), step=step, place=_("Time"),
    )  # fmt: skip


def _mean(rows: Sequence[Sequence[int]]) -> tuple[float, ...]:
    return tuple(sum(column) / len(column) / MILLI for column in zip(*rows, strict=True))


def _places(
    detail: StudyDetail, count: int
) -> tuple[tuple[datetime, ...] | tuple[str, ...], timedelta | None]:
    """Instants of our own past; hours since its beginning of a trace, whose clock is its own."""
    if detail.trace or detail.from_at is None or detail.to_at is None:
        return tuple(_("part %(n)d") % {"n": number + 1} for number in range(count)), None
    step = (detail.to_at - detail.from_at) / count
    first = detail.from_at.astimezone(UTC)
    return tuple(first + step * number for number in range(count)), step
