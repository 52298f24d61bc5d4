"""Kubernetes' way of writing amounts, as whole millicores, MiB and devices.

The same few amounts come again in every look at a cluster, so what was worked out is kept. A
tenant may write any amount that is well formed, so all of them are cut to what a column and the
engine can hold: one job that asks for the moon must not keep the others from being read.
"""

import re
from fractions import Fraction
from functools import lru_cache

MOST = 10**15
MOST_DEVICES = 10**6
MOST_TASKS = 10**6
SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20),
    "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_WRITTEN = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))"
    r"(?:[eE](?P<power>[+-]?[0-9]{1,9})|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)
_POWER = 40


@lru_cache(maxsize=4096)
def amount(text: object) -> Fraction:
    """The exact value of a quantity such as `1500m`, `16Gi` or `2e3`; 0 for what is none."""
    if isinstance(text, Fraction):
        return text
    found = _WRITTEN.fullmatch(str(text).strip())
    if found is None:
        return Fraction(0)
    if found["power"]:
        power = max(-_POWER, min(_POWER, int(found["power"])))
        return Fraction(found["number"]) * Fraction(10) ** power
    return Fraction(found["number"]) * SUFFIXES[found["suffix"] or ""]


@lru_cache(maxsize=4096)
def milli(text: object) -> int:
    """Thousandths, rounded up: millicores."""
    return _cut(-int(-amount(text) * 1000 // 1), MOST)


@lru_cache(maxsize=4096)
def mebibytes(text: object) -> int:
    """MiB, rounded up."""
    return _cut(-int(-amount(text) / 2**20 // 1), MOST)


@lru_cache(maxsize=4096)
def devices(text: object) -> int:
    """Whole devices."""
    return _cut(int(amount(text)), MOST_DEVICES)


def _cut(value: int, most: int) -> int:
    return max(0, min(value, most))
