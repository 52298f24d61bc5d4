"""Capacity and promises over time: pure arithmetic, no database.

Periods are half-open, [from, to); what has no end ends at `FOREVER`. Everything is one sweep over
sorted edges, so thousands of promises cost thousands of steps.

What the checks guarantee. *By sum*: at every instant of the window the GPUs promised are at most
the GPUs there are. *By shape*: at every instant the blocks promised (so many GPUs on one node)
find nodes all at once, in the sense of `shapes.packs`; what is promised without a shape fills
what they leave, which the sum covers. Neither says on which node a block lies, nor that it stays
on one node while its neighbours come and go.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise

from portal.inventory import shapes

FOREVER = datetime.max.replace(tzinfo=UTC)


class Condition(StrEnum):
    """What a node was, or will be, good for."""

    READY = "ready"
    MAINTENANCE = "maintenance"
    DOWN = "down"


class Measure(StrEnum):
    """What falls short."""

    SUM = "sum"
    SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class Period:
    """From one instant until another."""

    from_at: datetime
    to_at: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """So many GPUs for a period; of one node, where it stands for capacity."""

    from_at: datetime
    to_at: datetime
    gpus: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a node's life in one condition."""

    from_at: datetime
    to_at: datetime
    condition: Condition


@dataclass(frozen=True, slots=True)
class Hold:
    """A promise as the arithmetic sees it; one that does not add counts by its shape alone."""

    from_at: datetime
    to_at: datetime
    gpus: int
    per_node: int | None = None
    adds: bool = True


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch in which nothing changes: nodes by size, and per group what is promised.

    The counters are the sweep's own and move on with it: read them before the next moment.
    """

    from_at: datetime
    to_at: datetime
    capacity: int
    nodes: Counter[int]
    committed: tuple[int, ...]
    blocks: tuple[Counter[int], ...]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Where a change first promises what is not there.

    By sum, `free` is the capacity the others leave and `asked` what the change wants then. By
    shape the same in GPUs of whole blocks of `per_node`.
    """

    measure: Measure
    at: datetime
    until: datetime
    capacity: int
    committed: int
    asked: int
    free: int
    per_node: int | None = None


@dataclass(frozen=True, slots=True)
class Excess:
    """A stretch in which more is promised than there is; figures are those of `worst_at`."""

    measure: Measure
    from_at: datetime
    to_at: datetime
    worst_at: datetime
    capacity: int
    committed: int
    short: int


def clip(from_at: datetime, to_at: datetime, window: Period) -> Period | None:
    """The part of a period inside the window, if any."""
    first, last = max(from_at, window.from_at), min(to_at, window.to_at)
    return Period(first, last) if first < last else None


def pieces(known: Period, maintenance: Iterable[Period], outages: Iterable[Period]) -> list[Piece]:
    """Cut a node's known time by condition; planned work comes before being down."""
    away = [p for p in (clip(m.from_at, m.to_at, known) for m in maintenance) if p]
    down = [p for p in (clip(o.from_at, o.to_at, known) for o in outages) if p]
    edges = {known.from_at, known.to_at}
    for period in (*away, *down):
        edges |= {period.from_at, period.to_at}
    cut: list[Piece] = []
    for first, last in pairwise(sorted(edges)):
        condition = _condition(first, away, down)
        if cut and cut[-1].condition is condition:
            cut[-1] = replace(cut[-1], to_at=last)
        else:
            cut.append(Piece(first, last, condition))
    return cut


def _condition(at: datetime, away: Sequence[Period], down: Sequence[Period]) -> Condition:
    if any(p.from_at <= at < p.to_at for p in away):
        return Condition.MAINTENANCE
    if any(p.from_at <= at < p.to_at for p in down):
        return Condition.DOWN
    return Condition.READY


def steps(spans: Iterable[Span | Hold], window: Period) -> tuple[Span, ...]:
    """The sum over time: spans that follow one another and fill the window, zero included."""
    change: dict[datetime, int] = {window.from_at: 0, window.to_at: 0}
    for span in spans:
        part = clip(span.from_at, span.to_at, window)
        if part:
            change[part.from_at] = change.get(part.from_at, 0) + span.gpus
            change[part.to_at] = change.get(part.to_at, 0) - span.gpus
    level = 0
    found: list[Span] = []
    for first, last in pairwise(sorted(change)):
        level += change[first]
        if found and found[-1].gpus == level:
            found[-1] = replace(found[-1], to_at=last)
        else:
            found.append(Span(first, last, level))
    return tuple(found)


def less(minuend: Sequence[Span], subtrahend: Sequence[Span]) -> tuple[Span, ...]:
    """One sum over time minus another over the same window."""
    if not minuend:
        return ()
    taken = (Span(s.from_at, s.to_at, -s.gpus) for s in subtrahend)
    return steps((*minuend, *taken), Period(minuend[0].from_at, minuend[-1].to_at))


