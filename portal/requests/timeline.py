"""The calendar of one pool as lanes and, beside them, as rows of a table.

Days and weeks are cut in the zone being shown; a day of a clock change is 23 or 25 hours wide and
its hours stand where they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from portal.common import drawing, formats
from portal.inventory import calendar
from portal.inventory import selectors as inventory
from portal.inventory.models import CommitmentKind
from portal.requests import local_times, selectors
from portal.requests.board import Ask
from portal.reservations import selectors as reservations
from portal.reservations.models import Source
from portal.teams.permissions import ANY_ROLE
from portal.teams.selectors import Access, Tree

DAY, WEEK, MONTH = "day", "week", "month"
SPANS = (DAY, WEEK, MONTH)
STEPS = {DAY: timedelta(minutes=15), WEEK: timedelta(hours=1), MONTH: timedelta(hours=6)}
"""How finely a slot can be drawn; every change of the clocks is a multiple of the first."""
HOURS = (0, 4, 8, 12, 16, 20)
LABELS = {WEEK: "D j", MONTH: "j"}


@dataclass(frozen=True, slots=True)
class View:
    """Which stretch of time is shown, in which zone."""

    first: date
    span: str
    zone: str

    @property
    def days(self) -> int:
        """How many days are shown."""
        return (self._next(1) - self.first).days

    @property
    def from_at(self) -> datetime:
        """The first instant."""
        return midnight(self.first, self.zone)

    @property
    def to_at(self) -> datetime:
        """The first instant after."""
        return midnight(self._next(1), self.zone)

    @property
    def moved_back(self) -> str:
        """The day on which the stretch before begins, as an address has it."""
        return self._next(-1).isoformat()

    @property
    def moved_on(self) -> str:
        """The day on which the stretch after begins, as an address has it."""
        return self._next(1).isoformat()

    @property
    def slots(self) -> str:
        """Every instant at which a slot can be drawn to begin or end, as one would type it."""
        step, at = STEPS[self.span], self.from_at
        found: list[str] = []
        while at <= self.to_at:
            found.append(local_times.typed(at, self.zone))
            at += step
        return " ".join(found)

    @property
    def steps(self) -> float:
        """How many of them fit, with the part of one that a change of the clocks leaves."""
        return (self.to_at - self.from_at) / STEPS[self.span]

    def _next(self, way: int) -> date:
        """The first day of the stretch after, or before."""
        if self.span != MONTH:
            return self.first + timedelta(days=way * (7 if self.span == WEEK else 1))
        month = self.first.year * 12 + self.first.month - 1 + way
        return date(month // 12, month % 12 + 1, 1)

    @property
    def day(self) -> str:
        """The first day, as an address has it."""
        return self.first.isoformat()

    @property
    def title(self) -> str:
        """The days shown."""
        if self.span == DAY:
            return formats.day(self.from_at)
        if self.span == MONTH:
            return date_format(self.first, "YEAR_MONTH_FORMAT")
        last = midnight(self.first + timedelta(days=self.days - 1), self.zone)
        return f"{formats.day(self.from_at)} – {formats.day(last)}"


@dataclass(frozen=True, slots=True)
class Block:
    """Something that holds GPUs for a while, or wants to."""

    what: str
    team_id: int | None
    gpus: int
    starts_at: datetime
    ends_at: datetime
    grain: str
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table twin."""

    what: str
    team: str
    hue: int
    gpus: int
    starts_at: datetime
    ends_at: datetime
    href: str


@dataclass(frozen=True, slots=True)
class Calendar:
    """What the page draws: lanes, their axis, where now is, and the same as rows."""

    lanes: list[drawing.Lane]
    ticks: list[drawing.Tick]
    now_at: float | None
    rows: list[Row]
    free: list[Row]


def midnight(day: date, zone: str) -> datetime:
    """When a day begins in a zone."""
    return datetime.combine(day, time(), tzinfo=ZoneInfo(zone)).astimezone(UTC)


def view_of(day: date, span: str, zone: str) -> View:
    """The day, or the week from Monday on or the month that holds it."""
    if span == WEEK:
        return View(day - timedelta(days=day.weekday()), WEEK, zone)
    if span == MONTH:
        return View(day.replace(day=1), MONTH, zone)
    return View(day, DAY, zone)


def build(
    *,
    pool_id: int,
    view: View,
    now: datetime,
    tree: Tree,
    access: Access,
    draft: tuple[int, Ask] | None = None,
) -> Calendar:
    """Read a pool's stretch of time and draw it; `draft` is a team and what it is about to ask."""
    free = inventory.free_steps(pool_id=pool_id, from_at=view.from_at, to_at=view.to_at)
    blocks = [
        *_reservations(pool_id, view, access),
        *_soft_holds(pool_id, view, now, access),
        *([_draft(*draft)] if draft else []),
    ]
    pool_blocks = [*_guarantees(pool_id, view), *_maintenance(pool_id, view)]
    free_blocks = [_free(step) for step in free if step.gpus > 0]
    lanes = [_lane(_("Free"), free_blocks, view, 0)]
    lanes += [_lane(what, found, view, 0) for what, found in _by_what(pool_blocks)]
    for team in tree.rows:
        mine = [block for block in blocks if block.team_id == team.id]
        if mine:
            lanes.append(_lane(team.name, mine, view, team.hue))
    shown = view.from_at <= now < view.to_at
    return Calendar(
        lanes=lanes,
        ticks=_ticks(view),
        now_at=drawing.portion(now, view.from_at, view.to_at) if shown else None,
        rows=[_row(block, tree) for block in sorted(blocks + pool_blocks, key=_by_time)],
        free=[_row(block, tree) for block in free_blocks],
    )


