"""Free GPUs that typical work cannot use: F_n(M) of the FGD paper (USENIX ATC 2023)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Kind(NamedTuple):
    """What a typical task asks: millicores, milli-GPU on each of `gpus` devices, models."""

    cpu_milli: int
    gpu_milli: int
    gpus: int
    models: tuple[str, ...] = ()


def typical_kinds(
    kinds: Iterable[tuple[Kind, int]], cover: float = 0.95
) -> tuple[tuple[Kind, float], ...]:
    """Return the commonest kinds that together cover `cover` of all, with shares that sum to 1.

    Takes (kind, count) pairs. Ties go to the larger kind; order is count descending.
    """
    ordered = sorted(kinds, key=lambda pair: (pair[1], pair[0]), reverse=True)
    total = sum(count for _, count in ordered)
    kept: list[tuple[Kind, int]] = []
    covered = 0
    for kind, count in ordered:
        if covered >= cover * total:
            break
        kept.append((kind, count))
        covered += count
    return tuple((kind, count / covered) for kind, count in kept)


def fragmentation(
    free: Sequence[int],
    cpu_free: int,
    model: str | None,
    kinds: Sequence[tuple[Kind, float]],
) -> float:
    """Return F_n(M) of one node in milli-GPU: what of its free GPUs typical tasks cannot use.

    `free` is the free milli-GPU of each device. Sums run over kinds in the given order and over
    devices in index order, in doubles, as the published series did.
    """
    total = sum(free)
    answer = 0.0
    for kind, share in kinds:
        answer += share * _for_kind(free, total, cpu_free, model, kind)
    return answer


def _for_kind(free: Sequence[int], total: int, cpu_free: int, model: str | None, kind: Kind) -> int:
    if kind.gpu_milli == 0 or (kind.models and model not in kind.models):
        return total
    fitting = [device for device in free if device >= kind.gpu_milli]
    if cpu_free < kind.cpu_milli or len(fitting) < kind.gpus:
        return total
    return total - sum(fitting)


def fragmented(
    free: NDArray[np.int64],
    cpu_free: NDArray[np.int64],
    models: Sequence[str | None],
    kinds: Sequence[tuple[Kind, float]],
) -> NDArray[np.float64]:
    """Return F_n(M) of many nodes: `free` has a row a node and a column a device.

    Adds in the order `fragmentation` does, so that both give the same doubles.
    """
    total = free.sum(axis=1)
    answer = np.zeros(len(total), dtype=np.float64)
    for kind, share in kinds:
        unusable = total
        if kind.gpu_milli:
            fitting = free >= kind.gpu_milli
            fits = (cpu_free >= kind.cpu_milli) & (fitting.sum(axis=1) >= kind.gpus)
            if kind.models:
                fits &= np.array([model in kind.models for model in models], dtype=np.bool_)
            unusable = total - np.where(fits, (free * fitting).sum(axis=1), 0)
        answer += share * unusable
    return answer
