"""Pictures of this room: a workload's stages, a pool's use, a node's devices; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import drawing, formats
from portal.common.drawing import DASHED, EMPTY, FENCED, HATCHED, SOLID, Bar, Mark, Part
from portal.dashboards import words
from portal.dashboards.selectors.busy import IDLE_BELOW, Busy
from portal.dashboards.selectors.capacity import Device, NodeUse, PoolUse
from portal.dashboards.selectors.common import DEVICE, TeamMark
from portal.dashboards.selectors.workload import Stage
from portal.workloads.models import ChargedTo, WorkloadState
from portal.workloads.stages import Step

GRAINS: dict[str, str] = {ChargedTo.BORROWED: HATCHED, ChargedTo.RESERVED: FENCED}
"""How what is not guaranteed is drawn."""
WHOLE_BAR = 10_000
LEAST = 40
"""Of the bar's length, so that a short stage stays visible."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A part of a start in words."""

    label: str
    seconds: int
    ended: bool


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage in words: the picture's twin."""

    label: str
    starts_at: datetime
    ends_at: datetime | None
    seconds: int
    steps: tuple[StepRow, ...] = ()


def stage_rows(stages: Sequence[Stage], now: datetime) -> list[StageRow]:
    """Each stage with its length so far."""
    return [
        StageRow(
            label=str(WorkloadState(stage.state).label),
            starts_at=stage.starts_at,
            ends_at=stage.ends_at,
            seconds=_seconds(stage, now),
            steps=tuple(
                StepRow(words.step(step.name), _seconds(step, now), step.ends_at is not None)
                for step in stage.steps
            ),
        )
        for stage in stages
    ]


def _seconds(stretch: Stage | Step, now: datetime) -> int:
    return max(0, int(((stretch.ends_at or now) - stretch.starts_at).total_seconds()))


