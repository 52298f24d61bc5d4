"""Decayed use of teams as time goes on: what fair-share orders look at.

Use fades by half in every half-life while running work adds to it; between two events both are
integrated exactly: used(t) = used · 0.5^(Δt/h) + running · (1 − 0.5^(Δt/h)) · h / ln 2.
"""

from collections.abc import Sequence
from math import log

import numpy as np

from scheduler_core.resources import DEVICE

LN_2 = log(2)


class Usage:
    """Use of each team in milli-GPU-seconds, decayed to the moment of the last `advance`."""

    def __init__(self, half_life: int, gpu_seconds: Sequence[int]) -> None:
        """Begin with what each team has used so far."""
        self._half_life = half_life
        self._used = np.array(gpu_seconds, np.float64) * DEVICE
        self._running = np.zeros(len(gpu_seconds))
        self._now: int | None = None

    def advance(self, now: int) -> None:
        """Let time pass up to `now`."""
        passed = 0 if self._now is None else now - self._now
        self._now = now
        if passed > 0:
            left = 0.5 ** (passed / self._half_life)
            self._used *= left
            self._used += self._running * ((1 - left) * self._half_life / LN_2)

    def change(self, team: int, gpu_milli: int) -> None:
        """Count a team's work that starts, or with a negative amount ends, now."""
        self._running[team] += gpu_milli

    def gpu_seconds(self) -> list[int]:
        """Return each team's use in whole GPU-seconds, as a snapshot says it."""
        rounded: list[int] = np.rint(self._used / DEVICE).astype(np.int64).tolist()
        return rounded
