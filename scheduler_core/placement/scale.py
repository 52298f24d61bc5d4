"""The largest node, by which policies that add CPU to GPU make the two comparable."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """CPU of the largest node in millicores, and how many of these stand for one milli-GPU.

    Both are whole numbers so that scores are too.
    """

    cpu_milli: int
    cpu_per_gpu: int

    @classmethod
    def of(cls, cpu_milli: int, gpu_milli: int) -> "Scale":
        """Return the scale of a largest node, its CPU rounded up to a multiple of its GPU."""
        gpu_milli = max(1, gpu_milli)
        ratio = max(1, -(-cpu_milli // gpu_milli))
        return cls(ratio * gpu_milli, ratio)

    @property
    def shift(self) -> int:
        """How many bits to drop so that products of amounts stay exact: none up to 1,048 cores."""
        return max(0, self.cpu_milli.bit_length() - 20)


STUDY = Scale.of(cpu_milli=128_000, gpu_milli=8_000)
"""The constants of the FGD study: 128 cores and 8 devices."""