def _ticks(view: View) -> list[drawing.Tick]:
    zone = ZoneInfo(view.zone)
    hours = HOURS if view.span == DAY else (0,)
    found: list[drawing.Tick] = []
    for number in range(view.days):
        day = view.first + timedelta(days=number)
        for hour in hours:
            at = datetime.combine(day, time(hour), tzinfo=zone)
            label = f"{hour:02d}" if view.span == DAY else date_format(day, LABELS[view.span])
            place = drawing.portion(at.astimezone(UTC), view.from_at, view.to_at)
            found.append(drawing.Tick(place, label))
    return found


def _reservations(pool_id: int, view: View, access: Access) -> Iterable[Block]:
    for row in reservations.list_reservations(
        pool_id=pool_id, from_at=view.from_at, to_at=view.to_at
    ):
        own = row.source == Source.GUARANTEE
        label = _("%(id)s · %(gpus)s of own") if own else "%(id)s · %(gpus)s"
        yield Block(
            what=_("Reservation R-%(id)s") % {"id": row.id}, team_id=row.team_id, gpus=row.gpus,
            starts_at=row.starts_at, ends_at=row.ends_at, grain=drawing.SOLID,
            label=label % {"id": f"R-{row.id}", "gpus": row.gpus},
            href=_link(row.request_id, row.team_id, access),
        )  # fmt: skip


def _soft_holds(pool_id: int, view: View, now: datetime, access: Access) -> Iterable[Block]:
    for hold in selectors.list_soft_holds(
        pool_id=pool_id, from_at=view.from_at, to_at=view.to_at, now=now
    ):
        if hold.kind in selectors.TAKING:
            yield Block(
                what=_("Asked for, not decided"), team_id=hold.team_id, gpus=hold.gpus,
                starts_at=hold.starts_at, ends_at=hold.ends_at, grain=drawing.DASHED,
                label=_("asked: %(gpus)s") % {"gpus": hold.gpus},
                href=_link(hold.request_id, hold.team_id, access),
            )  # fmt: skip


def _draft(team_id: int, ask: Ask) -> Block:
    return Block(
        what=_("Your draft"), team_id=team_id, gpus=ask.gpus, starts_at=ask.starts_at,
        ends_at=ask.ends_at, grain=drawing.DASHED,
        label=_("your draft: %(gpus)s") % {"gpus": ask.gpus},
    )  # fmt: skip


def _guarantees(pool_id: int, view: View) -> Iterable[Block]:
    for step in inventory.committed_steps(
        pool_id=pool_id, from_at=view.from_at, to_at=view.to_at, kind=CommitmentKind.QUOTA
    ):
        if step.gpus:
            yield Block(
                what=_("Guaranteed"), team_id=None, gpus=step.gpus, starts_at=step.from_at,
                ends_at=step.to_at, grain=drawing.SOLID,
                label=_("%(gpus)s guaranteed to teams") % {"gpus": step.gpus},
            )  # fmt: skip


def _maintenance(pool_id: int, view: View) -> Iterable[Block]:
    for row in inventory.list_maintenance(from_at=view.from_at, to_at=view.to_at, pool_id=pool_id):
        if row.starts_at < view.to_at:
            yield Block(
                what=_("Maintenance"), team_id=None, gpus=row.gpus, starts_at=row.starts_at,
                ends_at=row.ends_at, grain=drawing.DASHED, label=f"{row.node_name} · {row.gpus}",
            )  # fmt: skip
        if row.drain_from is not None and row.drains:
            yield Block(
                what=_("Draining"), team_id=None, gpus=row.gpus, starts_at=row.drain_from,
                ends_at=row.starts_at, grain=drawing.DASHED, label=row.node_name,
            )  # fmt: skip


def _free(step: calendar.Span) -> Block:
    return Block(
        what=_("Free"), team_id=None, gpus=step.gpus, starts_at=step.from_at, ends_at=step.to_at,
        grain=drawing.EMPTY, label=_("%(gpus)s free") % {"gpus": step.gpus},
    )  # fmt: skip


def _link(request_id: int | None, team_id: int, access: Access) -> str:
    """The request it came from, for those who may read it."""
    if request_id is None or not access.holds(ANY_ROLE, team_id=team_id):
        return ""
    return reverse("requests:detail", args=[request_id])


def _by_what(blocks: Sequence[Block]) -> list[tuple[str, list[Block]]]:
    kinds = dict.fromkeys(block.what for block in blocks)
    return [(what, [b for b in blocks if b.what == what]) for what in kinds]


def _lane(label: str, blocks: Iterable[Block], view: View, hue: int) -> drawing.Lane:
    spans = tuple(
        drawing.Span(
            starts=drawing.portion(block.starts_at, view.from_at, view.to_at),
            ends=drawing.portion(block.ends_at, view.from_at, view.to_at),
            grain=block.grain, hue=hue, label=block.label, href=block.href,
        )
        for block in blocks
    )  # fmt: skip
    return drawing.Lane(label=label, spans=spans, hue=hue)


def _by_time(block: Block) -> tuple[datetime, datetime, str]:
    return block.starts_at, block.ends_at, block.label


def _row(block: Block, tree: Tree) -> Row:
    team = tree.get(block.team_id) if block.team_id else None
    return Row(
        what=block.what, team=team.name if team else "", hue=team.hue if team else 0,
        gpus=block.gpus, starts_at=block.starts_at, ends_at=block.ends_at, href=block.href,
    )  # fmt: skip
