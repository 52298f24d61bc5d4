"""Kubernetes' way of writing amounts, as whole millicores, MiB and devices.

The same few amounts come again in every look at a cluster, so what was worked out is kept.
"""

from fractions import Fraction
from functools import lru_cache

SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50),
}  # fmt: skip


@lru_cache(maxsize=4096)
def amount(text: object) -> Fraction:
    """The exact value of a quantity such as `1500m` or `16Gi`; 0 for what is none."""
    written = str(text).strip()
    digits = written.rstrip("numkMGTPKi")
    factor = SUFFIXES.get(written[len(digits) :])
    try:
        return Fraction(digits) * factor if factor is not None else Fraction(0)
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


@lru_cache(maxsize=4096)
def milli(text: object) -> int:
    """Thousandths, rounded up: millicores."""
    return -int(-amount(text) * 1000 // 1)


@lru_cache(maxsize=4096)
def mebibytes(text: object) -> int:
    """MiB, rounded up."""
    return -int(-amount(text) / 2**20 // 1)


@lru_cache(maxsize=4096)
def devices(text: object) -> int:
    """Whole devices."""
    return int(amount(text))
