"""Numbers drawn from a seed and a name: the same name gives the same number, in any order."""

import math
import uuid
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def _digest(seed: int, names: tuple[object, ...], size: int) -> bytes:
    text = "\x1f".join(map(str, (seed, *names)))
    return blake2b(text.encode(), digest_size=size).digest()


def share(seed: int, *names: object) -> float:
    """Return a number from 0 up to, not including, 1."""
    return int.from_bytes(_digest(seed, names, 7), "big") / (1 << 56)


def whole(seed: int, low: int, high: int, *names: object) -> int:
    """Return a whole number from `low` to `high`, both included."""
    return low + int(share(seed, *names) * (high - low + 1))


def waiting_time(seed: int, mean: float, *names: object) -> int:
    """Return exponentially distributed whole seconds, at least 1."""
    return max(1, int(-mean * math.log(1.0 - share(seed, *names))))


def one_of(seed: int, choices: Sequence[T], weights: Sequence[float], *names: object) -> T:
    """Return one of the choices, each as likely as its weight."""
    point = share(seed, *names) * sum(weights)
    for choice, weight in zip(choices, weights, strict=True):
        point -= weight
        if point < 0:
            return choice
    return choices[-1]


def uid(seed: int, *names: object) -> str:
    """Return an identifier in the shape of a UUID."""
    return str(uuid.UUID(bytes=_digest(seed, names, 16), version=4))