def start_bar(rows: Sequence[StageRow], *, hue: int) -> Bar | None:
    """The last start by itself, to scale: volumes, init containers, images, until it was ready."""
    steps = next((row.steps for row in reversed(rows) if len(row.steps) > 1), ())
    if not steps:
        return None
    total = max(1, sum(step.seconds for step in steps))
    parts = tuple(
        Part(
            DASHED, max(LEAST, WHOLE_BAR * step.seconds // total), hue,
            f"{step.label} {formats.duration(step.seconds)}",
        )
        for step in steps
    )  # fmt: skip
    whole = sum(part.amount for part in parts)
    text = _("Its start: %(steps)s") % {"steps": ", ".join(part.label for part in parts)}
    return Bar(parts=parts, total=whole, text=text)


def timeline(stages: Sequence[Stage], *, now: datetime, hue: int, charged_to: str) -> Bar:
    """Stages to scale: waiting is empty, holding without running dashed, running filled."""
    rows = stage_rows(stages, now)
    total = max(1, sum(row.seconds for row in rows))
    running = GRAINS.get(charged_to, SOLID)
    grains = {
        WorkloadState.STARTING: DASHED,
        WorkloadState.RUNNING: running,
        WorkloadState.STOPPING: DASHED,
    }
    parts = tuple(
        Part(
            grain=grains.get(WorkloadState(stage.state), EMPTY),
            amount=max(LEAST, WHOLE_BAR * row.seconds // total),
            hue=hue,
            label=f"{row.label} {formats.duration(row.seconds)}",
        )
        for stage, row in zip(stages, rows, strict=True)
    )
    whole = sum(part.amount for part in parts)
    last = rows[-1].ends_at if rows else None
    marks = (
        Mark(0, formats.when(rows[0].starts_at, now)),
        Mark(whole, formats.when(last, now) if last else _("now")),
    ) if rows else ()  # fmt: skip
    return Bar(parts=parts, total=whole, text=", ".join(p.label for p in parts), marks=marks)


def pool_bar(pool: PoolUse) -> Bar:
    """Who holds what of a pool: each team's own, borrowed, reserved and unused; the rest idle."""
    parts: list[Part] = []
    for mark, held in pool.held:
        hue, name = (mark.hue, mark.name) if mark else (0, _("no team"))
        own = held.guaranteed
        parts.append(Part(SOLID, own, hue, f"{name}: {formats.gpus(own)}"))
        reserved = _("%(team)s: %(n)s reserved") % {"team": name, "n": formats.gpus(held.reserved)}
        parts.append(Part(FENCED, held.reserved, hue, reserved))
        borrowed = _("%(team)s: %(n)s borrowed") % {"team": name, "n": formats.gpus(held.borrowed)}
        parts.append(Part(HATCHED, held.borrowed, hue, borrowed))
    for mark, fence, held in pool.fences:
        unused = max(0, fence.gpus * DEVICE - held.reserved)
        label = _("%(team)s: %(n)s reserved, not used")
        parts.append(
            Part(DASHED, unused, mark.hue, label % {"team": mark.name, "n": formats.gpus(unused)})
        )
    drawn = tuple(part for part in parts if part.amount)
    total = max(pool.row.gpus * DEVICE, sum(part.amount for part in drawn), 1)
    said = ", ".join(part.label for part in drawn) or _("nothing in use")
    return Bar(parts=drawn, total=total, text=said)


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU in the map: its classes, and who is on it."""

    css: str
    title: str


@dataclass(frozen=True, slots=True)
class NodeCells:
    """One node in the map; `tail` is what tells its name from the others'."""

    name: str
    tail: str
    state: str
    usable: bool
    text: str
    cells: tuple[Cell, ...]


def common_start(names: Sequence[str]) -> str:
    """What all of several names begin with, up to a dash or point; empty when that tells nothing."""
    pairs = enumerate(zip(min(names, default=""), max(names, default=""), strict=False))
    start = min(names, default="")[: next((at for at, (one, other) in pairs if one != other), 0)]
    return start[: max(start.rfind(sign) for sign in "-._") + 1]


def node_cells(
    node: NodeUse, marks: Mapping[int, TeamMark], start: str = "", busy: Busy | None = None
) -> NodeCells:
    """A node's devices, coloured by the team that has most of each; its name without `start`.

    With `busy` they are coloured by how much of their time they computed.
    """
    uses = ", ".join(
        f"{words.team_name(marks.get(u.team_id or 0))} {formats.gpus(u.milli)}"
        for u in node.by_team()
    )
    free = _("%(n)s free") % {"n": formats.gpus(node.free_milli)}
    state = "" if node.usable else words.node_state(node)
    return NodeCells(
        name=node.row.name,
        tail=node.row.name.removeprefix(start),
        state=state,
        usable=node.usable,
        text=", ".join(part for part in (state, uses, free if node.usable else "") if part),
        cells=tuple(
            _cell(device, marks) if busy is None else _busy_cell(device, busy)
            for device in node.devices
        ),
    )


def _cell(device: Device, marks: Mapping[int, TeamMark]) -> Cell:
    if not device.uses:
        return Cell("", _("GPU %(n)d: idle") % {"n": device.index})
    first = device.uses[0]
    mark = marks.get(first.team_id or 0)
    grain = GRAINS.get(first.charged_to, SOLID)
    who = ", ".join(
        f"{words.team_name(marks.get(u.team_id or 0))} {formats.gpus(u.milli)} "
        f"{words.charge(u.charged_to)}"
        for u in device.uses
    )
    return Cell(
        f"{grain} {drawing.hue_class(mark.hue if mark else 0)}",
        _("GPU %(n)d: %(who)s") % {"n": device.index, "who": who},
    )


def _busy_cell(device: Device, busy: Busy) -> Cell:
    """Computing, held and idle, held and not measured, or free."""
    if not device.uses:
        return Cell("", _("GPU %(n)d: free") % {"n": device.index})
    known = [
        (busy.workloads[use.workload_id], use.milli)
        for use in device.uses
        if use.workload_id in busy.workloads
    ]
    held = sum(milli for _part, milli in known)
    if not held:
        return Cell("dashed hue-soft", _("GPU %(n)d: held, not measured") % {"n": device.index})
    part = sum(part * milli for part, milli in known) / held
    words = {"n": device.index, "percent": formats.number(part * 100, 0)}
    css = "hatched hue-warn" if part < IDLE_BELOW else "solid hue-accent"
    return Cell(css, _("GPU %(n)d: held, computes %(percent)s%% of the time") % words)
