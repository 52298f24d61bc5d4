"""Which instances fit on one GPU together, where, and which choice serves a demand best.

A set is valid when every instance can take one of its starts with no overlap, no profile exceeds
its limit, and at most one carries the media engines. On a GPU that is partly used this cannot be
told from sums of slices, so every answer here comes from places on the axis.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.mig.geometry import Geometry, Instance, MigError, Profile

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Instances to create on one GPU, largest first, each with its start.

    Creating them in this order, or with these starts given, works; another order may not.
    """

    instances: tuple[Instance, ...]

    def counts(self) -> Counter[str]:
        """Return how many instances of each profile there are."""
        return Counter(instance.profile for instance in self.instances)


def arrange(geometry: Geometry, wanted: Counts, used: Sequence[Instance] = ()) -> Layout | None:
    """Return places for all `wanted` instances beside those in `used`, or None if there are none.

    Raises `MigError` for an unknown profile, a negative count, or a `used` that is impossible.
    """
    taken = geometry.occupied(used)
    held = Counter(instance.profile for instance in used)
    for name, count in wanted.items():
        if count < 0:
            raise MigError(f"{name}: cannot want {count} instances")
    if not _within_limits(geometry, Counter(wanted) + held):
        return None
    order = [
        profile for profile in _largest_first(geometry) for _ in range(wanted.get(profile.name, 0))
    ]
    places = _places(order, taken)
    return None if places is None else Layout(places)


def fits(geometry: Geometry, wanted: Counts, used: Sequence[Instance] = ()) -> bool:
    """Tell whether all `wanted` instances find a place beside those in `used`."""
    return arrange(geometry, wanted, used) is not None


def layouts(
    geometry: Geometry, profiles: Sequence[str], used: Sequence[Instance] = ()
) -> Iterator[Layout]:
    """Yield every valid choice of one or more instances of these profiles, each multiset once."""
    kinds = [geometry.profile(name) for name in profiles]
    for counts in _choices(geometry, kinds, {}, used):
        found = arrange(geometry, counts, used)
        if found is not None and found.instances:
            yield found


def maximal_layouts(geometry: Geometry, profiles: Sequence[str]) -> list[Layout]:
    """Return the layouts of an empty GPU to which no instance of these profiles can be added."""
    return [
        layout
        for layout in layouts(geometry, profiles)
        if not any(fits(geometry, layout.counts() + Counter([name])) for name in profiles)
    ]


def best_layout(geometry: Geometry, demand: Counts, used: Sequence[Instance] = ()) -> Layout:
    """Return the layout of one GPU that serves most of `demand` (instances asked, by profile).

    Most means compute slices, then memory slices; of equals the one with the larger instances,
    because small ones find a place elsewhere more easily. It holds nothing nobody asked for.
    """
    asked = [profile for profile in _largest_first(geometry) if demand.get(profile.name, 0) > 0]

    def worth(layout: Layout) -> tuple[int, int, list[int]]:
        counts = layout.counts()
        vector = [counts[profile.name] for profile in asked]
        compute = sum(profile.compute * count for profile, count in zip(asked, vector, strict=True))
        size = sum(profile.size * count for profile, count in zip(asked, vector, strict=True))
        return compute, size, vector

    names = [profile.name for profile in asked]
    wanted = Counter({name: demand[name] for name in names})
    useful = (layout for layout in layouts(geometry, names, used) if layout.counts() <= wanted)
    return max(useful, key=worth, default=Layout(()))


def serve(geometry: Geometry, demand: Counts, gpus: int) -> tuple[list[Layout], Counter[str]]:
    """Cut up to `gpus` empty GPUs for `demand`; return their layouts and what stays unserved.

    Each GPU in turn takes the best layout for what is left. Unneeded GPUs are left uncut.
    """
    left = Counter({name: count for name, count in demand.items() if count > 0})
    cut: list[Layout] = []
    while left and len(cut) < gpus:
        layout = best_layout(geometry, left)
        if not layout.instances:
            break
        cut.append(layout)
        left -= layout.counts()
    return cut, left


def per_gpu(geometry: Geometry, profile: str) -> int:
    """Return how many instances of one profile an empty GPU holds: the devices of a MIG pool."""
    count = 0
    while fits(geometry, {profile: count + 1}):
        count += 1
    return count


def _within_limits(geometry: Geometry, counts: Counter[str]) -> bool:
    media = 0
    for name, count in counts.items():
        profile = geometry.profile(name)
        if count > profile.limit:
            return False
        media += count if profile.media else 0
    return media <= 1


def _largest_first(geometry: Geometry) -> list[Profile]:
    # Sorting is stable, so profiles of one size keep the order of the table.
    return sorted(geometry.profiles, key=lambda profile: (-profile.size, -profile.compute))


def _places(order: Sequence[Profile], taken: int) -> tuple[Instance, ...] | None:
    """Place the first of `order` wherever it may begin, and the rest after it, by backtracking."""
    if not order:
        return ()
    head, rest = order[0], order[1:]
    # Trying the last start first keeps the low slices free, where 4g alone may begin.
    for start in reversed(head.starts):
        mask = head.mask(start)
        if taken & mask:
            continue
        found = _places(rest, taken | mask)
        if found is not None:
            return (Instance(head.name, start), *found)
    return None


def _choices(
    geometry: Geometry, kinds: Sequence[Profile], chosen: Counts, used: Sequence[Instance]
) -> Iterator[Counts]:
    if not kinds:
        yield chosen
        return
    for count in range(kinds[0].limit + 1):
        counts = {**chosen, kinds[0].name: count}
        if not fits(geometry, counts, used):
            break
        yield from _choices(geometry, kinds[1:], counts, used)
