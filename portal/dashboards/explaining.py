"""Sentences about who uses, borrows and lends how much: plain facts in, translated text out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats
from portal.common.drawing import DASHED, FENCED, HATCHED, SOLID, Bar, Mark, Part
from portal.dashboards.selectors.common import DEVICE, Fence, Held
from portal.inventory.selectors import Cause, ConflictRow

NAMED = 3
"""So many teams are named in a sentence; the others are counted."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another team: what it lends or borrows, uses of its guarantee, and is guaranteed."""

    name: str
    milli: int
    used: int = 0
    guaranteed: int = 0


def pool_bar(
    *, held: Held, fence: Fence, guaranteed: int, limit: int | None, hue: int, capacity: int
) -> Bar:
    """A team's bar in one pool: to its limit, or to the pool's capacity where it has none."""
    unused = max(0, fence.gpus * DEVICE - held.reserved)
    ceiling = capacity if limit is None else limit
    total = max(ceiling * DEVICE, held.total + unused, guaranteed * DEVICE, 1)
    parts = [
        Part(SOLID, held.guaranteed, hue, _("%(n)s guaranteed") % {"n": formats.gpus(held.guaranteed)}),
        Part(FENCED, held.reserved, hue, _("%(n)s reserved") % {"n": formats.gpus(held.reserved)}),
        Part(HATCHED, held.borrowed, hue, _("%(n)s borrowed") % {"n": formats.gpus(held.borrowed)}),
        Part(DASHED, unused, hue, _("%(n)s reserved, not used") % {"n": formats.gpus(unused)}),
    ]  # fmt: skip
    marks = [Mark(guaranteed * DEVICE, _("%(n)s guaranteed") % {"n": formats.number(guaranteed)})]
    if fence.added:
        more = _("%(n)s more reserved") % {"n": formats.number(fence.added)}
        marks.append(Mark((guaranteed + fence.added) * DEVICE, more))
    if limit is not None:
        marks.append(Mark(limit * DEVICE, _("%(n)s limit") % {"n": formats.number(limit)}))
    else:
        marks.append(
            Mark(capacity * DEVICE, _("%(n)s in the pool") % {"n": formats.number(capacity)})
        )
    said = ", ".join(part.label for part in parts if part.amount) or _("nothing in use")
    return Bar(parts=tuple(parts), total=total, text=said, marks=tuple(marks))


def unit(pool: str, guaranteed: int, reserved: int, limit: int | None) -> str:
    """What stands behind the number of GPUs in use: of how many, and how many at most."""
    words = {
        "pool": pool, "guaranteed": formats.number(guaranteed),
        "reserved": formats.number(reserved), "limit": formats.number(limit or 0),
    }  # fmt: skip
    match reserved > 0, limit is None:
        case True, True:
            said = _(
                "%(pool)s GPUs in use of %(guaranteed)s guaranteed + %(reserved)s reserved, no limit"
            )
        case True, False:
            said = _(
                "%(pool)s GPUs in use of %(guaranteed)s guaranteed + %(reserved)s reserved, "
                "%(limit)s at most"
            )
        case False, True:
            said = _("%(pool)s GPUs in use of %(guaranteed)s guaranteed, no limit")
        case _other:
            said = _("%(pool)s GPUs in use of %(guaranteed)s guaranteed, %(limit)s at most")
    return said % words


def _own(held: Held) -> str:
    """What a team runs of its own: what is reserved is named beside what is guaranteed."""
    if not held.reserved:
        return formats.gpus(held.guaranteed)
    words = {"guaranteed": formats.gpus(held.guaranteed), "reserved": formats.gpus(held.reserved)}
    if not held.guaranteed:
        return _("%(reserved)s reserved") % words
    return _("%(guaranteed)s guaranteed and %(reserved)s reserved") % words


def use(
    held: Held, guaranteed: int, lenders: Sequence[Neighbour], lent: int = 0
) -> SafeString:  # fmt: skip
    """What a team runs of its own and what it borrows from whom; what it lends is not at hand."""
    own = _own(held)
    if not held.total:
        return _nothing_runs(guaranteed, lent)
    if not held.borrowed:
        left = guaranteed * DEVICE - held.guaranteed - lent
        if left <= 0:
            return format_html(_("You run {own}, all of them your own."), own=own)
        return format_html(
            _("You run {own}, all of them your own; {left} more are yours at once."),
            own=own, left=formats.gpus(left),
        )  # fmt: skip
    return _borrowing(own, held.borrowed, lenders)