def aligned(*series: Sequence[Span]) -> list[tuple[Period, tuple[int, ...]]]:
    """Several sums over the same window side by side, cut wherever one of them changes."""
    edges = sorted({edge for steps in series for s in steps for edge in (s.from_at, s.to_at)})
    places = [0 for _ in series]
    found: list[tuple[Period, tuple[int, ...]]] = []
    for first, last in pairwise(edges):
        for number, steps in enumerate(series):
            while steps[places[number]].to_at <= first:
                places[number] += 1
        values = tuple(steps[place].gpus for steps, place in zip(series, places, strict=True))
        found.append((Period(first, last), values))
    return found


def sweep(
    nodes: Iterable[Span], groups: Sequence[Iterable[Hold]], window: Period
) -> Iterator[Moment]:
    """Walk the window from change to change."""
    edges: dict[datetime, list[tuple[int, Span | Hold, int]]] = {}
    edges[window.from_at], edges[window.to_at] = [], []
    everything: list[Iterable[Span | Hold]] = [nodes, *groups]
    for number, items in enumerate(everything, start=-1):
        for item in items:
            part = clip(item.from_at, item.to_at, window)
            if part and item.gpus:
                edges.setdefault(part.from_at, []).append((number, item, 1))
                edges.setdefault(part.to_at, []).append((number, item, -1))
    sizes: Counter[int] = Counter()
    committed = [0 for _ in groups]
    blocks: list[Counter[int]] = [Counter() for _ in groups]
    capacity = 0
    for first, last in pairwise(sorted(edges)):
        for number, item, sign in edges[first]:
            if isinstance(item, Span):
                capacity += sign * item.gpus
                sizes[item.gpus] += sign
                continue
            committed[number] += sign * item.gpus * item.adds
            if item.per_node:
                blocks[number][item.per_node] += sign * -(-item.gpus // item.per_node)
        yield Moment(first, last, capacity, sizes, tuple(committed), tuple(blocks))


def first_shortfall(
    nodes: Iterable[Span],
    kept: Iterable[Hold],
    *,
    old: Iterable[Hold],
    new: Iterable[Hold],
    window: Period,
) -> Shortfall | None:
    """Where replacing `old` by `new` first makes matters worse than capacity allows.

    A change that takes no more than what it replaces is never short, however short the pool is.
    """
    for moment in sweep(nodes, (kept, old, new), window):
        (others, before, after), (other_blocks, old_blocks, new_blocks) = (
            moment.committed,
            moment.blocks,
        )
        if others + after > moment.capacity and after > before:
            return _short_of_sum(moment, others, after)
        if not any(new_blocks.values()) or shapes.packs(new_blocks, old_blocks):
            continue
        if not shapes.packs(other_blocks + new_blocks, moment.nodes):
            return _short_of_shape(moment, other_blocks, new_blocks)
    return None


def _short_of_sum(moment: Moment, others: int, asked: int) -> Shortfall:
    return Shortfall(
        measure=Measure.SUM, at=moment.from_at, until=moment.to_at, capacity=moment.capacity,
        committed=others, asked=asked, free=max(0, moment.capacity - others),
    )  # fmt: skip


def _short_of_shape(moment: Moment, others: Counter[int], asked: Counter[int]) -> Shortfall:
    size = max(s for s, n in asked.items() if n)
    room = shapes.room_for(size, others, moment.nodes, most=asked[size])
    return Shortfall(
        measure=Measure.SHAPE, at=moment.from_at, until=moment.to_at, capacity=moment.capacity,
        committed=sum(s * n for s, n in others.items()), asked=sum(s * n for s, n in asked.items()),
        free=size * room, per_node=size,
    )  # fmt: skip


def excesses(nodes: Iterable[Span], holds: Iterable[Hold], window: Period) -> list[Excess]:
    """Every stretch in which promises exceed what there is, by sum and by shape, in order."""
    running: dict[Measure, Excess] = {}
    done: list[Excess] = []
    for moment in sweep(nodes, (holds,), window):
        found = _excess_at(moment)
        done += [excess for measure, excess in running.items() if measure not in found]
        running = {
            measure: _joined(running.get(measure), excess) for measure, excess in found.items()
        }
    done += running.values()
    return sorted(done, key=lambda e: (e.from_at, e.measure))


def _joined(before: Excess | None, now: Excess) -> Excess:
    """One stretch and the next as one, with the figures of the worse."""
    if before is None:
        return now
    worst = now if now.short > before.short else before
    return replace(worst, from_at=before.from_at, to_at=now.to_at)


def _excess_at(moment: Moment) -> dict[Measure, Excess]:
    found: dict[Measure, Excess] = {}
    committed, blocks = moment.committed[0], moment.blocks[0]
    if committed > moment.capacity:
        found[Measure.SUM] = _excess(moment, Measure.SUM, committed, committed - moment.capacity)
    if any(blocks.values()) and not shapes.packs(blocks, moment.nodes):
        held = sum(size * count for size, count in blocks.items())
        short = max(1, shapes.unplaced(blocks, moment.nodes))
        found[Measure.SHAPE] = _excess(moment, Measure.SHAPE, held, short)
    return found


def _excess(moment: Moment, measure: Measure, committed: int, short: int) -> Excess:
    return Excess(
        measure=measure, from_at=moment.from_at, to_at=moment.to_at, worst_at=moment.from_at,
        capacity=moment.capacity, committed=committed, short=short,
    )  # fmt: skip
