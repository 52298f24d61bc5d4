"""What the GPUs of a pool would serve if they were cut with MIG: the engine's geometry, in rows. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler_core import mig

DEVICE = 1000
NEAR = 0.08
"""Of its nominal memory: what a driver reports is a little less."""


@dataclass(frozen=True, slots=True)
class CutRow:
    """One way to cut: what each GPU becomes, how many devices that makes, how many tasks it serves."""

    label: str
    devices: int
    served: int
    now: bool = False
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class Cutting:
    """A pool's GPUs under each layout; `tasks` want less than a GPU, `gpus` could be cut."""

    model: str
    gpus: int
    tasks: int
    rows: tuple[CutRow, ...]
    derived: bool


def geometry_of(gpu_model: str, memory_mib: int | None) -> mig.Geometry | None:
    """The geometry of a GPU model by its name and memory; None where it cannot be cut."""
    if not memory_mib:
        return None
    for name, geometry in mig.MODELS.items():
        family, _dash, size = name.rpartition("-")
        nominal = int(size.removesuffix("GB"))
        near = abs(memory_mib / 1024 - nominal) <= nominal * NEAR
        if near and family.replace("-", "") in gpu_model.upper().replace("-", "").replace(" ", ""):
            return geometry
    return None


def devices_each(geometry: mig.Geometry, resource_name: str) -> int:
    """How many devices of this resource one GPU gives: one unless it is cut already."""
    cut_into = (p for p in geometry.profiles if mig.resource_name(p.name) == resource_name)
    return next((mig.per_gpu(geometry, p.name) for p in cut_into), 1)


def cut(
    geometry: mig.Geometry, *, gpus: int, asks: Mapping[int, int], resource_name: str = ""
) -> Cutting:
    """Every even layout, and the mixed one that serves most; `asks` counts tasks by milli-GPU."""
    plain = [
        p for p in geometry.profiles if not p.media and "+" not in p.name and "-me" not in p.name
    ]
    asked = _by_profile(geometry, plain, asks)
    rows = [_even(geometry, profile, gpus, asked, resource_name) for profile in plain]
    total = sum(asked.values())
    if total:
        rows.append(_mixed(geometry, asked, gpus))
    return Cutting(geometry.model, gpus, total, tuple(rows), geometry.derived)


def _by_profile(
    geometry: mig.Geometry, plain: Iterable[mig.Profile], asks: Mapping[int, int]
) -> Counter[str]:
    """Each task by the smallest profile that has as much of the GPU as it asks for."""
    smallest_first = sorted(plain, key=lambda p: (p.compute, p.size))
    found: Counter[str] = Counter()
    for milli, tasks in asks.items():
        if 0 < milli < DEVICE:
            fitting = (p for p in smallest_first if p.compute * DEVICE >= milli * geometry.compute)
            found[next(fitting).name] += tasks
    return found


def _even(
    geometry: mig.Geometry, profile: mig.Profile, gpus: int, asked: Counter[str], resource_name: str
) -> CutRow:
    each = mig.per_gpu(geometry, profile.name)
    fitting = sum(
        tasks for name, tasks in asked.items() if geometry.profile(name).compute <= profile.compute
    )
    return CutRow(
        label=f"{each} × {profile.name}", devices=each * gpus, served=min(each * gpus, fitting),
        now=resource_name == mig.resource_name(profile.name),
    )  # fmt: skip


def _mixed(geometry: mig.Geometry, asked: Counter[str], gpus: int) -> CutRow:
    """The cut that `mig.serve` chooses, GPU by GPU; its label says how many become what.

    A layout that is best stays so while what it serves is still asked for, since what is asked for
    only shrinks; so many GPUs take it at once.
    """
    left, kinds, devices = +asked, Counter[str](), 0
    while left and gpus:
        counts = mig.best_layout(geometry, left).counts()
        if not counts:
            break
        times = min(gpus, *(left[name] // n for name, n in counts.items()))
        kinds[" + ".join(f"{n} × {name}" for name, n in counts.items())] += times
        devices += times * counts.total()
        gpus -= times
        left -= Counter({name: n * times for name, n in counts.items()})
    label = "; ".join(f"{n}: {kind}" for kind, n in kinds.most_common(4))
    return CutRow(label, devices, asked.total() - left.total(), mixed=True)