def _nothing_runs(guaranteed: int, lent: int) -> SafeString:
    if not guaranteed:
        return escape(_("Nothing runs now, and nothing is guaranteed here."))
    said = (
        _("Nothing runs now. {guaranteed} GPUs are guaranteed to you.")
        if lent
        else _("Nothing runs now. {guaranteed} GPUs are guaranteed and free for you at once.")
    )
    return format_html(said, guaranteed=formats.number(guaranteed))


def _borrowing(own: str, milli: int, lenders: Sequence[Neighbour]) -> SafeString:
    borrowed, rest = formats.gpus(milli), milli - sum(n.milli for n in lenders)
    if not lenders:
        return format_html(
            _("You run {own} of your own and <b>borrow {borrowed}</b> that are guaranteed to nobody."),
            own=own, borrowed=borrowed,
        )  # fmt: skip
    first = lenders[0]
    if rest > 0:
        return format_html(
            _(
                "You run {own} of your own and <b>borrow {borrowed}</b>: {named}, and {rest} "
                "that are guaranteed to nobody."
            ),
            own=own, borrowed=borrowed, named=_amounts(lenders), rest=formats.gpus(rest),
        )  # fmt: skip
    if len(lenders) == 1:
        return format_html(
            _(
                "You run {own} of your own and <b>borrow {borrowed} from {team}</b>, "
                "who use {used} of their {guaranteed}."
            ),
            own=own, borrowed=borrowed, team=first.name, used=formats.gpus(first.used),
            guaranteed=formats.number(first.guaranteed),
        )  # fmt: skip
    return format_html(
        _(
            "You run {own} of your own and <b>borrow {borrowed}</b> of what others leave unused: "
            "{named}."
        ),
        own=own, borrowed=borrowed, named=_amounts(lenders),
    )  # fmt: skip


def in_short(
    held: Held, lenders: Sequence[Neighbour], borrowers: Sequence[Neighbour]
) -> SafeString:
    """The same of a team that is not the reader's own, in a table's row."""
    if not held.guaranteed and not held.reserved:
        return _only_others(held, lenders, borrowers)
    own, borrowed = _own(held), formats.gpus(held.borrowed)
    rest = held.borrowed - sum(lender.milli for lender in lenders)
    if borrowers:
        return format_html(
            _("Uses {own} of its own and <b>lends {lent} to {names}</b>."),
            own=own, lent=formats.gpus(sum(b.milli for b in borrowers)), names=_names(borrowers),
        )  # fmt: skip
    if held.borrowed and lenders and rest > 0:
        return format_html(
            _(
                "Uses {own} of its own and <b>borrows {borrowed}</b>: {named}, and {rest} "
                "promised to nobody."
            ),
            own=own, borrowed=borrowed, named=_amounts(lenders), rest=formats.gpus(rest),
        )  # fmt: skip
    if held.borrowed and lenders:
        return format_html(
            _("Uses {own} of its own and <b>borrows {borrowed} from {names}</b>."),
            own=own, borrowed=borrowed, names=_names(lenders),
        )  # fmt: skip
    if held.borrowed:
        return format_html(
            _("Uses {own} of its own and <b>borrows {borrowed}</b> promised to nobody."),
            own=own, borrowed=borrowed,
        )  # fmt: skip
    return format_html(_("Uses {own}, all of its own."), own=own)


def _only_others(
    held: Held, lenders: Sequence[Neighbour], borrowers: Sequence[Neighbour]
) -> SafeString:
    """What a team that uses nothing of its own lends or borrows."""
    if borrowers:
        return format_html(
            _("Uses nothing and <b>lends {lent} to {names}</b>."),
            lent=formats.gpus(sum(b.milli for b in borrowers)), names=_names(borrowers),
        )  # fmt: skip
    if not held.borrowed:
        return escape(_("Uses nothing now."))
    borrowed = formats.gpus(held.borrowed)
    rest = held.borrowed - sum(lender.milli for lender in lenders)
    if lenders and rest > 0:
        return format_html(
            _("<b>Borrows {borrowed}</b>: {named}, and {rest} promised to nobody."),
            borrowed=borrowed, named=_amounts(lenders), rest=formats.gpus(rest),
        )  # fmt: skip
    if lenders:
        return format_html(
            _("<b>Borrows {borrowed} from {names}</b>."), borrowed=borrowed, names=_names(lenders)
        )
    return format_html(_("<b>Borrows {borrowed}</b> promised to nobody."), borrowed=borrowed)


