"""Months, lines and sums in words, for pages and exports alike."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from portal.common import formats, money
from portal.finance import pricing
from portal.finance.models import LineKind, StatementState
from portal.finance.selectors import LineRow, Reconciliation, StatementDetail
from portal.finance.selectors.statements import gpu_hours
from portal.usage.breakdown import UsePart
from portal.workloads.models import ChargedTo

TONES = {StatementState.OPEN: "", StatementState.FINAL: "good", StatementState.PAID: "good"}


def month(starts_at: datetime, zone: str) -> str:
    """A month by its name: `November 2026`."""
    return str(date_format(starts_at.astimezone(ZoneInfo(zone)), "YEAR_MONTH_FORMAT"))


def hours(gpu_milli_seconds: int) -> str:
    """Milli-GPU-seconds as GPU-hours, to the tenth, as on every page; exports have them exactly."""
    return formats.number(gpu_hours(gpu_milli_seconds), 1)


def exact_hours(gpu_milli_seconds: int) -> str:
    """The same to the thousandth, where a sentence speaks of a difference."""
    return formats.number(gpu_hours(gpu_milli_seconds))


def printed_hours(gpu_milli_seconds: int) -> str:
    """The same with all three places, one below the other; nothing for lines without a quantity."""
    return formats.number(gpu_hours(gpu_milli_seconds), 3) if gpu_milli_seconds else ""


def rate(micro: int, currency: str) -> str:
    """A rate with all its digits, since amounts are reckoned with it."""
    digits = money.minor_digits(currency)
    if micro % 10 ** (6 - digits) == 0:
        return money.show(micro, currency)
    exact = money.from_micro(micro).normalize()
    return f"{formats.number(exact, -int(exact.as_tuple().exponent))} {currency}"


def percent(basis_points: int) -> str:
    """Basis points as percent: `10`, `7.5`."""
    return formats.number(Decimal(basis_points) / 100)


def line(row: LineRow) -> str:
    """What a line is for: `Use, guaranteed`; an adjustment as what it adjusts."""
    what = str((row.adjusts or row.kind).label)
    if row.charged_to is not None:
        what = _("%(what)s: %(charge)s") % {
            "what": what, "charge": str(row.charged_to.label).lower(),
        }  # fmt: skip
    if row.adjusts is None:
        return what
    return _("Adjustment of an earlier month. %(what)s") % {"what": what}


def meanings(lines: Iterable[LineRow]) -> list[tuple[str, str]]:
    """What each word on these lines means, for who pays and did not run the jobs."""
    said = {
        ChargedTo.GUARANTEED: _("within what the team is guaranteed."),
        ChargedTo.RESERVED: _("within a reservation from the pool; R- is its number."),
        ChargedTo.BORROWED: _("GPUs that others had and left unused, at a rate of their own."),
        LineKind.RESERVED_UNUSED: _("held for the team alone and used by nobody."),
        LineKind.UNOWNED: _("work in namespaces that belong to no team."),
        LineKind.IDLE: _("GPUs that were ready and that nobody held."),
        LineKind.IDLE_SHARE: _("the team's share of GPUs that nobody held."),
        LineKind.MAINTENANCE: _("nodes in planned maintenance."),
        LineKind.DOWN: _("nodes that had failed."),
        LineKind.RATE_DIFFERENCE: _(
            "what cheaper rates and rounding leave of the cost of the pools."
        ),
    }
    found = {row.charged_to or row.adjusts or row.kind for row in lines}
    return [(str(word.label), meaning) for word, meaning in said.items() if word in found]


def taxes(detail: StatementDetail) -> list[tuple[str, str, str]]:
    """Each rate of tax: percent, what it is on, and how much it is."""
    currency = detail.statement.currency
    sums: dict[int, int] = {}
    for row in detail.lines:
        sums[row.tax_basis_points] = sums.get(row.tax_basis_points, 0) + row.amount_micro
    return [
        (
            percent(points),
            money.show(net, currency),
            money.show(pricing.tax([(net, points)], currency), currency),
        )
        for points, net in sorted(sums.items())
        if points
    ]


def parts(found: Reconciliation) -> list[tuple[str, int, int]]:
    """The equation's left side: word, milli-GPU-seconds, micro-units; what is nothing is left out."""
    named: list[tuple[str, tuple[LineKind, ...]]] = [
        (_("Used by teams"), (LineKind.USE,)),
        (_("Reserved, not used"), (LineKind.RESERVED_UNUSED,)),
        (_("Work of no team"), (LineKind.UNOWNED,)),
        (_("Idle"), (LineKind.IDLE,)),
        (_("Idle, shared among teams"), (LineKind.IDLE_SHARE,)),
        (_("Maintenance"), (LineKind.MAINTENANCE,)),
        (_("Down"), (LineKind.DOWN,)),
        (_("Use beyond the known nodes"), (LineKind.BEYOND,)),
        (_("Rate difference"), (LineKind.RATE_DIFFERENCE,)),
    ]
    rows = [(word, found.quantity(*kinds), found.amount(*kinds)) for word, kinds in named]
    return [row for row in rows if row[1] or row[2]]


