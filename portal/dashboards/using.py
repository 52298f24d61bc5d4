"""What the Usage page draws and says. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.charts import AREA, LINE, Chart, Series
from portal.common.drawing import EMPTY, HATCHED, SOLID
from portal.dashboards.periods import Window
from portal.dashboards.selectors.usage import Amount, By, Key, Use, UseRow
from portal.teams.selectors import Tree
from portal.workloads.models import ChargedTo

SHOWN = 7
MOST = 8
"""So many colours there are."""


def held_chart(use: Use, by: By, inks: Mapping[Key, int], as_of: datetime) -> Chart:
    """Held over time, one group on the other, and the time before as a line."""
    shown = use.rows[:SHOWN]
    series = [
        Series(
            row.label, _gpus(use.of_key[row.key], use.window),
            f"hue-{inks[row.key]}" if inks.get(row.key) else "line", AREA, grain(by, row.key),
        )
        for row in shown
    ]  # fmt: skip
    if len(use.rows) > len(shown):
        series.append(Series(_("all others"), _rest(use, shown), "line", AREA))
    if any(amount and amount.held for amount in use.before):
        series.append(Series(_("all, the time before"), _gpus(use.before, use.window), "ink", LINE))
    return Chart(
        key="held", title=_("Held (%(by)s)") % {"by": str(by.label).lower()},
        takeaway=_takeaway(use), as_of=as_of, places=use.window.places, step=use.window.step,
        series=tuple(series), unit=_("GPUs"), tall=True,
    )  # fmt: skip


def _rest(use: Use, shown: tuple[UseRow, ...]) -> tuple[float | None, ...]:
    """What the groups without a line of their own held."""
    total = _gpus(use.total, use.window)
    parts = [_gpus(use.of_key[row.key], use.window) for row in shown]
    return tuple(
        None if whole is None else round(max(0.0, whole - sum(part[i] or 0 for part in parts)), 3)
        for i, whole in enumerate(total)
    )


def _takeaway(use: Use) -> str:
    whole, before = use.whole.held, [row.before for row in use.rows]
    words = {"hours": hours(whole)}
    earlier = sum(amount.held for amount in use.before if amount)
    if not earlier or any(held is None for held in before):
        return _("%(hours)s GPU-hours were held in this time.") % words
    change = 100 * (whole / earlier - 1)
    words["percent"] = formats.number(abs(change), 0)
    if change >= 0:
        return (
            _("%(hours)s GPU-hours were held, %(percent)s%% more than in the time before.") % words
        )
    return _("%(hours)s GPU-hours were held, %(percent)s%% less than in the time before.") % words


def busy_chart(use: Use, as_of: datetime) -> Chart:
    """Of what was held: computing, idle, not measured."""
    whole = use.whole
    percent = whole.percent_used
    takeaway = (
        _("The devices computed %(percent)s%% of the time that was measured.")
        % {"percent": formats.number(percent, 0)}
        if percent is not None
        else _("Nothing was measured in this time: no monitoring has told of these jobs.")
    )
    parts: tuple[tuple[str, str, str, Callable[[Amount], int]], ...] = (
        (_("computing"), "accent", SOLID, lambda a: a.used),
        (_("held and idle"), "accent", HATCHED, lambda a: a.idle),
        (_("held, not measured"), "line", EMPTY, lambda a: max(0, a.held - a.measured)),
    )
    series = tuple(
        Series(name, _of(use, part), ink, AREA, grain) for name, ink, grain, part in parts
    )
    return Chart(
        key="busy", title=_("Computing and idle"), takeaway=takeaway, as_of=as_of,
        places=use.window.places, step=use.window.step, series=series, unit=_("GPUs"),
    )  # fmt: skip


def hours(milli_seconds: float) -> str:
    """GPU-hours, as people read them."""
    found = milli_seconds / 3_600_000
    return formats.number(found, 1 if found < 100 else 0)


def _of(use: Use, part: Callable[[Amount], int]) -> tuple[float | None, ...]:
    return _gpus(tuple(Amount(part(a)) if a else None for a in use.total), use.window)


def _gpus(amounts: tuple[Amount | None, ...], window: Window) -> tuple[float | None, ...]:
    """GPUs on average of each step."""
    ends = [*window.places[1:], window.to_at]
    return tuple(
        None if amount is None else round(amount.held / 1000 / (end - place).total_seconds(), 3)
        for amount, place, end in zip(amounts, window.places, ends, strict=True)
    )


def grain(by: By, key: Key) -> str:
    """How a group is drawn: what is borrowed is hatched, as everywhere."""
    return HATCHED if by is By.CHARGED_TO and key == ChargedTo.BORROWED else SOLID


def hues(by: By, use: Use, tree: Tree) -> dict[Key, int]:
    """The colour of each group: a team's own, else the next that is free."""
    match by:
        case By.TEAM | By.DEPARTMENT:
            return {row.id: row.hue for row in tree.rows}
        case By.CHARGED_TO:
            return {ChargedTo.GUARANTEED: 1, ChargedTo.BORROWED: 1, ChargedTo.RESERVED: 7}
        case By.WORKLOAD:
            return {row.key: place + 1 for place, row in enumerate(use.rows[:SHOWN])}
        case _other:
            return {row.key: place % MOST + 1 for place, row in enumerate(use.rows)}


def average(use: Use) -> str:
    """GPUs held on average over the steps that were recorded."""
    ends = [*use.window.places[1:], use.window.to_at]
    known = [
        (amount, (end - place).total_seconds())
        for amount, place, end in zip(use.total, use.window.places, ends, strict=True)
        if amount is not None
    ]
    seconds = sum(length for _amount, length in known)
    held = sum(amount.held for amount, _length in known)
    return formats.number(held / 1000 / seconds, 1) if seconds else "–"