def _names(teams: Sequence[Neighbour]) -> str:
    """The first by name, the others by number."""
    named = ", ".join(team.name for team in teams[:NAMED])
    others = len(teams) - NAMED
    if others <= 0:
        return named
    more = ngettext("%(names)s and %(n)d other team", "%(names)s and %(n)d other teams", others)
    return more % {"names": named, "n": others}


def _amounts(teams: Sequence[Neighbour]) -> str:
    """How much of each: the first by name, the others together, so that the numbers add up."""
    parts = [f"{team.name} {formats.gpus(team.milli)}" for team in teams[:NAMED]]
    if teams[NAMED:]:
        others = formats.gpus(sum(team.milli for team in teams[NAMED:]))
        parts.append(_("other teams %(n)s") % {"n": others})
    return ", ".join(parts)


def comes_back(held: Held, lent: int, borrowers: Sequence[Neighbour]) -> SafeString | None:
    """When what is lent comes back, or what happens to what is borrowed."""
    if lent > 0:
        amount = formats.gpus(lent)
        if not borrowers:
            return format_html(
                _("You lend {amount}; they come back as soon as a job of yours needs them."),
                amount=amount,
            )
        return format_html(
            _(
                "You <b>lend {amount} to {names}</b>; they come back as soon as a job of yours "
                "needs them."
            ),
            amount=amount, names=_names(borrowers),
        )  # fmt: skip
    if held.borrowed:
        return escape(
            _(
                "Borrowed jobs make room when others need what is theirs: first the one that loses "
                "least work."
            )
        )
    return None


def fenced(fence: Fence, held: Held, now: datetime) -> SafeString | None:
    """What is reserved now and not used."""
    unused = fence.gpus * DEVICE - held.reserved
    if unused <= 0 or fence.until is None:
        return None
    return format_html(
        _("{unused} of {reserved} reserved GPUs stand unused; they are held until {until}."),
        unused=formats.gpus(unused), reserved=formats.number(fence.gpus),
        until=formats.when(fence.until, now, inside=True),
    )  # fmt: skip


def conflict(row: ConflictRow, now: datetime) -> str:
    """A stretch in which more is promised than there is: how much, from when, and why."""
    until = _("without end") if row.to_at is None else formats.when(row.to_at, now, inside=True)
    starts = _("now") if row.from_at <= now else formats.when(row.from_at, now, inside=True)
    words = {
        "pool": row.pool_name, "short": row.short, "from": starts, "to": until,
        "capacity": row.capacity, "committed": row.committed,
    }  # fmt: skip
    if row.measure == "sum":
        first = ngettext(
            "%(pool)s is %(short)d GPU short, from %(from)s to %(to)s: "
            "%(committed)d are promised and %(capacity)d are there.",
            "%(pool)s is %(short)d GPUs short, from %(from)s to %(to)s: "
            "%(committed)d are promised and %(capacity)d are there.",
            row.short,
        )
    else:
        first = ngettext(
            "%(pool)s has no node whole enough for %(short)d reserved GPU, from %(from)s to %(to)s.",
            "%(pool)s has no nodes whole enough for %(short)d reserved GPUs, "
            "from %(from)s to %(to)s.",
            row.short,
        )
    return f"{first % words} {_cause(row)}"


def _cause(row: ConflictRow) -> str:
    if row.cause == Cause.DOWN:
        return ngettext(
            "%(n)d GPU is down.", "%(n)d GPUs are down.", row.down
        ) % {"n": row.down}  # fmt: skip
    if row.cause == Cause.MAINTENANCE:
        return ngettext(
            "%(n)d GPU is in maintenance.", "%(n)d GPUs are in maintenance.", row.maintenance
        ) % {"n": row.maintenance}  # fmt: skip
    return _("Nodes have left the pool: lower a guarantee or move a reservation.")