def verdict(found: Reconciliation) -> str:
    """Whether a month adds up, in a sentence."""
    counted, capacity = exact_hours(found.accounted), exact_hours(found.capacity)
    if found.adds_up:
        return _(
            "It adds up: the lines account for %(counted)s GPU-hours, to the last GPU-second what "
            "the pools had."
        ) % {"counted": counted}
    if found.beyond:
        return _(
            "It does not add up: %(beyond)s GPU-hours were used on nodes that were not known then, "
            "or beyond what they have. The ledger or the record of nodes is wrong."
        ) % {"beyond": exact_hours(found.beyond)}
    if found.accounted != found.capacity:
        return _(
            "It does not add up: the lines account for %(counted)s GPU-hours, the pools had "
            "%(capacity)s. What is known of the nodes has changed since; the next computing or an "
            "adjustment settles it."
        ) % {"counted": counted, "capacity": capacity}
    return _(
        "It does not add up in money: the statements and the cost of the pools differ by "
        "%(difference)s micro-units."
    ) % {"difference": formats.number(found.billed_micro - found.cost_micro)}


def summary(found: Reconciliation) -> str:
    """Where the time went, in a sentence, to the hour."""
    used = found.quantity(LineKind.USE)
    portion = 100 * used / found.capacity if found.capacity else 0
    return _(
        "Teams used %(used)s of %(capacity)s GPU-hours (%(portion)s %%). %(unused)s were reserved "
        "and not used, %(idle)s idle, %(away)s in maintenance or down."
    ) % {
        "used": _whole(used),
        "capacity": _whole(found.capacity),
        "portion": formats.number(portion, 0),
        "unused": _whole(found.quantity(LineKind.RESERVED_UNUSED)),
        "idle": _whole(found.quantity(LineKind.IDLE, LineKind.IDLE_SHARE)),
        "away": _whole(found.quantity(LineKind.MAINTENANCE, LineKind.DOWN)),
    }


def busy(used: int, measured: int) -> str:
    """How much of measured time devices computed: `63 %`."""
    if not measured:
        return "—"
    return _("%(percent)s %%") % {"percent": formats.number(Decimal(100 * used) / measured, 0)}


def measured(parts: Iterable[UsePart]) -> str:
    """How much of what was held was measured, and how busy that was, in a sentence."""
    rows = list(parts)
    held, seen = sum(row.held for row in rows), sum(row.measured for row in rows)
    if not seen:
        return _(
            "How busy the GPUs were has not been measured: no monitoring has reported on this month."
        )
    return _(
        "Monitoring measured %(measured)s of %(held)s GPU-hours; the GPUs computed in %(busy)s of "
        "that. What is held is charged, what is computed is only shown."
    ) % {
        "measured": _whole(seen),
        "held": _whole(held),
        "busy": busy(sum(row.used for row in rows), seen),
    }


def _whole(gpu_milli_seconds: int) -> str:
    """GPU-hours in a sentence: whole ones, since the table beside it is exact."""
    return formats.number(gpu_hours(gpu_milli_seconds), 0)


def listed(found: Iterable[str]) -> str:
    """Different words, each once, one after the other."""
    return ", ".join(dict.fromkeys(found))
