"""Usage that fades: half of it is gone after each half-life."""

from fractions import Fraction

LN_2 = Fraction("0.69314718055994530941723212145817656807550013436026")
"""The natural logarithm of 2, to 50 digits."""


def decayed(used: float, elapsed_seconds: int, half_life_seconds: int) -> float:
    """Return `used · 0.5^(Δt / half_life)`; time running backwards counts as none.

    Exact, not Slurm's first-order form, so that many small steps equal one large one.
    """
    return float(used * 0.5 ** (max(0, elapsed_seconds) / half_life_seconds))


def usage_share(used_gpu_seconds: int, capacity_milli: int, half_life_seconds: int) -> Fraction:
    """Return decayed usage as a share of what the capacity gives when it is always in use.

    A capacity that is always in use settles at capacity × half_life ÷ ln 2, so 1 means all of it.
    """
    if capacity_milli == 0:
        return Fraction(0)
    return Fraction(used_gpu_seconds * 1000, capacity_milli * half_life_seconds) * LN_2
